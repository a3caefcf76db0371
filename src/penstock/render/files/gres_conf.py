"""gres.conf: which GPUs a worker has, from the limits of its container (PT-8).

Static nodes that are kept for their workers have the devices that they had: a slurmd that finds fewer than slurm.conf
says takes its node out of use.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from penstock.api.nodeset import NodeSet
from penstock.render import names
from penstock.render.inventory import Cluster
from penstock.render.resources import resources_of
from penstock.render.seat import has_own_name
from penstock.slurm import conf, hostlist
from penstock.slurm.conf import ConfError, Section
from penstock.slurm.hostlist import HostlistError

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
    looked_for = any(_DEVICES[resources_of(node_set).gpu_resource or ""] is None for node_set in with_gpus)
    if looked_for or conf.settings(_kept_text(cluster)).get("autodetect") == "nvidia":
        section.add("AutoDetect", "nvidia")
    section.lines += [text for node_set in with_gpus if (text := _by_device(cluster, node_set))]
    section.lines += _kept(cluster, told="\n".join(section.lines))
    return conf.document([section]) if section.lines else None


def has_gpus(cluster: Cluster) -> bool:
    """Whether Slurm has to know of GPUs at all."""
    return any(resources_of(node_set).gpus for node_set in cluster.node_sets) or _has_kept(cluster)


def _has_kept(cluster: Cluster) -> bool:
    return any(one.has_devices for one in cluster.kept_nodes)


def _kept_text(cluster: Cluster) -> str:
    return cluster.kept_gres if _has_kept(cluster) else ""


def _kept(cluster: Cluster, *, told: str) -> Iterator[str]:
    """Lines as they stood of kept nodes; not of those that other lines tell of."""
    left = {name for one in cluster.kept_nodes if one.has_devices for name in hostlist.expand(one.names)}
    left -= {name for line in conf.entries(told, "NodeName") for name in hostlist.expand(line[0][1])} if left else set()
    for (key, nodes), *rest in conf.entries(_kept_text(cluster), "NodeName"):
        # Somebody may have edited the file; what he wrote there is nobody's to mend.
        with suppress(HostlistError, ConfError):
            if stay := [name for name in hostlist.expand(nodes) if name in left]:
                yield conf.line((key, hostlist.compress(stay)), *rest)


def _by_device(cluster: Cluster, node_set: NodeSet) -> str | None:
    resources = resources_of(node_set)
    stem = _DEVICES.get(resources.gpu_resource or "")
    if stem is None:
        return None
    last = _FIRST_RENDER_NODE + resources.gpus - 1
    device = f"{stem}[{_FIRST_RENDER_NODE}-{last}]" if resources.gpus > 1 else f"{stem}{last}"
    return conf.line(*_nodes(cluster, node_set), ("Name", "gpu"), ("File", device))


def _nodes(cluster: Cluster, node_set: NodeSet) -> list[tuple[str, conf.Setting]]:
    """Nodes of the set with room to grow: a worker reads this file before a new one could be written for it."""
    if not has_own_name(node_set):
        return []
    room = min(max(64, 1 << (2 * cluster.ordinals(node_set) - 1).bit_length()), _LONGEST_RANGE)
    return [("NodeName", names.slurm_nodes(node_set, room))]
