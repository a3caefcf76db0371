"""Static nodes stay in slurm.conf as long as a static worker of their name is there, whatever is asked for (TR-4).

slurmctld ends the jobs of a node that its configuration does not have any more, and a slurmd whose node it does not
know cannot register. A worker that leaves has jobs until it is gone, and the one that stays need not be the first. So a
set has all ordinals up to its last worker, and its line gets shorter when that one is gone.

What that does not reach, because the set has another name, another width of ordinals, another registration or is no
more, keeps its line as it stood. It is in the ConfigMap that slurmctld reads, as are partitions that go.

A slurmd that registers by itself (`-Z`) is the other way round: it ends as soon as it reads that slurm.conf names its
node. So a set that becomes static names each node when the worker before has left it, and one that becomes dynamic does
so no longer. Which of them a worker is `registration` says. Of some nobody knows: their nodes stay named if they are,
and are not if they are not.

Nodes come and go only by what the cluster says of its workers at that moment, for a watch may be behind.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import lru_cache

from penstock.api.nodeset import NodeSet, Registration
from penstock.operator import workers
from penstock.operator.caches import Caches
from penstock.operator.nodeset.snapshot import ordinal, own_name
from penstock.operator.registration import parted
from penstock.operator.resources import Pod, Revision
from penstock.operator.workers import Workers
from penstock.render import labels, names
from penstock.render.inventory import Cluster, KeptNodes
from penstock.render.seat import has_own_name
from penstock.slurm import conf, hostlist
from penstock.slurm.hostlist import HostlistError

LOOK_AGAIN = 5.0
"""Seconds until somebody looks whether workers have gone whose nodes are kept, or are not named yet."""
_MOST_ORDINALS = 65536
"""Slurm has no more nodes: a pod that claims a higher ordinal is none of its workers."""
_ADDRESSES = ("nodehostname", "nodeaddr")

Lines = Mapping[str, tuple[tuple[str, str], ...]]
"""By the host list of nodes what their line says of them."""


def with_workers(caches: Caches, cluster: Cluster) -> Cluster:
    """The cluster, with how far its static workers reach, and which of its nodes are those of others."""
    if not (sets := _static_sets(cluster)):
        return cluster
    found = parted(workers.seen(caches, cluster), workers.revisions(caches, cluster))
    by_set = defaultdict[str, list[Pod]](list)
    for pod in found.static:
        by_set[pod.metadata.labels.get(labels.INSTANCE, "")].append(pod)
    reach = {one.metadata.name: standing(one, by_set[one.metadata.name]) for one in sets}
    cluster = replace(cluster, standing=reach)
    others = used([*found.dynamic, *found.unknown])
    return replace(cluster, dynamic_nodes=frozenset(others & _asked(cluster, sets) if others else ()))


def _static_sets(cluster: Cluster) -> list[NodeSet]:
    static = (one for one in cluster.node_sets if one.spec.registration is Registration.STATIC)
    return [one for one in static if has_own_name(one)]


def _asked(cluster: Cluster, sets: Iterable[NodeSet]) -> set[str]:
    """The nodes that slurm.conf would have of some sets."""
    return {names.slurm_node(one, number) for one in sets for number in range(cluster.ordinals(one))}


def standing(node_set: NodeSet, pods: Iterable[Pod]) -> int:
    """How many ordinals reach to the last of these workers, leaving ones included; only those named as the set says."""
    found = ((ordinal(pod), own_name(pod)) for pod in pods)
    named = (n for n, node in found if 0 <= n < _MOST_ORDINALS and node == names.slurm_node(node_set, n))
    return max(named, default=-1) + 1


@lru_cache(maxsize=64)
def nodes_in(text: str) -> Lines:
    """The nodes that a slurm.conf has, with the rest of their lines. Asked at every look."""
    return {nodes: tuple(rest) for (_, nodes), *rest in conf.entries(text, "NodeName")}


def retired(applied: str, wanted: str) -> Iterator[tuple[str, list[str]]]:
    """Of the lines in one slurm.conf the nodes that another one does not have; most have the same lines."""
    there, asked = nodes_in(applied), nodes_in(wanted)
    gone = [nodes for nodes in there if nodes not in asked]
    known = {name for nodes in asked for name in _expanded(nodes)} if gone else set[str]()
    for nodes in gone:
        if missing := [name for name in _expanded(nodes) if name not in known]:
            yield nodes, missing


async def until_free(there: Workers, cluster: Cluster, applied: str, wanted: str) -> Cluster:
    """The cluster without nodes that are not named yet, and that a worker has which is not known to be static."""
    coming = {name for _, missing in retired(wanted, applied) for name in missing}
    if not coming:
        return cluster
    found = parted(await there.listed(), there.revisions)
    others = coming & used([*found.dynamic, *found.unknown])
    return replace(cluster, dynamic_nodes=cluster.dynamic_nodes | others)


async def keep(there: Workers, cluster: Cluster, applied: Iterable[str], wanted: str) -> Cluster:
    """The cluster with the nodes that `wanted` lacks, and that a worker still has which does not register by itself."""
    lines, going = dict[str, tuple[tuple[str, str], ...]](), dict[str, list[str]]()
    for text in applied:
        lines |= nodes_in(text)
        going |= dict(retired(text, wanted))
    if not going:
        return cluster
    stay = _bound(there.seen, there.revisions)
    if any(name not in stay for missing in going.values() for name in missing):
        stay = _bound(await there.listed(), there.revisions)
    return replace(cluster, kept_nodes=[*_kept(lines, going, stay)])


def _bound(pods: Iterable[Pod], revisions: Iterable[Revision]) -> set[str]:
    """The nodes of workers that end, or may, when slurm.conf names them no more."""
    found = parted(pods, revisions)
    return used([*found.static, *found.unknown])


def used(pods: Iterable[Pod]) -> set[str]:
    """The nodes of workers, as the pods themselves say: their set may be called otherwise by now, or be gone."""
    return {own_name(pod) for pod in pods}


def _kept(lines: Lines, going: Mapping[str, list[str]], workers: AbstractSet[str]) -> Iterator[KeptNodes]:
    """Lines as they stood, with those of their nodes that workers have; a node that two of them have is named once."""
    told = set[str]()
    for nodes, missing in going.items():
        stay = [name for name in missing if name in workers and name not in told]
        told |= set(stay)
        if stay:
            yield narrowed(nodes, lines[nodes], stay)


def narrowed(nodes: str, settings: Iterable[tuple[str, str]], stay: list[str]) -> KeptNodes:
    """A line with fewer nodes. Addresses follow where they are made of the names; others would not be theirs."""
    if len(stay) == len(_expanded(nodes)):
        return KeptNodes(nodes, tuple(settings))
    fewer = hostlist.compress(stay)
    apart = [(key, text) for key, text in settings if key.lower() not in _ADDRESSES or nodes in text]
    follow = [(key, text.replace(nodes, fewer) if key.lower() in _ADDRESSES else text) for key, text in apart]
    return KeptNodes(fewer, tuple(follow))


def _expanded(nodes: str) -> list[str]:
    """The names in a host list; of one that people wrote, and that is none, nothing is known."""
    try:
        return hostlist.expand(nodes)
    except HostlistError:
        return []
