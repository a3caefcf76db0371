"""All workers that read a cluster's configuration, with their set or without, as the watch shows them or as they are.

A set may have been deleted without its workers, and another one have its name by now: they run on, and slurmctld gives
them what it gives everybody. So who asks what workers can bear asks about all of them, and not set by set.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.api.kinds import API_VERSION
from penstock.api.nodeset import NodeSet
from penstock.operator import fresh
from penstock.operator.caches import Caches
from penstock.operator.context import Context
from penstock.operator.resources import Pod, Revision
from penstock.render import labels
from penstock.render.inventory import Cluster


class Workers:
    """The workers of a cluster, for one look at it."""

    def __init__(self, context: Context, cluster: Cluster) -> None:
        self._context = context
        self._cluster = cluster
        self._listed: list[Pod] | None = None

    @property
    def seen(self) -> list[Pod]:
        """As the watch shows them."""
        return seen(self._context.caches, self._cluster)

    @property
    def revisions(self) -> list[Revision]:
        """What they may have been made from."""
        return revisions(self._context.caches, self._cluster)

    async def listed(self) -> list[Pod]:
        """As they are; a watch may be behind, and does not show those that lost labels. It is one request a look."""
        if self._listed is None:
            pods = await fresh.pods(self._context.cluster, self._cluster.namespace, "")
            self._listed = of(self._cluster, filter(_is_worker, pods))
        return self._listed


def seen(caches: Caches, cluster: Cluster) -> list[Pod]:
    """The workers of a cluster, leaving ones included, as the watch shows them."""
    return of(cluster, caches.pods.by("workers", cluster.namespace))


def of(cluster: Cluster, pods: Iterable[Pod]) -> list[Pod]:
    """Of a namespace's workers those of one cluster. Who has lost the label that says so is taken for one of them."""
    name, sets = cluster.controller.metadata.name, {one.metadata.name for one in cluster.node_sets}
    told = ((pod, pod.metadata.labels) for pod in pods)
    return [pod for pod, its in told if its.get(labels.CLUSTER, name) == name or its.get(labels.INSTANCE) in sets]


def _is_worker(pod: Pod) -> bool:
    meta = pod.metadata
    owned = any((one.api_version, one.kind) == (API_VERSION, NodeSet.kind) for one in meta.owner_references)
    return owned or meta.labels.get(labels.NAME) == "slurmd"


def revisions(caches: Caches, cluster: Cluster) -> list[Revision]:
    """All revisions of a cluster's namespace: those of a set that is no more have lost their owner."""
    return [one for one in caches.revisions.all() if one.metadata.namespace == cluster.namespace]
