"""The last section of slurm.conf: NodeSets, their static nodes, and the partitions over them.

slurmctld ends the jobs of a partition that is not there any more. So one that goes is closed first: it takes no new
jobs, those that wait in it may still start, and `operator/partitions.py` says when nobody names it any more (PT-5).
It ends the jobs of a node that is not there any more, too. So static nodes are those of workers that are asked for and
of workers that are still there: `operator/static_nodes.py` says which (TR-4). A slurmd that registers by itself ends,
and its jobs with it, when slurm.conf names its node; that one waits for the worker's end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from penstock.api.controller import Partition
from penstock.api.nodeset import NodeSet, Registration
from penstock.render import names
from penstock.render.inventory import ClosedPartition, Cluster, KeptNodes
from penstock.render.resources import resources_of
from penstock.render.seat import has_own_name
from penstock.slurm import conf, hostlist
from penstock.slurm.conf import ConfError, Section, Setting

_RESERVED = ("PartitionName", "Nodes")
_OPEN = ("State", "Default")
"""Settings that would let new jobs in."""


def node_section(cluster: Cluster) -> Section:
    """Every NodeSet with its own partition, then the partitions over several."""
    section = Section("NODESET & PARTITION")
    for node_set in cluster.sorted_node_sets:
        section.lines += _static_nodes(cluster, node_set)
        section.lines.append(conf.line(("NodeSet", node_set.slurm_name), ("Feature", node_set.slurm_name)))
        section.lines += _own_partition(node_set)
    section.lines += [_kept_nodes(one) for one in sorted(cluster.kept_nodes, key=lambda one: one.names)]
    section.lines += [_shared_partition(cluster, partition) for partition in cluster.controller.spec.partitions]
    section.lines += [_closed_partition(cluster, one) for one in sorted(cluster.closed, key=lambda one: one.name)]
    return section


def _own_partition(node_set: NodeSet) -> Iterator[str]:
    if node_set.spec.partition.enabled:
        name = node_set.slurm_name
        config = conf.pairs(
            node_set.spec.partition.config or "",
            of=f'partition of NodeSet "{node_set.metadata.name}"',
            reserved=_RESERVED,
        )
        if node_set.metadata.deletion_timestamp is not None:
            config = _closing(config)
        # The blank stays when there is no more to say: a different byte would be a different configuration.
        yield f"{conf.line(('PartitionName', name), ('Nodes', name))} {conf.line(*config)}"


def _shared_partition(cluster: Cluster, partition: Partition) -> str:
    nodes = ",".join(_members(cluster, partition))
    config = conf.pairs(partition.config, of=f'partition "{partition.name}"', reserved=_RESERVED)
    return conf.line(("PartitionName", partition.name), *([("Nodes", nodes)] if nodes else []), *config)


def _members(cluster: Cluster, partition: Partition) -> list[str]:
    """The sets of a partition. slurmctld dies of one it does not know, of one named twice, and of ALL with others.

    A partition whose sets are all gone has no nodes, and waits for them.
    """
    if "ALL" in partition.node_sets:
        return ["ALL"]
    by_name = {node_set.metadata.name: node_set.slurm_name for node_set in cluster.node_sets}
    return list(dict.fromkeys(by_name[name] for name in partition.node_sets if name in by_name))


def _closing(settings: Iterable[tuple[str, Setting]]) -> list[tuple[str, Setting]]:
    """The settings of a partition that takes no new jobs. All others stay, for jobs that wait there still start."""
    taken = {key.lower() for key in _OPEN}
    return [*((key, setting) for key, setting in settings if key.lower() not in taken), ("State", "DRAIN")]


def _closed_partition(cluster: Cluster, partition: ClosedPartition) -> str:
    """The line of a partition that waits for its last jobs; of what it said, all that can still be said."""
    said = {key.lower(): text for key, text in partition.settings}
    nodes = ",".join(_remaining(cluster, said.get("nodes", "")))
    rest = _closing(_writable(pair for pair in partition.settings if pair[0].lower() != "nodes"))
    return conf.line(("PartitionName", partition.name), *([("Nodes", nodes)] if nodes else []), *rest)


def _writable(settings: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """What was read from a file need not be what we would write; it is nobody's any more, so nobody could mend it."""
    for pair in settings:
        with suppress(ConfError):
            conf.line(pair)
            yield pair


def _remaining(cluster: Cluster, nodes: str) -> list[str]:
    """Of the sets that a partition was made of those that are still there: slurmctld dies of any other."""
    theirs = conf.entries(cluster.controller.spec.extra_conf or "", "NodeSet")
    known = {"ALL", *(one.slurm_name for one in cluster.node_sets), *(pairs[0][1] for pairs in theirs)}
    return [name for name in nodes.split(",") if name in known]


def _static_nodes(cluster: Cluster, node_set: NodeSet) -> Iterator[str]:
    """Lines for workers that slurmctld shall know before they come (TR-4)."""
    if node_set.spec.registration is not Registration.STATIC:
        return
    if not has_own_name(node_set):
        what = f'NodeSet "{node_set.metadata.name}" registers statically, but its workers are named by their machines'
        raise ConfError(f"{what}; write registration: Dynamic, or scalingMode: StatefulSet without hostNetwork")
    if nodes := _static_names(cluster, node_set):
        yield _node_line(cluster, node_set, nodes)


def _static_names(cluster: Cluster, node_set: NodeSet) -> str:
    """The nodes of a set as a host list."""
    count = cluster.ordinals(node_set)
    if not cluster.dynamic_nodes:
        return names.slurm_nodes(node_set, count) if count else ""
    every = (names.slurm_node(node_set, ordinal) for ordinal in range(count))
    return hostlist.compress(name for name in every if name not in cluster.dynamic_nodes)


def _node_line(cluster: Cluster, node_set: NodeSet, nodes: str) -> str:
    resources = resources_of(node_set)
    service = names.workers_service(cluster.controller.metadata.name)
    ours = {"NodeHostname": nodes, "NodeAddr": f"{nodes}.{service}.{cluster.namespace}.svc"}
    said = {key.lower() for key in resources.extra}
    return conf.line(
        ("NodeName", nodes),
        *((key, text) for key, text in ours.items() if key.lower() not in said),
        *resources.node_parameters(),
        ("Feature", ",".join(resources.features(node_set))),
    )


def _kept_nodes(nodes: KeptNodes) -> str:
    return conf.line(("NodeName", nodes.names), *_writable(nodes.settings))
