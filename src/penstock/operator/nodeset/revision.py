"""Which template a worker was made from.

Only what people write counts, not what we make of it: a new Penstock does not by itself replace workers.
"""

from __future__ import annotations

import hashlib

import msgspec

from penstock.api.nodeset import NodeSet
from penstock.api.objects import Json
from penstock.api.schema import encode
from penstock.render import labels

HASH = "controller.kubernetes.io/hash"
"""Label of workers; Slinky's own."""
OURS = {labels.MANAGED_BY: "penstock"}
"""Label of what we made, as against what Slinky did. Charts write "Helm" there, of the object that they made."""

PARTS = (
    "template", "ordinalPadding", "oversubscribeNode", "slurmd", "extraConf", "logfile", "ssh", "imageContract",
    "registration", "walls",
)  # fmt: skip
"""Fields of a spec that make a revision."""


def parts(node_set: NodeSet) -> Json:
    """What workers are made from, as people wrote it; defaults are left out, written or not."""
    return chosen(encode(node_set.spec))


def chosen(spec: Json) -> Json:
    """Of a spec only what makes a revision."""
    return {name: spec[name] for name in PARTS if name in spec}


def fingerprint(some: Json) -> bytes:
    """The same bytes for the same parts, whatever the order of their fields."""
    return msgspec.json.encode(some, order="sorted")


def revision(node_set: NodeSet) -> str:
    """A short name for the worker template of a NodeSet."""
    return digest(parts(node_set))


def digest(some: Json, *, collisions: int = 0) -> str:
    """A short name for parts; `collisions` makes it another one when that is taken."""
    tail = str(collisions).encode() if collisions else b""
    return hashlib.sha256(fingerprint(some) + tail).hexdigest()[:10]
