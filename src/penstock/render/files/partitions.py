"""The last section of slurm.conf: NodeSets, their static nodes, and the partitions over them."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.api.controller import Partition
from penstock.api.nodeset import NodeSet, Registration
from penstock.render import names
from penstock.render.inventory import Cluster
from penstock.render.resources import resources_of
from penstock.render.seat import has_own_name
from penstock.slurm import conf
from penstock.slurm.conf import ConfError, Section

_RESERVED = ("PartitionName", "Nodes")


def node_section(cluster: Cluster) -> Section:
    """Every NodeSet with its own partition, then the partitions over several."""
    section = Section("NODESET & PARTITION")
    for node_set in cluster.sorted_node_sets:
        section.lines += _static_nodes(cluster, node_set)
        section.lines.append(conf.line(("NodeSet", node_set.slurm_name), ("Feature", node_set.slurm_name)))
        section.lines += _own_partition(node_set)
    section.lines += [_shared_partition(cluster, partition) for partition in cluster.controller.spec.partitions]
    return section


def _own_partition(node_set: NodeSet) -> Iterator[str]:
    if node_set.spec.partition.enabled:
        name = node_set.slurm_name
        config = conf.tail(
            node_set.spec.partition.config, of=f'partition of NodeSet "{node_set.metadata.name}"', reserved=_RESERVED
        )
        # The blank stays when there is no more to say: a different byte would be a different configuration.
        yield f"{conf.line(('PartitionName', name), ('Nodes', name))} {config}"


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


def _static_nodes(cluster: Cluster, node_set: NodeSet) -> Iterator[str]:
    """Lines for workers that slurmctld shall know before they come (TR-4)."""
    if node_set.spec.registration is not Registration.STATIC:
        return
    if not has_own_name(node_set):
        what = f'NodeSet "{node_set.metadata.name}" registers statically, but its workers are named by their machines'
        raise ConfError(f"{what}; write registration: Dynamic, or scalingMode: StatefulSet without hostNetwork")
    if node_set.spec.possible_replicas:
        yield _node_line(cluster, node_set)


def _node_line(cluster: Cluster, node_set: NodeSet) -> str:
    resources = resources_of(node_set)
    nodes = names.slurm_nodes(node_set, node_set.spec.possible_replicas)
    service = names.workers_service(cluster.controller.metadata.name)
    ours = {"NodeHostname": nodes, "NodeAddr": f"{nodes}.{service}.{cluster.namespace}.svc"}
    said = {key.lower() for key in resources.extra}
    return conf.line(
        ("NodeName", nodes),
        *((key, text) for key, text in ours.items() if key.lower() not in said),
        *resources.node_parameters(),
        ("Feature", ",".join(resources.features(node_set))),
    )
