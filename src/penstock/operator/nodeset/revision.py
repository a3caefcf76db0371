"""Which template a worker was made from.

Only what people write counts, not what we make of it: a new Penstock does not by itself replace workers.
"""

from __future__ import annotations

import hashlib

import msgspec

from penstock.api.nodeset import NodeSet
from penstock.api.schema import encode

HASH = "controller.kubernetes.io/hash"
"""Label of workers; Slinky's own."""

_PARTS = (
    "template", "ordinalPadding", "oversubscribeNode", "slurmd", "extraConf", "logfile", "ssh", "imageContract",
    "registration",
)  # fmt: skip


def revision(node_set: NodeSet) -> str:
    """A short name for the worker template of a NodeSet."""
    spec = encode(node_set.spec)
    parts = {name: spec[name] for name in _PARTS if name in spec}
    return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()[:10]
