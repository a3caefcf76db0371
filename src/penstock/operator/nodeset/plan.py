"""What to do about a NodeSet: a pure function over one snapshot.

A worker goes only when Slurm says that it is drained and idle. What Slurm does not say is not known, and what is not
known waits and says so. A worker that leaves is drained first; one that stays after all is given back to Slurm, but
only if the drain was ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import count, islice

from penstock.operator.nodeset.snapshot import Snapshot, ordinal, seat_at, slurm_node
from penstock.operator.resources import Pod
from penstock.render import labels, names
from penstock.render.seat import Seat, seat
from penstock.slurm.rest.messages import NodeReport

OURS = ("penstock: ", "slurm-operator: ")
"""How the reasons of our own drains begin, and of Slinky's, whose clusters we may have taken over."""
SCALE_IN = "penstock: scale-in"
"""Reason of a drain for scale-in, and our mark in the node's `extra`, where it outlives the pod's own last words."""
_DELETION_COST = "nodeset.slinky.slurm.net/pod-deletion-cost"
_REGISTERS_IN = 30
"""Seconds in which slurmd tells slurmctld that it is there."""
SHORT_LIFE = 10.0
"""Seconds from the first sight of a worker before another may take its place."""
BATCH = 500
"""Workers made in one look: enough to keep the API server busy, few enough to tell about progress."""


@dataclass(frozen=True, slots=True)
class Create:
    """Make the worker of a seat, with its claims."""

    seat: Seat


@dataclass(frozen=True, slots=True)
class Remove:
    """Delete a worker."""

    pod: Pod
    why: str
    drained: bool
    """Whether Slurm must say once more, right before, that it is drained and idle."""


@dataclass(frozen=True, slots=True)
class Drain:
    """Let no more jobs come to a worker."""

    pod: Pod
    node: str


@dataclass(frozen=True, slots=True)
class Wait:
    """A worker that should go, and why it does not."""

    pod: Pod
    why: str
    unknown: bool = False
    """Slurm does not tell, as against: Slurm says that it is busy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All that is to be done now."""

    create: Sequence[Create] = ()
    more: bool = False
    """There is more to create than fits in one look."""
    drain: Sequence[Drain] = ()
    undrain: Sequence[str] = ()
    """Slurm nodes to be given back."""
    remove: Sequence[Remove] = ()
    wait: Sequence[Wait] = ()
    relabel: Sequence[Pod] = ()
    """Workers that lost the label by which the cluster's Service finds them."""


def plan(now: Snapshot) -> Plan:
    """Decide."""
    leaving = list(_leaving(now))
    gone = {pod.metadata.name for pod, _ in leaving}
    staying = [pod for pod in now.there if pod.metadata.name not in gone]
    steps = [_step(now, pod, why) for pod, why in leaving]
    ended = [pod for pod in staying if pod.ended and pod.metadata.uid not in now.young]
    missing, cluster = _missing(now), now.node_set.spec.controller_ref.name
    return Plan(
        create=[Create(one) for one in islice(missing, BATCH)],
        more=next(missing, None) is not None,
        drain=[step for step in steps if isinstance(step, Drain)],
        undrain=_given_back(now, staying),
        remove=[*map(_replaced, ended), *(step for step in steps if isinstance(step, Remove))],
        wait=[step for step in steps if isinstance(step, Wait)],
        relabel=[pod for pod in staying if pod.metadata.labels.get(labels.CLUSTER) != cluster],
    )


def _replaced(pod: Pod) -> Remove:
    return Remove(pod, f"it has ended ({pod.status.phase})", drained=False)


def _leaving(now: Snapshot) -> Iterator[tuple[Pod, str]]:
    """Workers that are one too many, and why."""
    if now.per_machine:
        yield from _off_machines(now)
        return
    excess = len(now.there) - now.desired
    if excess > 0:
        why = f"{now.desired} workers are wanted"
        yield from ((pod, why) for pod in sorted(now.there, key=lambda pod: _cost(now, pod))[:excess])


def _off_machines(now: Snapshot) -> Iterator[tuple[Pod, str]]:
    wanted = {seat_at(now.node_set, machine).pod_name for machine in now.takers}
    for pod in now.pods:
        if pod.leaving or pod.metadata.name in wanted:
            continue
        if not pod.spec.node_name:
            yield pod, "no machine is meant for it"
        elif pod.spec.node_name not in now.keepers:
            yield pod, f'machine "{pod.spec.node_name}" is not meant for it any more'


