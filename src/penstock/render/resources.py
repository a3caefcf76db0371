"""What a worker has to offer, read from its container: CPUs, memory, GPUs, features, other node parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.api.nodeset import NodeSet
from penstock.api.scalars import Quantity
from penstock.slurm import conf

_TOPOLOGY_KEYS = {"cpus", "procs", "boards", "sockets", "socketsperboard", "corespersocket", "threadspercore"}
_GPU_RESOURCES = ("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerResources:
    """Resources of one worker of a NodeSet, and what its extraConf says of it."""

    cpus: int | None
    memory_mib: int | None
    gpu_resource: str | None
    gpus: int
    extra: Mapping[str, str]

    def node_parameters(self) -> list[tuple[str, conf.Setting]]:
        """CPUs, RealMemory, Gres, then what extraConf says, which wins."""
        said = {key.lower() for key in self.extra}
        pairs: list[tuple[str, conf.Setting]] = []
        if self.cpus and not said & _TOPOLOGY_KEYS:
            pairs.append(("CPUs", self.cpus))
        if self.memory_mib and "realmemory" not in said:
            pairs.append(("RealMemory", self.memory_mib))
        if self.gpus and "gres" not in said:
            pairs.append(("Gres", f"gpu:{self.gpus}"))
        return pairs + [(key, text) for key, text in self.extra.items() if key.lower() not in {"feature", "features"}]

    def features(self, node_set: NodeSet) -> list[str]:
        """The set's own feature, by which partitions find the node, and those of extraConf."""
        texts = [text for key, text in self.extra.items() if key.lower() in {"feature", "features"}]
        return sorted({node_set.slurm_name, *(name for text in texts for name in text.split(",") if name)})


def resources_of(node_set: NodeSet) -> WorkerResources:
    """What the NodeSet's container asks for, and within its limits may use."""
    limits = _amounts(node_set, "limits")
    promised = _amounts(node_set, "requests") | limits
    gpu = next((name for name in _GPU_RESOURCES if name in limits), None)
    return WorkerResources(
        cpus=promised["cpu"].whole if "cpu" in promised else None,
        memory_mib=promised["memory"].mebibytes if "memory" in promised else None,
        gpu_resource=gpu,
        gpus=limits[gpu].whole if gpu else 0,
        extra=_joined(
            conf.pairs(node_set.spec.extra_conf or "", of=f'extraConf of NodeSet "{node_set.metadata.name}"')
        ),
    )


def _amounts(node_set: NodeSet, which: str) -> dict[str, Quantity]:
    """Pod-level resources, overridden by the container's own."""
    levels: list[Any] = [node_set.spec.template.spec.get("resources"), node_set.spec.slurmd.get("resources")]
    found: dict[str, Quantity] = {}
    for level in levels:
        amounts = level.get(which) if isinstance(level, dict) else None
        found |= {name: Quantity.parse(amount) for name, amount in (amounts or {}).items()}
    return found


def _joined(pairs: list[tuple[str, conf.Setting]]) -> dict[str, str]:
    """Repeated keys as one comma list, under the first spelling."""
    spelt: dict[str, str] = {}
    found: dict[str, str] = {}
    for key, setting in pairs:
        first = spelt.setdefault(key.lower(), key)
        found[first] = f"{found[first]},{setting}" if first in found else str(setting)
    return found
