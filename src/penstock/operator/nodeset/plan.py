"""What to do about a NodeSet: a pure function over one snapshot.

Who leaves is decided in `leaving`; how, here. A worker goes only when Slurm says that it is drained and idle. What
Slurm does not say is not known, and what is not known waits and says so. A worker that leaves is drained first; one
that stays after all is given back to Slurm, but only if the drain was ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from itertools import count, islice

from penstock.operator.nodeset.bounded import Bound, bounded, prospect, terms
from penstock.operator.nodeset.claims import Claims
from penstock.operator.nodeset.drains import cordon_orders, is_our_drain, reason_for
from penstock.operator.nodeset.leaving import leaving
from penstock.operator.nodeset.pins import pinned_machine, pins
from penstock.operator.nodeset.snapshot import HOSTNAME_OVERRIDE, ON_DELETION, Snapshot, ordinal, slurm_node
from penstock.operator.nodeset.steps import Adopt, Blocked, Create, Drain, Leaving, Plan, Remove, Wait
from penstock.operator.resources import Pod
from penstock.operator.status import soonest, stamp
from penstock.render import labels, names
from penstock.render.seat import Seat, seat
from penstock.slurm.rest.messages import NodeReport

REGISTERS_IN = 30.0
"""Seconds in which slurmd tells slurmctld that it is there."""
SHORT_LIFE = 10.0
"""Seconds from the first sight of a worker before another may take its place."""
BATCH = 500
"""Workers made in one look: enough to keep the API server busy, few enough to tell about progress."""


def plan(now: Snapshot) -> Plan:
    """Decide."""
    going, claims = leaving(now), Claims(now)
    gone = {one.pod.metadata.uid for one in going}
    staying = [pod for pod in now.there if pod.metadata.uid not in gone]
    steps = [_step(now, one) for one in going]
    drain, undrain = cordon_orders(now, staying, {slurm_node(now.node_set, one.pod) for one in going})
    ended = [pod for pod in staying if pod.ended and pod.metadata.uid not in now.young]
    remove = [
        replace(step, claims=claims.gone_with(one))
        for step, one in zip(steps, going, strict=True)
        if isinstance(step, Remove)
    ]
    create, blocked, more = _made(now, claims)
    bound = _bound(now, steps)
    return Plan(
        create=create,
        blocked=blocked,
        adopt=[Adopt(pod) for pod in now.orphans],
        more=more,
        drain=[*drain, *(step for step in steps if isinstance(step, Drain))],
        undrain=undrain,
        remove=[*map(_replaced, ended), *remove],
        wait=[step for step in steps if isinstance(step, Wait)],
        tend=[*claims.tended([claim for one in remove for claim in one.claims])] if now.claims else (),
        claims=claims.missing(staying),
        conflicts=claims.conflicts() if now.claims else (),
        relabel=_relabelled(now, staying),
        leaving=going,
        jobs=bound.orders,
        again=soonest(bound.again, now.given_up_in if now.cancels else None, _begun_in(now, going)),
    )


def _replaced(pod: Pod) -> Remove:
    return Remove(pod, f"it has ended ({pod.status.phase})", drained=False)


def _step(now: Snapshot, one: Leaving) -> Remove | Drain | Wait:
    """The next step towards a worker's end."""
    pod = one.pod
    if pod.ended or not pod.spec.node_name:
        return Remove(pod, f"{one.why}; nothing runs in it", drained=False)
    if now.slurm is None:
        return _unanswered(now, one)
    report = now.report(pod)
    return _unregistered(now, one) if report is None else _registered(now, one, report)


def _unanswered(now: Snapshot, one: Leaving) -> Remove | Wait:
    """Slurm does not say anything. Jobs that nobody wants to wait for are still to be warned, if it speaks again."""
    if now.cancels and now.given_up:
        return Remove(one.pod, f"{one.why}, and its jobs are not to be waited for", drained=False)
    cure = f"; or have its jobs cancelled, by the annotation {ON_DELETION}: Cancel" if now.deleting else ""
    return Wait(one.pod, f"Slurm does not say whether it is idle: {now.slurm_trouble}{cure}", unknown=True)


def _unregistered(now: Snapshot, one: Leaving) -> Remove | Wait:
    """Slurm answers, and knows no such node. That says little of one that was ready before: it may be a slip."""
    if one.pod.metadata.uid in now.beginning:
        # Once it registers it can be drained; before, a job may be given to it in the very moment in which it goes.
        return Wait(one.pod, "it began a moment ago, and registers with Slurm before it can be drained")
    if not now.has_served(one.pod):
        return Remove(one.pod, f"{one.why}; Slurm does not know it", drained=True)
    ready = "is" if one.pod.ready_since else "was"
    words = "look at slurmd's log, or delete the pod if nothing runs in it"
    return Wait(one.pod, f"it {ready} ready, but Slurm does not know its node; {words}", unknown=True)


def _registered(now: Snapshot, one: Leaving, report: NodeReport) -> Remove | Drain | Wait:
    state = report.condition
    if state.drained and report.name not in now.suspended:
        return Remove(one.pod, f"{one.why}; Slurm says it is drained and idle", drained=True)
    if not state.known:
        return Wait(one.pod, f"Slurm does not say what its node does ({'+'.join(report.state)})", unknown=True)
    reason = reason_for(one, now.revision)
    # A drain of ours for another reason gets this one: from now on it counts how long the worker has been leaving.
    if not state.drain or (is_our_drain(report) and report.reason != reason):
        return Drain(one.pod, report.name, reason)
    return Wait(one.pod, prospect(terms(now), report))


