"""How long a leaving worker waits for its jobs (NS-8). Pure; `jobs` does what is decided here.

`drain.timeout` counts from the moment at which Slurm was told to drain the node, by Slurm's own clock. Shortly before
it is over the jobs are warned; when it is, they are requeued or cancelled, as `drain.onTimeout` says. What was done is
noted in the node's `extra`, behind our mark: there it outlives us, and goes with the drain. No job is ended without a
warning that came in time, however late we come ourselves. Who writes `Cancel` for `Requeue` has the jobs warned of that
and cancelled, whatever was done before. What is done twice is what we did and could not note.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import Enum

from penstock.api.nodeset import Drain, DrainTimeoutAction
from penstock.api.scalars import Duration
from penstock.operator.nodeset.drains import MARK, is_our_drain
from penstock.operator.nodeset.snapshot import ON_DELETION, Snapshot
from penstock.slurm.nodestate import Base
from penstock.slurm.rest.messages import NodeReport

LONGEST_WARNING = 60
"""Seconds between the warning and the end; half of a timeout that is shorter than twice as much."""
_ROUNDING = 1
"""Seconds. Slurm cuts off parts of a second, so what seems to be a second ago may have been a moment ago."""
_CANCEL = Drain(timeout=Duration.parse("0s"), on_timeout=DrainTimeoutAction.CANCEL)
_ENDING = (
    "Slurm ends its last job (COMPLETING); if that takes long, look at its epilog, or for processes nobody can kill"
)
_WITH_JOBS = {Base.ALLOCATED, Base.MIXED}
_NOTES = re.compile(r" (?:warned=(\d+),(\d+)|ended=(\d+))(?:,(requeue|cancel))?")


class Act(Enum):
    """What is done to the jobs of a node."""

    WARN = "warn"
    REQUEUE = "requeue"
    CANCEL = "cancel"


_AT_THE_END = {DrainTimeoutAction.REQUEUE: Act.REQUEUE, DrainTimeoutAction.CANCEL: Act.CANCEL}


@dataclass(frozen=True, slots=True)
class Order:
    """Something to be done now to all jobs of some nodes."""

    act: Act
    nodes: tuple[str, ...]
    end: int
    """Slurm's time at which the jobs are requeued or cancelled."""
    note: str
    """What stands in the `extra` of these nodes once it is done."""

    deletion: bool = False
    """The NodeSet is deleted with its jobs; else a drain takes longer than it may."""

    @property
    def why(self) -> str:
        """In words."""
        if self.deletion:
            return f"the NodeSet is deleted with its jobs ({ON_DELETION}: Cancel)"
        return "drain.timeout is nearly over" if self.act is Act.WARN else "drain.timeout is over"


@dataclass(frozen=True, slots=True)
class Terms:
    """How long leaving workers wait for their jobs, and whose drains that goes for."""

    policy: Drain
    anyones: bool = False
    """Drains of people, too: who deletes a NodeSet with its jobs means all of them."""
    suspended: AbstractSet[str] = frozenset()
    """Nodes that seem idle and whose jobs are suspended."""

    def has_jobs(self, node: NodeReport) -> bool:
        """Whether a node certainly has jobs, and drains because of somebody who may end them."""
        busy = node.condition.base in _WITH_JOBS or node.name in self.suspended
        return busy and node.condition.drain and self.concerns(node)

    def concerns(self, node: NodeReport) -> bool:
        """Whether a drain is one that these terms are about: by our own mark, unless anybody's is."""
        return self.anyones or (is_our_drain(node) and node.extra.startswith(MARK))


@dataclass(frozen=True, slots=True)
class Bound:
    """What to do now, and in how many seconds to decide again; None: not before something changes."""

    orders: tuple[Order, ...] = ()
    again: float | None = None


@dataclass(frozen=True, slots=True)
class _Notes:
    """What the `extra` of a node says about its present drain, as far as it still counts."""

    warned_at: int | None = None
    ended: Act | None = None


def terms(now: Snapshot) -> Terms:
    """The terms for the workers of a NodeSet. Who deletes it may say that its jobs are to be cancelled."""
    policy = _CANCEL if now.cancels else now.node_set.spec.drain
    return Terms(policy, anyones=now.cancels, suspended=now.suspended)


