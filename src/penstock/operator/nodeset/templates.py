"""Worker pods in numbers: rendered once, and then only what differs between two seats is put in.

Rendering a pod takes a third of a millisecond, which thousands of them would feel. What differs is found by rendering
for two seats that do not exist and looking where they disagree, so nothing has to be kept in step with `render`.
"""

from __future__ import annotations

from penstock.api.nodeset import NodeSet
from penstock.api.objects import Json
from penstock.operator.nodeset.revision import HASH, revision
from penstock.render import worker
from penstock.render.inventory import Cluster
from penstock.render.placement import on_machine
from penstock.render.seat import Seat


class WorkerTemplate:
    """The pods of a NodeSet."""

    def __init__(self, cluster: Cluster, node_set: NodeSet) -> None:
        self._cluster = cluster
        self._node_set = node_set
        self._revision = revision(node_set)

    def pod(self, one: Seat) -> Json:
        """The pod of a seat."""
        body = worker.pod(self._cluster, self._node_set, one)
        body["metadata"]["labels"][HASH] = self._revision
        if one.machine is not None:
            body["spec"] = on_machine(body["spec"], one.machine)
        return body
