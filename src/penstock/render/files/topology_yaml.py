"""topology.yaml: the networks that Slurm places jobs by. Dynamic nodes join a switch or block by its name."""

from __future__ import annotations

from penstock.api.controller import Topology
from penstock.api.objects import Json
from penstock.render.contract import V25_05
from penstock.render.inventory import Cluster

NAME = "topology.yaml"


def topology_yaml(cluster: Cluster) -> str | None:
    """The file, or nothing when no topology is described, people bring their own, or Slurm cannot read it yet."""
    topologies = cluster.controller.spec.topology
    if not topologies or NAME in cluster.user_files or cluster.version < V25_05:
        return None
    from penstock.api.manifest import write  # noqa: PLC0415 - YAML is for who has a topology: 40 ms of every start

    return write([[_topology(topology) for topology in topologies]])


def _topology(topology: Topology) -> Json:
    return {"topology": topology.name, "cluster_default": topology.cluster_default, **_layout(topology)}


def _layout(topology: Topology) -> Json:
    if topology.tree:
        return {"tree": {"switches": [_switch(one.switch, one.children, one.nodes) for one in topology.tree]}}
    if topology.blocks:
        blocks = [{"block": one.block, "nodes": one.nodes or ""} for one in topology.blocks]
        return {"block": {"block_sizes": topology.block_sizes, "blocks": blocks}}
    return {"flat": True}


def _switch(name: str, children: str | None, nodes: str | None) -> Json:
    return {"switch": name, "children": children} if children else {"switch": name, "nodes": nodes or ""}