def bounded(terms: Terms, leaving: Iterable[NodeReport], now: int | None) -> Bound:
    """Decide about the nodes of leaving workers; `now` is Slurm's time, None when Slurm has not told it."""
    policy = terms.policy
    if now is None or policy.timeout is None or policy.on_timeout not in _AT_THE_END:
        return Bound()
    groups: dict[tuple[Act, int, str], list[str]] = {}
    waits: list[int] = []
    for node in leaving:
        due = _due(terms, policy.timeout.seconds, node)
        if due is None:
            continue
        act, moment = due
        if now < moment:
            waits.append(moment - now)
        else:
            end, note = _outcome(terms, policy.timeout.seconds, node, act, now)
            groups.setdefault((act, end, note), []).append(node.name)
    orders = tuple(Order(act, tuple(nodes), end, note, terms.anyones) for (act, end, note), nodes in groups.items())
    return Bound(orders, float(min(waits)) if waits else None)


def prospect(terms: Terms, node: NodeReport) -> str:
    """What becomes of the jobs of a draining node, for people; it changes only when something is done."""
    policy, there = terms.policy, "jobs still run on it"
    if node.condition.base is Base.IDLE and node.name not in terms.suspended:
        return _ENDING
    if node.name in terms.suspended:
        there = "jobs are suspended on it; resume them (scontrol resume) or cancel them (scancel)"
    if policy.timeout is None or policy.on_timeout not in _AT_THE_END:
        return there
    if not terms.concerns(node):
        return f"{there}, and are waited for: somebody else drained its node"
    fate = _AT_THE_END[policy.on_timeout]
    notes = _noted(node, fate)
    if notes.ended is not None:
        requeued = notes.ended is Act.REQUEUE
        rest = "those that cannot be requeued are waited for" if requeued else "Slurm is still ending them"
        return f"Slurm was told to {notes.ended.value} the jobs that run on it; {rest}"
    if terms.anyones:
        return f"{there}, {_with_the_set(notes)}"
    end = "requeued" if fate is Act.REQUEUE else "cancelled"
    warned = "; they have been warned" if notes.warned_at is not None else ""
    return f"{there}, which are {end} when it has drained for {policy.timeout.text}{warned}"


def _with_the_set(notes: _Notes) -> str:
    """What becomes of jobs whose NodeSet is deleted with them: there need not be a timeout."""
    if notes.warned_at is None:
        return "which are warned and cancelled: the NodeSet is deleted with them"
    return "which are cancelled: the NodeSet is deleted with them; they have been warned"


def _due(terms: Terms, timeout: float, node: NodeReport) -> tuple[Act, int] | None:
    """What has to be done next about a node, and when; None: nothing any more, or nothing by us."""
    fate = _AT_THE_END[terms.policy.on_timeout]
    since, notes = node.reason_changed_at.value, _noted(node, fate)
    if since is None or notes.ended is not None or not terms.has_jobs(node):
        return None
    if notes.warned_at is None:
        return Act.WARN, since + math.ceil(timeout - _ahead(timeout)) + _ROUNDING
    return fate, _end(timeout, since, notes.warned_at)


def _outcome(terms: Terms, timeout: float, node: NodeReport, act: Act, now: int) -> tuple[int, str]:
    """When the end is, or was, and the node's `extra` when this has been done."""
    since, fate = node.reason_changed_at.number, _AT_THE_END[terms.policy.on_timeout]
    bare = _NOTES.sub("", node.extra)
    if act is Act.WARN:
        return _end(timeout, since, now), f"{bare} warned={since},{now},{fate.value}"
    return _end(timeout, since, _noted(node, fate).warned_at or now), f"{bare} ended={since},{fate.value}"


def _end(timeout: float, since: int, warned_at: int) -> int:
    return math.ceil(max(since + timeout, warned_at + _ahead(timeout))) + _ROUNDING


def _ahead(timeout: float) -> float:
    return min(LONGEST_WARNING, timeout / 2)


def _noted(node: NodeReport, fate: Act) -> _Notes:
    """Notes of another drain, which began at another time, are none; nor are those of a milder end than this one."""
    found = _NOTES.search(node.extra)
    since = node.reason_changed_at.value
    if found is None or since is None or int(found[1] or found[3]) != since:
        return _Notes()
    # Notes without a word are those of releases that knew none.
    noted = Act(found[4] or Act.REQUEUE)
    if noted not in {fate, Act.CANCEL}:
        return _Notes()
    return _Notes(ended=noted) if found[3] else _Notes(warned_at=int(found[2]))
