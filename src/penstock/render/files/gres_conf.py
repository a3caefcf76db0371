"""gres.conf: which GPUs a worker has, from the limits of its container (PT-8)."""

from __future__ import annotations

from penstock.api.nodeset import NodeSet
from penstock.render import names
from penstock.render.inventory import Cluster
from penstock.render.resources import resources_of
from penstock.render.seat import has_own_name
from penstock.slurm import conf
from penstock.slurm.conf import Section

NAME = "gres.conf"
_DEVICES = {
    # The device plugin's container runtime shows only granted devices, under any number: let slurmd look.
    "nvidia.com/gpu": None,
    "amd.com/gpu": "/dev/dri/renderD",
    "gpu.intel.com/i915": "/dev/dri/renderD",
    "gpu.intel.com/xe": "/dev/dri/renderD",
}
_FIRST_RENDER_NODE = 128
_LONGEST_RANGE = 65536  # hosts in one pair of brackets; Slurm refuses more


def gres_conf(cluster: Cluster) -> str | None:
    """The file, or nothing when no worker has GPUs or people bring their own."""
    if NAME in cluster.user_files or not has_gpus(cluster):
        return None
    section = Section("GRES")
    with_gpus = [node_set for node_set in cluster.sorted_node_sets if resources_of(node_set).gpus]
    if any(_DEVICES[resources_of(node_set).gpu_resource or ""] is None for node_set in with_gpus):
        section.add("AutoDetect", "nvidia")
    section.lines += [text for node_set in with_gpus if (text := _by_device(node_set))]
    return conf.document([section])


def has_gpus(cluster: Cluster) -> bool:
    """Whether Slurm has to know of GPUs at all."""
    return any(resources_of(node_set).gpus for node_set in cluster.node_sets)


def _by_device(node_set: NodeSet) -> str | None:
    resources = resources_of(node_set)
    stem = _DEVICES.get(resources.gpu_resource or "")
    if stem is None:
        return None
    last = _FIRST_RENDER_NODE + resources.gpus - 1
    device = f"{stem}[{_FIRST_RENDER_NODE}-{last}]" if resources.gpus > 1 else f"{stem}{last}"
    return conf.line(*_nodes(node_set), ("Name", "gpu"), ("File", device))


def _nodes(node_set: NodeSet) -> list[tuple[str, conf.Setting]]:
    """Nodes of the set with room to grow: a worker reads this file before a new one could be written for it."""
    if not has_own_name(node_set):
        return []
    room = min(max(64, 1 << (2 * node_set.spec.possible_replicas - 1).bit_length()), _LONGEST_RANGE)
    return [("NodeName", names.slurm_nodes(node_set, room))]
