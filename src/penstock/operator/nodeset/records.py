"""What Slurm is told about its nodes beside drains: the topology and the features of their machines. Pure.

Nodes with the same change are told in one request, however many they are; `recording` sends it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from penstock.operator.nodeset.marks import TOPOLOGY
from penstock.operator.nodeset.snapshot import Snapshot
from penstock.operator.resources import Machine
from penstock.slurm import hostlist
from penstock.slurm.rest.messages import NodeReport

FEATURES = "features.slinky.slurm.net/spec"
"""Annotation of a machine: features of its Slurm node, with commas between them."""
FROM_MACHINE = "k8s/"
"""How features begin that come from a machine; the others are not ours."""

TOPOLOGY_FIELD = "topology_str"

Fields = tuple[tuple[str, str | tuple[str, ...]], ...]
"""Fields of a node in slurmrestd's words, with their values."""
_Placed = Sequence[tuple[NodeReport, Machine]]
"""Slurm nodes and the machines that they are on."""


@dataclass(frozen=True, slots=True)
class Change:
    """One request: what these nodes should be."""

    nodes: tuple[str, ...]
    fields: Fields

    @property
    def name(self) -> str:
        """What it is about: the first of the fields."""
        return self.fields[0][0]

    def __str__(self) -> str:
        told = ", ".join(f"{name}={text if isinstance(text, str) else ','.join(text)}" for name, text in self.fields)
        return f"{hostlist.compress(self.nodes)}: {told}"


def changes(now: Snapshot) -> list[Change]:
    """What nodes should be told."""
    placed = [*_placed(now)]
    return _grouped([*_topology(now, placed), *_features(placed)])


def _placed(now: Snapshot) -> Iterator[tuple[NodeReport, Machine]]:
    for pod in now.there:
        report, machine = now.report(pod), now.machines.get(pod.spec.node_name)
        if report is not None and machine is not None and not pod.ended:
            yield report, machine


def _topology(now: Snapshot, placed: _Placed) -> Iterator[tuple[str, Fields]]:
    """Where machines say nothing at all it is not ours: people may have told Slurm themselves."""
    if not any(TOPOLOGY in machine.metadata.annotations for machine in now.machines.values()):
        return
    for report, machine in placed:
        wanted = machine.metadata.annotations.get(TOPOLOGY, "")
        if report.topology != wanted:
            yield report.name, ((TOPOLOGY_FIELD, wanted),)


def _features(placed: _Placed) -> Iterator[tuple[str, Fields]]:
    for report, machine in placed:
        spec = machine.metadata.annotations.get(FEATURES, "")
        if (fields := _with_features(report.features, report.active_features, spec)) is not None:
            yield report.name, fields


@lru_cache(maxsize=1024)
def _with_features(available: tuple[str, ...], active: tuple[str, ...], spec: str) -> Fields | None:
    """What a node with such features is told, or None; the same for thousands of them."""
    parts = (part.strip() for part in spec.split(","))
    wanted = tuple(sorted({f"{FROM_MACHINE}{part}" for part in parts if part}))
    told = [
        (*(one for one in features if not one.startswith(FROM_MACHINE)), *wanted) for features in (available, active)
    ]
    same = {*told[0]} == {*available} and {*told[1]} == {*active}
    # An empty list changes nothing in Slurm; a node of ours has its NodeSet's name at least.
    return None if same or not all(told) else (("features", told[0]), ("features_act", told[1]))


def _grouped(told: Iterable[tuple[str, Fields]]) -> list[Change]:
    groups: dict[Fields, list[str]] = {}
    for name, fields in told:
        groups.setdefault(fields, []).append(name)
    return [Change(tuple(sorted(nodes)), fields) for fields, nodes in groups.items()]
