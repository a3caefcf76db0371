"""Maintenance windows: the reservation in Slurm that a NodeSet with `ScheduledUpdate` asks for. Pure; `windows` acts.

Slurm's clock opens and closes a window. Slurm forgets one that is over, unless it repeats, and then moves its start
ahead by itself. So what was made once is remembered in a condition of the NodeSet, word for word: a window that was
made, and is not there any more, is made again only if its words have changed, or if it repeats.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from penstock.api.nodeset import NodeSet, ScalingMode, ScheduledUpdate, UpdateType
from penstock.operator.conditions import Condition
from penstock.operator.nodeset.schedule import FORCED, begins, flags_of, minutes_of, period_of, repeats, start_of
from penstock.slurm import hostlist
from penstock.slurm.rest.messages import NodeReport

if TYPE_CHECKING:
    from penstock.slurm.rest.messages import ReservationReport

CONDITION = "ReservationCreated"
_MADE = {"Created", "Over"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A reservation as Slurm is asked for it."""

    name: str
    nodes: tuple[str, ...]
    start: int
    """Unix seconds."""
    minutes: int
    flags: tuple[str, ...]

    def __str__(self) -> str:
        nodes = hostlist.compress(self.nodes)
        return f"{self.name} of {nodes}, from {_time(self.start)} for {self.minutes} minutes, {','.join(self.flags)}"


@dataclass(frozen=True, slots=True)
class Make:
    """Make the reservation."""

    window: Window
    why: str = "its NodeSet asks for a maintenance window"

    @property
    def words(self) -> str:
        """What Slurm is asked for."""
        return str(self.window)


@dataclass(frozen=True, slots=True)
class Change:
    """Change the reservation that is there; of one that is open, only its nodes."""

    window: Window
    only_nodes: bool
    why: str = "the NodeSet's workers, or what it says about the window, have changed"

    @property
    def words(self) -> str:
        """What Slurm is asked for."""
        nodes = f"{self.window.name} of {hostlist.compress(self.window.nodes)}"
        return nodes if self.only_nodes else str(self.window)


@dataclass(frozen=True, slots=True)
class Drop:
    """Delete the reservation."""

    name: str
    why: str = "its NodeSet asks for no maintenance window any more"
    anew: bool = False
    """It is made anew at once, as the NodeSet says now."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do, what to tell when it is done, and in how many seconds to look again."""

    step: Make | Change | Drop | None
    condition: Condition | None
    again: float | None = None


def name_of(node_set: NodeSet) -> str:
    """What the reservation of a NodeSet is called; the name is Slinky's."""
    return f"SlurmOperatorMaint-{node_set.metadata.name}"


def in_window(report: NodeReport, node_set: NodeSet) -> bool:
    """Whether the window of a NodeSet is open on a node."""
    return "MAINTENANCE" in report.state and report.reservation == name_of(node_set)


def wished(node_set: NodeSet) -> ScheduledUpdate | None:
    """The window that a NodeSet asks for; one without workers needs none."""
    strategy, spec = node_set.spec.update_strategy, node_set.spec
    counted = spec.scaling_mode is ScalingMode.STATEFUL_SET
    if strategy.type is not UpdateType.SCHEDULED_UPDATE or (counted and not spec.replicas):
        return None
    return strategy.scheduled_update


def decide(
    node_set: NodeSet,
    nodes: Collection[str],
    present: ReservationReport | None,
    told: Condition | None,
    now: int,
    *,
    deleting: bool = False,
) -> Decision:
    """Decide about the window of a NodeSet.

    `nodes` are those of its workers that Slurm knows, `present` the reservation of its name, `told` what its condition
    says, `now` Slurm's time.
    """
    wish = None if deleting else wished(node_set)
    if wish is None:
        return Decision(Drop(name_of(node_set)) if present else None, None)
    words = _words(node_set, wish)
    before = told.message if told is not None and told.reason in _MADE else ""
    if not nodes:
        return Decision(None, told if before == words else _missing("NotExists", "Slurm knows no worker of it yet."))
    window = _window(node_set, wish, nodes, now)
    if present is None:
        return _absent(wish, window, words, before, now)
    return _there(wish, window, present, words, before, now)


def _absent(wish: ScheduledUpdate, window: Window | None, words: str, before: str, now: int) -> Decision:
    if before == words and not period_of(wish):
        # Its time is over, or somebody deleted it, and knew why.
        return Decision(None, Condition(CONDITION, False, "Over", words))
    if window is None:
        return Decision(None, _missing("Missed", f"The time of the window is over. {words}"))
    return Decision(Make(window), Condition(CONDITION, True, "Created", words), _opens_in(window.start, now))


def _there(
    wish: ScheduledUpdate, window: Window | None, present: ReservationReport, words: str, before: str, now: int
) -> Decision:
    start, end = present.start_time.number, present.end_time.number
    if start <= now < end:
        # An open window is not moved. What the NodeSet says now is for the next one, so the old words stay.
        step = Change(window, only_nodes=True) if window and _others(window, present) else None
        return Decision(step, Condition(CONDITION, True, "Created", before or words), float(end - now + 1))
    condition = Condition(CONDITION, True, "Created", words)
    if before not in {"", words} or repeats(present.flags) != repeats(flags_of(wish)):
        why = "what its NodeSet says about the window has changed"
        return Decision(Drop(present.name, why, anew=True), condition)
    if window is None or end <= now:
        return Decision(None, condition)
    wanted_window = replace(window, start=start) if period_of(wish) and before else window
    return Decision(
        Change(wanted_window, only_nodes=False) if _differs(wanted_window, present) else None,
        condition,
        _opens_in(wanted_window.start, now),
    )


def _others(window: Window, present: ReservationReport) -> bool:
    return set(window.nodes) != set(hostlist.expand(present.node_list))


def _differs(window: Window, present: ReservationReport) -> bool:
    start, end = present.start_time.number, present.end_time.number
    return _others(window, present) or (start, end - start) != (window.start, window.minutes * 60)


def _window(node_set: NodeSet, wish: ScheduledUpdate, nodes: Collection[str], now: int) -> Window | None:
    """The next window, or the one that should be open now; None when its time is over."""
    start, minutes, flags = begins(wish, now), minutes_of(wish), flags_of(wish)
    if start + minutes * 60 <= now:
        return None
    if start < now and period_of(wish):
        # Were it to begin now, all that follow would begin at this time of day.
        flags = (*flags, FORCED)
    elif start < now:
        # Slurm takes no start that is long past: what is left of the window begins now.
        start, minutes = now, math.ceil((start + minutes * 60 - now) / 60)
    return Window(name=name_of(node_set), nodes=tuple(sorted(nodes)), start=start, minutes=minutes, flags=flags)


def _words(node_set: NodeSet, wish: ScheduledUpdate) -> str:
    """What the condition says; by these words the window is known again."""
    start, flags = _time(math.floor(start_of(wish).timestamp())), ",".join(flags_of(wish))
    return f"Reservation {name_of(node_set)}: from {start} for {minutes_of(wish)} minutes, {flags}."


def _time(moment: int) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _missing(reason: str, message: str) -> Condition:
    return Condition(CONDITION, False, reason, message)


def _opens_in(start: int, now: int) -> float | None:
    return float(start - now + 1) if start > now else None
