"""Workers that may not write to their cgroups, as those that are there were made, and not as they are asked for.

One configuration serves all nodes. A NodeSet that becomes privileged still has workers that are not, until the last of
them has ended its jobs; told to use cgroups, their slurmd would end, and every job with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from penstock.api.nodeset import NodeSet
from penstock.operator.caches import Caches
from penstock.operator.nodeset.revision import HASH
from penstock.operator.nodeset.revisions import hash_of, parts_in
from penstock.operator.resources import Pod, Revision
from penstock.render.files.cgroup_conf import is_unprivileged, uses_cgroups
from penstock.render.inventory import Cluster

LOOK_AGAIN = 10.0
"""Seconds until somebody looks whether the last of them has gone."""


def with_workers(caches: Caches, cluster: Cluster) -> Cluster:
    """The cluster, with what its workers can do. Where nobody uses cgroups anyhow, there is nothing to find out."""
    if not uses_cgroups(cluster):
        return cluster
    return replace(cluster, confined_workers=any(_confined(caches, one) for one in cluster.node_sets))


def _confined(caches: Caches, node_set: NodeSet) -> bool:
    revisions = [*caches.revisions.by("owners", node_set.metadata.uid)]
    without = confined_revisions(revisions)
    return bool(without) and has_worker_of(caches.pods_of("slurmd", node_set), without)


def confined_revisions(revisions: Iterable[Revision]) -> list[Revision]:
    """Those whose workers may not write to their cgroups."""
    return [one for one in revisions if (parts := parts_in(one)) and is_unprivileged(parts.get("slurmd", {}))]


def has_worker_of(pods: Iterable[Pod], revisions: Sequence[Revision]) -> bool:
    """Whether a worker was made from one of these revisions, and has not ended."""
    hashes = {hash_of(one) for one in revisions}
    return any(pod.metadata.labels.get(HASH) in hashes for pod in pods if not pod.ended)