def _cost(now: Snapshot, pod: Pod) -> tuple[bool, bool, bool, bool, int, bool, bool, int, str]:
    """What it costs to lose a worker; the cheapest leave first. One that drains for us already goes on doing so."""
    report = now.report(pod)
    busy = report is None or report.condition.busy
    return (
        # It goes in any case: were it not the one too many, a good worker would go as well.
        not pod.ended,
        bool(pod.spec.node_name),
        not (report is not None and report.condition.drain and report.reason.startswith(OURS)),
        pod.ready_since is not None,
        _deletion_cost(pod),
        busy,
        not (report is not None and report.condition.drain),
        -ordinal(pod),
        pod.metadata.name,
    )


def _deletion_cost(pod: Pod) -> int:
    try:
        return int(pod.metadata.annotations.get(_DELETION_COST, "0"))
    except ValueError:
        return 0


def _step(now: Snapshot, pod: Pod, why: str) -> Remove | Drain | Wait:
    """The next step towards a worker's end."""
    if pod.ended or not pod.spec.node_name:
        return Remove(pod, f"{why}; nothing runs in it", drained=False)
    if now.slurm is None:
        return Wait(pod, f"Slurm does not say whether it is idle: {now.slurm_trouble}", unknown=True)
    report = now.report(pod)
    return _unregistered(pod, why) if report is None else _registered(pod, report, why)


def _unregistered(pod: Pod, why: str) -> Remove | Wait:
    """Slurm answers, and knows no such node: no job can be there, unless the worker is just about to register."""
    if pod.ready_since is None:
        return Remove(pod, f"{why}; Slurm does not know it", drained=True)
    return Wait(pod, "it is ready, but Slurm does not know its node; look at slurmd's log", unknown=True)


def _registered(pod: Pod, report: NodeReport, why: str) -> Remove | Drain | Wait:
    state = report.condition
    if state.drained:
        return Remove(pod, f"{why}; Slurm says it is drained and idle", drained=True)
    if not state.known:
        return Wait(pod, f"Slurm does not say what its node does ({'+'.join(report.state)})", unknown=True)
    return Wait(pod, "jobs still run on it") if state.drain else Drain(pod, report.name)


def _given_back(now: Snapshot, staying: Iterable[Pod]) -> list[str]:
    """Slurm nodes of workers that stay and that we drained. Who drained it since, in their own words, keeps it so."""
    if not now.slurm:
        return []
    # One that ended with its machine may be called ready for ever.
    able = (pod for pod in staying if pod.ready_since is not None and not pod.ended)
    nodes = (now.slurm.get(slurm_node(now.node_set, pod)) for pod in able)
    return [one.name for one in nodes if one and is_our_drain(one)]


def is_our_drain(node: NodeReport) -> bool:
    """Whether a node drains because of us alone."""
    return node.condition.drain and node.extra == SCALE_IN and node.reason.startswith(OURS)


def registering(now: Snapshot) -> bool:
    """Whether a worker got ready a moment ago and Slurm does not know it yet; it will in a moment."""
    if now.slurm is None or now.moment is None:
        return False
    fresh = (now.moment - timedelta(seconds=_REGISTERS_IN)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return any((pod.ready_since or "") > fresh and now.report(pod) is None for pod in now.ready)


def _missing(now: Snapshot) -> Iterator[Seat]:
    """Seats without a worker, lowest first. A name is free when nobody has it, not even somebody who is leaving."""
    taken = {pod.metadata.name for pod in now.pods} | now.expected
    if now.per_machine:
        seats = (seat_at(now.node_set, machine) for machine in now.takers)
        occupied = {pod.spec.node_name for pod in now.pods if pod.spec.node_name}
        yield from (one for one in seats if one.pod_name not in taken and one.machine not in occupied)
        return
    # Who leaves a seat that nobody wants any more stands in for nobody, and may take long to go.
    passing = {pod.metadata.name for pod in now.pods if pod.leaving and ordinal(pod) >= now.desired}
    short = now.desired - len(taken - passing)
    free = (number for number in count() if names.worker(now.node_set, number) not in taken)
    yield from (seat(now.node_set, number) for number in islice(free, max(short, 0)))
