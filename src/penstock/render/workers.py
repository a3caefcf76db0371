"""What all workers of a cluster share: the headless Service that names them, and their disruption budget."""

from __future__ import annotations

from penstock.api.objects import Json
from penstock.render import labels, names
from penstock.render.inventory import Cluster
from penstock.render.services import headless

_APP = "slurmd"


def manifests(cluster: Cluster) -> list[Json]:
    """The headless Service and the disruption budget of all workers; they go with the last NodeSet."""
    if not cluster.node_sets:
        return []
    name = cluster.controller.metadata.name
    selector = {labels.NAME: _APP, labels.CLUSTER: name}
    own = {**selector, labels.COMPONENT: "worker", labels.SLINKY_COMPONENT: _APP}
    budget = {"maxUnavailable": 0, "selector": {"matchLabels": {labels.POD_PROTECT: "true", labels.CLUSTER: name}}}
    return [
        headless(
            _metadata(cluster, names.workers_service(name), own),
            app=_APP,
            port=names.SLURMD_PORT,
            selector=selector,
        ),
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": _metadata(cluster, names.workers_pdb(name), own),
            "spec": budget,
        },
    ]


def _metadata(cluster: Cluster, name: str, own: dict[str, str]) -> Json:
    body: Json = {"name": name, "namespace": cluster.namespace, "labels": dict(sorted(own.items()))}
    owners = [labels.plain_owner(node_set) for node_set in cluster.sorted_node_sets if node_set.metadata.uid]
    return body | ({"ownerReferences": owners} if owners else {})
