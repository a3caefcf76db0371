"""Workers that may not write to their cgroups, as those that are there were made, and not as they are asked for.

One configuration serves all nodes. A NodeSet that becomes privileged still has workers that are not, until the last of
them has ended its jobs; told to use cgroups, their slurmd would end, and every job with it. So would that of workers
whose set was deleted without them. Before cgroups are switched on, all workers are asked for, and those of whom nobody
knows what they were made from are taken for such.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from penstock.operator import workers
from penstock.operator.caches import Caches
from penstock.operator.nodeset.revision import HASH
from penstock.operator.nodeset.revisions import hash_of, parts_in
from penstock.operator.once import once
from penstock.operator.registration import UNKNOWN
from penstock.operator.resources import Pod, Revision
from penstock.operator.workers import Workers
from penstock.render import labels
from penstock.render.files import cgroup_conf
from penstock.render.files.cgroup_conf import is_unprivileged, uses_cgroups
from penstock.render.inventory import Cluster
from penstock.slurm import conf

LOOK_AGAIN = 10.0
"""Seconds until somebody looks whether the last of them has gone."""


def with_workers(caches: Caches, cluster: Cluster) -> Cluster:
    """The cluster, with what its workers can do. Where nobody uses cgroups anyhow, there is nothing to find out."""
    if not uses_cgroups(cluster):
        return cluster
    without = confined_revisions(workers.revisions(caches, cluster))
    confined = bool(without) and has_worker_of(workers.seen(caches, cluster), without)
    return replace(cluster, confined_workers=confined)


async def until_free(there: Workers, cluster: Cluster, applied: Mapping[str, str]) -> Cluster:
    """The cluster without cgroups as long as the files that slurmctld has are, and some worker may not bear them."""
    if not uses_cgroups(cluster) or not _are_off(cluster, applied):
        return cluster
    known = there.revisions
    confined = not all_free(there.seen, known) or not all_free(await there.listed(), known)
    return replace(cluster, confined_workers=confined)


def _are_off(cluster: Cluster, applied: Mapping[str, str]) -> bool:
    """Whether cgroups are not in use, as far as is known. Where people bring the file nobody else decides."""
    name = cgroup_conf.NAME
    if name in cluster.user_files:
        return False
    return name not in applied or conf.settings(applied[name]).get("cgroupplugin", "").lower() == "disabled"


def confined_revisions(revisions: Iterable[Revision]) -> list[Revision]:
    """Those whose workers may not write to their cgroups."""
    return [one for one in revisions if _confines(one)]


def has_worker_of(pods: Iterable[Pod], revisions: Sequence[Revision]) -> bool:
    """Whether a worker was made from one of these revisions, and has not ended."""
    hashes = {hash_of(one) for one in revisions}
    return any(pod.metadata.labels.get(HASH) in hashes for pod in pods if not pod.ended)


def all_free(pods: Iterable[Pod], revisions: Sequence[Revision]) -> bool:
    """Whether all workers that have not ended are known to be of revisions that may write to their cgroups."""
    free = {hash_of(one) for one in revisions if _confines(one) is False}
    free -= {hash_of(one) for one in revisions if _confines(one) is not False}
    return all(_hash(pod) in free for pod in pods if not pod.ended)


def _hash(pod: Pod) -> str:
    """That of the revision that a worker was made from, if it is known."""
    its = pod.metadata.labels
    return "" if its.get(labels.REGISTRATION) == UNKNOWN else its.get(HASH, "")


@once
def _confines(one: Revision) -> bool | None:
    """Whether workers of a revision may not write to their cgroups; None: it cannot be read."""
    some = parts_in(one)
    return None if some is None else is_unprivileged(some.get("slurmd", {}))
