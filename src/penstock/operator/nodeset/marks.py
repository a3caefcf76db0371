"""What the pods of workers say about their Slurm nodes: conditions, a label, annotations. Pure.

So that people see with kubectl what Slurm says, wait for it, and whose drain it is; and so that nobody evicts a worker
whose jobs still run (`render/workers.py` has the budget). What Slurm does not say stays as it was told last: a guess
would take a busy worker's protection away. `marking` writes what differs, and only that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from penstock.operator.nodeset.drains import broken_walls, cordon_reason, is_our_drain
from penstock.operator.nodeset.snapshot import REGISTERED, Snapshot
from penstock.operator.resources import Pod
from penstock.render import labels
from penstock.slurm.nodestate import Flag, parse
from penstock.slurm.rest.messages import NodeReport

STATE = "SlurmNodeState"
"""How the types of our conditions begin; Slinky's own."""
WALLS_BROKEN = "WallsBroken"
"""Condition of a worker whose node drains itself because its walls do not hold; the message has what was found.

There is none that they hold: Slurm is told of trouble only, and who was never looked at is in none either.
"""
DRAINED_BY = "slinky.slurm.net/drained-by"
"""Annotation of a worker: because of whom its node drains."""
TOPOLOGY = "topology.slinky.slurm.net/spec"
"""Annotation of a machine, and of the workers on it: where in Slurm's topology it is."""
_FLAGS = (
    Flag.COMPLETING, Flag.DRAIN, Flag.FAIL, Flag.INVALID, Flag.INVALID_REG, Flag.MAINTENANCE, Flag.NOT_RESPONDING,
    Flag.UNDRAIN,
)  # fmt: skip
"""Those that are told; the others are Slurm's own affair."""

Texts = Mapping[str, str | None]
"""Values by name; None: take it away."""
_NOTHING: Texts = {}


@dataclass(frozen=True, slots=True)
class Mark:
    """What a pod should say and does not."""

    pod: Pod
    labels: Texts
    annotations: Texts
    conditions: Mapping[str, str] | None
    """All conditions of ours from now on, with their messages, by type; None: as they are."""


@dataclass(frozen=True, slots=True)
class _State:
    """What a state comes to. Thousands of nodes share a handful of states, so each is read once."""

    types: tuple[str, ...]
    """Of the conditions, the base state first."""
    busy: bool | None
    """None: Slurm does not say."""
    drain: bool


def marks(now: Snapshot) -> list[Mark]:
    """What is to be written on pods. One that leaves, or has ended, is past telling anything."""
    found = (_mark(now, pod) for pod in now.there if not pod.ended)
    return [one for one in found if one is not None]


def freed(now: Snapshot) -> Iterator[NodeReport]:
    """Nodes that seem to have become idle: their workers are protected, and would not be any more."""
    if not now.node_set.spec.workload_disruption_protection:
        return
    for pod in now.there:
        report = now.report(pod) if labels.POD_PROTECT in pod.metadata.labels and not pod.ended else None
        if report is not None and _protection(now, pod, report).get(labels.POD_PROTECT, "") is None:
            yield report


def _mark(now: Snapshot, pod: Pod) -> Mark | None:
    report = now.report(pod)
    state = None if report is None else _read(report.state)
    protection = _protection(now, pod, report)
    whose = _NOTHING if now.slurm is None else _whose_drain(now, pod, report, state)
    where = _topology(now, pod)
    conditions = None if now.slurm is None else _conditions(pod, report, state)
    if not protection and not whose and not where and conditions is None:
        return None
    return Mark(pod, protection, {**whose, **where}, conditions)


@lru_cache(maxsize=1024)
def _read(words: tuple[str, ...]) -> _State:
    state = parse(words)
    told = (state.base, *(flag for flag in _FLAGS if flag in state.flags))
    types = tuple(f"{STATE}{''.join(part.capitalize() for part in word.split('_'))}" for word in told)
    return _State(types, state.busy if state.known else None, state.drain)


def _conditions(pod: Pod, report: NodeReport | None, state: _State | None) -> dict[str, str] | None:
    wanted = dict.fromkeys(state.types, report.reason) if state and report else {}
    if report is not None and (found := broken_walls(report)) is not None:
        wanted[WALLS_BROKEN] = found
    told = [one for one in pod.status.conditions if is_ours(one.type)]
    if report is not None or any(one.type == REGISTERED for one in told):
        wanted[REGISTERED] = ""
    if len(told) == len(wanted) and all(wanted.get(one.type) == one.message and one.status == "True" for one in told):
        return None
    return wanted


def is_ours(kind: str) -> bool:
    """Whether a condition of a worker is of a type that is told here."""
    return kind.startswith(STATE) or kind in {WALLS_BROKEN, REGISTERED}


def _protection(now: Snapshot, pod: Pod, report: NodeReport | None) -> Texts:
    """The label by which the budget finds a worker with jobs; those that are suspended show in no state."""
    told, wanted = pod.metadata.labels.get(labels.POD_PROTECT), None
    if now.node_set.spec.workload_disruption_protection:
        busy = None if report is None else _read(report.state).busy
        if report is None or busy is None:
            return _NOTHING
        wanted = "true" if busy or report.name in now.suspended else None
    return _NOTHING if told == wanted else {labels.POD_PROTECT: wanted}


def _whose_drain(now: Snapshot, pod: Pod, report: NodeReport | None, state: _State | None) -> Texts:
    if report is None or state is None or not state.drain:
        return _differing(pod, DRAINED_BY, None)
    return _differing(pod, DRAINED_BY, drained_by(now, pod, report))


def drained_by(now: Snapshot, pod: Pod, report: NodeReport) -> str:
    """Because of whom the node of a worker drains."""
    if not is_our_drain(report):
        return ": ".join(filter(None, ("slurm", report.reason_set_by_user, report.reason)))
    if report.reason != cordon_reason(now, pod):
        # It begins with who we are, or who was here before us.
        return report.reason
    machine = now.machines.get(pod.spec.node_name)
    return f"machine {machine.metadata.name}" if machine is not None and machine.spec.unschedulable else "pod"


def _topology(now: Snapshot, pod: Pod) -> Texts:
    machine = now.machines.get(pod.spec.node_name)
    return _NOTHING if machine is None else _differing(pod, TOPOLOGY, machine.metadata.annotations.get(TOPOLOGY))


def _differing(pod: Pod, name: str, wanted: str | None) -> Texts:
    return _NOTHING if pod.metadata.annotations.get(name) == wanted else {name: wanted}
