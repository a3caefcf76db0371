"""Worker pods in numbers: rendered once, and then only what tells one seat from another is put in.

Rendering a pod takes 80 to 120 µs, which thousands of them would feel; this takes a fifth. It is rendered for a seat
that does not exist, whose names are found nowhere else, and kept as text; the names of a real seat take their places.
So nothing here has to be kept in step with `render`.
"""

from __future__ import annotations

import uuid
from dataclasses import fields

import msgspec

from penstock.api.nodeset import NodeSet
from penstock.api.objects import Json
from penstock.operator.nodeset.revision import HASH, OURS, revision
from penstock.render import worker
from penstock.render.inventory import Cluster
from penstock.render.placement import on_machine
from penstock.render.seat import Seat

_NAMES = tuple(field.name for field in fields(Seat))


class WorkerTemplate:
    """The pods of a NodeSet."""

    def __init__(self, cluster: Cluster, node_set: NodeSet, newest: str | None = None) -> None:
        self._cluster = cluster
        self._node_set = node_set
        self._revision = newest or revision(node_set)
        """The hash that workers carry: that of the kept revision, which may be reckoned otherwise."""
        self._texts: dict[tuple[str, ...], bytes] = {}
        """By the names that a seat has, for one without a machine is rendered otherwise."""
        self._marks = {name: uuid.uuid4().hex for name in _NAMES}

    def pod(self, one: Seat) -> Json:
        """The pod of a seat."""
        given = {name: text for name in _NAMES if (text := getattr(one, name)) is not None}
        text = self._texts.get((*given,))
        if text is None:
            text = self._texts[(*given,)] = self._rendered((*given,))
        for name, value in given.items():
            text = text.replace(self._marks[name].encode(), msgspec.json.encode(value)[1:-1])
        body: Json = msgspec.json.decode(text)
        return body

    def _rendered(self, given: tuple[str, ...]) -> bytes:
        """The pod of a seat whose names are marks, as JSON."""
        marks = {name: self._marks[name] for name in given}
        one = Seat(
            pod_name=marks.get("pod_name"),
            key=marks["key"],
            slurm_node=marks.get("slurm_node"),
            machine=marks.get("machine"),
        )
        body = worker.pod(self._cluster, self._node_set, one)
        body["metadata"]["labels"] |= {HASH: self._revision, **OURS}
        if one.machine is not None:
            body["spec"] = on_machine(body["spec"], one.machine)
        return msgspec.json.encode(body)
