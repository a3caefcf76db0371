"""What a worker has to offer, read from its container: CPUs, memory, GPUs, features, other node parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.api.nodeset import NodeSet
from penstock.api.scalars import Quantity, ScalarError
from penstock.slurm import conf

_TOPOLOGY_KEYS = {"cpus", "procs", "boards", "sockets", "socketsperboard", "corespersocket", "threadspercore"}
_FEATURE_KEYS = {"feature", "features"}
_GPU_RESOURCES = ("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerResources:
    """Resources of one worker of a NodeSet, and what its extraConf says of it."""

    cpus: int | None
    memory_mib: int | None
    cpu_limit: int
    memory_limit_mib: int
    """Limits are 0 when there are none."""
    gpu_resource: str | None
    gpus: int
    extra: Mapping[str, str]

    def node_parameters(self) -> list[tuple[str, conf.Setting]]:
        """CPUs, RealMemory, then the rest; what extraConf says wins."""
        pairs: list[tuple[str, conf.Setting]] = []
        if self.cpus and not self._said & _TOPOLOGY_KEYS:
            pairs.append(("CPUs", self.cpus))
        if self.memory_mib and "realmemory" not in self._said:
            pairs.append(("RealMemory", self.memory_mib))
        return pairs + self.other_parameters()

    def other_parameters(self) -> list[tuple[str, conf.Setting]]:
        """Gres, then what extraConf says: all that an image which reckons CPUs and memory itself needs."""
        gres = [("Gres", f"gpu:{self.gpus}")] if self.gpus and "gres" not in self._said else []
        return [*gres, *((key, text) for key, text in self.extra.items() if key.lower() not in _FEATURE_KEYS)]

    @property
    def _said(self) -> set[str]:
        return {key.lower() for key in self.extra}

    def features(self, node_set: NodeSet) -> list[str]:
        """The set's own feature, by which partitions find the node, and those of extraConf."""
        texts = [text for key, text in self.extra.items() if key.lower() in _FEATURE_KEYS]
        return sorted({node_set.slurm_name, *(name for text in texts for name in text.split(",") if name)})


def resources_of(node_set: NodeSet) -> WorkerResources:
    """What the NodeSet's container asks for: its requests, which are its limits where it makes none."""
    what = f'NodeSet "{node_set.metadata.name}"'
    with conf.about(what):
        limits = _amounts(node_set, "limits")
        promised = limits | _amounts(node_set, "requests")
    gpu = next((name for name in _GPU_RESOURCES if name in limits), None)
    return WorkerResources(
        cpus=promised["cpu"].whole if "cpu" in promised else None,
        memory_mib=promised["memory"].mebibytes if "memory" in promised else None,
        cpu_limit=limits["cpu"].whole if "cpu" in limits else 0,
        memory_limit_mib=limits["memory"].mebibytes if "memory" in limits else 0,
        gpu_resource=gpu,
        gpus=limits[gpu].whole if gpu else 0,
        extra=_joined(conf.pairs(node_set.spec.extra_conf or "", of=f"extraConf of {what}", reserved=["NodeName"])),
    )


def _amounts(node_set: NodeSet, which: str) -> dict[str, Quantity]:
    """Pod-level resources, overridden by the container's own."""
    levels: list[Any] = [node_set.spec.template.spec.get("resources"), node_set.spec.slurmd.get("resources")]
    found: dict[str, Quantity] = {}
    for level in levels:
        amounts = level.get(which) if isinstance(level, dict) else level
        if amounts is not None and not isinstance(amounts, dict):
            raise conf.ConfError(f"resources: {amounts!r} is not a map; write for instance {which}: {{cpu: 4}}")
        found |= {name: _quantity(name, amount) for name, amount in (amounts or {}).items() if amount is not None}
    return found


def _quantity(name: str, amount: Any) -> Quantity:
    try:
        return Quantity.parse(amount)
    except ScalarError as problem:
        raise conf.ConfError(f"resources: {name}: {problem}") from problem


def _joined(pairs: list[tuple[str, conf.Setting]]) -> dict[str, str]:
    """Repeated keys as one comma list, under the first spelling."""
    spelt: dict[str, str] = {}
    found: dict[str, str] = {}
    for key, setting in pairs:
        first = spelt.setdefault(key.lower(), key)
        found[first] = f"{found[first]},{setting}" if first in found else str(setting)
    return found