def _bound(now: Snapshot, steps: Iterable[Remove | Drain | Wait]) -> Bound:
    """What is to be done to the jobs of workers that leave."""
    waiting = (now.report(step.pod) for step in steps if isinstance(step, Wait))
    return bounded(terms(now), [report for report in waiting if report is not None], now.slurm_time)


def _begun_in(now: Snapshot, going: Iterable[Leaving]) -> float | None:
    """Seconds until a worker that shall go, and that Slurm does not know, is not waited for any more."""
    waited_for = (now.beginning.get(one.pod.metadata.uid) for one in going if now.report(one.pod) is None)
    return soonest(*waited_for) if now.beginning else None


def registering(now: Snapshot) -> bool:
    """Whether a worker got ready a moment ago and Slurm does not know it yet; it will in a moment."""
    return any(has_just_begun(now, pod) for pod in unregistered(now))


def unregistered(now: Snapshot) -> list[Pod]:
    """Workers that are ready, and that a Slurm which answers does not know."""
    return [] if now.slurm is None else [pod for pod in now.ready if now.report(pod) is None]


def has_just_begun(now: Snapshot, pod: Pod) -> bool:
    """Whether a worker has been ready for so short that Slurm need not know it yet."""
    return now.moment is not None and (pod.ready_since or "") > stamp(now.moment - timedelta(seconds=REGISTERS_IN))


def _made(now: Snapshot, claims: Claims) -> tuple[list[Create], list[Blocked], bool]:
    """Workers to make, seats that have to wait, and whether there are more of them."""
    missing = _missing(now)
    seats = [*islice(missing, BATCH)]
    if not seats or (not now.claims and not now.per_machine):
        return [Create(one) for one in seats], [], next(missing, None) is not None
    taken = _names_taken(now)
    blocked = [one for one in (_blocked(now, claims, seat, taken) for seat in seats) if one is not None]
    waiting = {one.seat for one in blocked}
    return [Create(one) for one in seats if one not in waiting], blocked, next(missing, None) is not None


def _names_taken(now: Snapshot) -> dict[str, str]:
    """Slurm nodes that machines give names to, and the machine whose they are: the one that has a worker, or the first.

    Machines may have one short name, or one annotation, and Slurm would take the slurmd of one for the other's.
    """
    if not now.per_machine:
        return {}
    workers = (pod for pod in now.pods if not pod.ended and pod.spec.node_name)
    taken = {slurm_node(now.node_set, pod): pod.spec.node_name for pod in workers}
    for machine, one in now.seats.items():
        taken.setdefault(one.slurm_node or "", machine)
    return taken


def _blocked(now: Snapshot, claims: Claims, one: Seat, taken: Mapping[str, str]) -> Blocked | None:
    node = one.slurm_node or ""
    if whose := now.rivals.get(node):
        words = f'"{node}" is a worker of NodeSet "{whose}", and Slurm has only one node of a name'
        return Blocked(one, f"{words}: keep one of the two from that machine, by a nodeSelector", "NamesInTheWay")
    if (other := taken.get(node, one.machine)) != one.machine:
        words = f'machines "{other}" and "{one.machine}" are both "{node}", and Slurm has only one node of a name'
        cure = f"give one of them another by the annotation {HOSTNAME_OVERRIDE}, or keep it out by a nodeSelector"
        return Blocked(one, f"{words}: {cure}", "NamesInTheWay")
    words = claims.in_the_way(one) if now.claims else ""
    return Blocked(one, words) if words else None


def _missing(now: Snapshot) -> Iterator[Seat]:
    """Seats without a worker, lowest first. A name is free when nobody has it, not even somebody who is leaving."""
    if now.deleting or not now.makes:
        return
    taken = {pod.metadata.name for pod in (*now.pods, *now.orphans)} | now.expected
    if now.per_machine:
        occupied = {pod.spec.node_name for pod in (*now.pods, *now.orphans) if pod.spec.node_name}
        yield from (one for one in now.seats.values() if one.pod_name not in taken and one.machine not in occupied)
        return
    # Who leaves a seat that nobody wants any more stands in for nobody, and may take long to go.
    passing = {pod.metadata.name for pod in now.pods if pod.leaving and ordinal(pod) >= now.desired}
    short = now.desired - len(taken - passing)
    free = (number for number in count() if names.worker(now.node_set, number) not in taken)
    known = pins(now, now.machines_before)
    for number in islice(free, max(short, 0)):
        yield replace(seat(now.node_set, number), machine=pinned_machine(now, known, number))


def _relabelled(now: Snapshot, staying: Iterable[Pod]) -> dict[str, dict[str, str]]:
    """Workers that lost the label by which the cluster's Service finds them."""
    cluster = now.node_set.spec.controller_ref.name
    lost = (pod for pod in staying if pod.metadata.labels.get(labels.CLUSTER) != cluster)
    return {pod.metadata.name: {labels.CLUSTER: cluster} for pod in lost}
