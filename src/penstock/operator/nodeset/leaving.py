"""Which workers shall go, and why. Pure.

How they go is not decided here: every one of them is drained first (`plan`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from penstock.api.nodeset import NodeSet
from penstock.operator.conditions import counted
from penstock.operator.nodeset.order import cost
from penstock.operator.nodeset.snapshot import Snapshot
from penstock.operator.nodeset.steps import Cause, Leaving
from penstock.operator.nodeset.updates import outdated
from penstock.operator.resources import Pod
from penstock.render import labels
from penstock.render.seat import Seat


def leaving(now: Snapshot) -> list[Leaving]:
    """Every worker that shall go."""
    if now.deleting:
        return [Leaving(pod, Cause.DELETION, "the NodeSet is deleted") for pod in now.there]
    going = list(_of_another_mode(now))
    rest = _without(now.there, going)
    going += _off_machines(now, rest) if now.per_machine else _too_many(now, rest)
    return going + outdated(now, _without(now.there, going))


def wanted(now: Snapshot) -> str:
    """How many workers there should be, in words."""
    return counted(now.desired, "worker is wanted", "workers are wanted")


def is_of_mode(node_set: NodeSet, pod: Pod) -> bool:
    """Whether a worker is of the scaling mode that its NodeSet has. One that does not say is taken for one."""
    mode = node_set.spec.scaling_mode.value
    return pod.metadata.labels.get(labels.SCALING_MODE, mode) == mode


def _without(pods: Sequence[Pod], going: Sequence[Leaving]) -> list[Pod]:
    if not going:
        return [*pods]
    gone = {one.pod.metadata.uid for one in going}
    return [pod for pod in pods if pod.metadata.uid not in gone]


def _of_another_mode(now: Snapshot) -> Iterator[Leaving]:
    """Workers that were counted while now each machine has one, or the other way round."""
    for pod in now.there:
        if not is_of_mode(now.node_set, pod):
            yield Leaving(pod, Cause.MODE, f"the scaling mode is {now.node_set.spec.scaling_mode.value}")


def _too_many(now: Snapshot, pods: Sequence[Pod]) -> list[Leaving]:
    excess = len(pods) - now.desired
    if excess <= 0:
        return []
    why = wanted(now)
    return [Leaving(pod, Cause.SCALE_IN, why) for pod in sorted(pods, key=lambda pod: cost(now, pod))[:excess]]


def _off_machines(now: Snapshot, pods: Sequence[Pod]) -> Iterator[Leaving]:
    wanted = {seat.pod_name for seat in now.seats.values()}
    placed: dict[str, list[Pod]] = {}
    for pod in pods:
        machine = pod.spec.node_name
        if why := _misplaced(now, pod, now.seats.get(machine), wanted):
            yield Leaving(pod, Cause.MACHINE, why)
        elif machine:
            placed.setdefault(machine, []).append(pod)
    for machine, several in placed.items():
        if len(several) == 1:
            continue
        for pod in sorted(several, key=lambda pod: cost(now, pod))[:-1]:
            yield Leaving(pod, Cause.MACHINE, f'machine "{machine}" has another worker')


def _misplaced(now: Snapshot, pod: Pod, seat: Seat | None, wanted: AbstractSet[str | None]) -> str:
    """Why a worker is where none should be; nothing when all is well."""
    machine = pod.spec.node_name
    if not machine:
        return "" if pod.metadata.name in wanted else "no machine is meant for it"
    if machine not in now.keepers:
        return f'machine "{machine}" is not meant for it any more'
    if seat is not None and pod.metadata.labels.get(labels.POD_HOSTNAME, seat.slurm_node) != seat.slurm_node:
        return f'the Slurm node of machine "{machine}" is called {seat.slurm_node} now'
    return ""
