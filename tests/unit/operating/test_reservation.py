"""Maintenance windows (NS-5): when they are, and what is done about the reservation, case by case and for all time."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.rendering.builders import node_set

from penstock.api.nodeset import NodeSet, ScheduledUpdate
from penstock.api.scalars import Duration
from penstock.operator.conditions import Condition
from penstock.operator.nodeset import schedule
from penstock.operator.nodeset.reservation import Change, Decision, Drop, Make, Window, decide, in_window
from penstock.slurm import hostlist
from penstock.slurm.rest.messages import NodeReport, Number, ReservationReport

NAME = "SlurmOperatorMaint-n"
NODES = ("n-0", "n-1")
HOUR, DAY = 3600, 86400


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


START = at("2026-11-18T02:00:00+00:00")  # a Wednesday


def windowed(start: str = "2026-11-18T02:00:00Z", duration: str = "30m", *flags: str, **spec: Any) -> NodeSet:
    """A NodeSet that asks for a window."""
    update = {"startTime": start, "duration": duration, "flags": list(flags)}
    return node_set("n", updateStrategy={"type": "ScheduledUpdate", "scheduledUpdate": update}, **spec)


def reservation(
    start: int = START, minutes: int = 30, nodes: tuple[str, ...] = NODES, *flags: str
) -> ReservationReport:
    """One as Slurm shows it."""
    times = {"start_time": Number(set=True, number=start), "end_time": Number(set=True, number=start + minutes * 60)}
    shown = ("MAINT", "IGNORE_JOBS", *flags, "SPEC_NODES")
    return ReservationReport(name=NAME, node_list=hostlist.compress(nodes), flags=shown, **times)


def made_for(owner: NodeSet, now: int = START - HOUR) -> Condition:
    """What is told of a window that has been made."""
    condition = decide(owner, NODES, None, None, now).condition
    assert condition is not None
    assert condition.status
    return condition


def said(decision: Decision) -> str:
    """A decision in words."""
    match decision.step:
        case Make(window=window):
            return f"make {_words(window)}"
        case Change(window=window, only_nodes=True):
            return f"nodes {hostlist.compress(window.nodes)}"
        case Change(window=window):
            return f"change to {_words(window)}"
        case Drop(anew=anew):
            return "make anew" if anew else "drop"
        case None:
            return "nothing"


def _words(window: Window) -> str:
    ahead = window.start - START
    return f"{hostlist.compress(window.nodes)} {ahead:+d}s {window.minutes}m {','.join(window.flags[2:])}".rstrip()


ONCE, DAILY = windowed(), windowed("2026-11-18T02:00:00Z", "30m", "daily")
LATER = windowed("2026-11-18T03:00:00Z")


@pytest.mark.parametrize(
    ("owner", "now", "expected", "told"),
    [
        (ONCE, START - DAY, "make n-[0-1] +0s 30m", "Created"),
        (ONCE, START + 600, "make n-[0-1] +600s 20m", "Created"),
        (ONCE, START + 1799, "make n-[0-1] +1799s 1m", "Created"),
        (ONCE, START + 1800, "nothing", "Missed"),
        (DAILY, START - DAY, "make n-[0-1] +0s 30m DAILY", "Created"),
        (DAILY, START + 600, "make n-[0-1] +0s 30m DAILY,FORCE_START", "Created"),
        (DAILY, START + 1800, f"make n-[0-1] +{DAY}s 30m DAILY", "Created"),
        (windowed("2026-11-18T02:00:00Z", "90s", "FORCE_START"), START - 1, "make n-[0-1] +0s 2m", "Created"),
    ],
)
def test_a_window_is_made_as_long_as_its_time_is_not_over(owner: NodeSet, now: int, expected: str, told: str) -> None:
    """A start that is past is told to Slurm of windows that repeat; of others what is left begins now."""
    decided = decide(owner, NODES, None, None, now)
    assert decided.condition is not None
    assert (said(decided), decided.condition.reason) == (expected, told)
    starts = decided.step.window.start if isinstance(decided.step, Make) else now
    assert decided.again == (starts - now + 1 if starts > now else None), "it is looked at when it opens"


@pytest.mark.parametrize(
    ("owner", "present", "told", "now", "expected"),
    [
        # as it should be
        (ONCE, reservation(), made_for(ONCE), START - HOUR, "nothing"),
        (ONCE, reservation(), None, START - HOUR, "nothing"),
        (DAILY, reservation(START + DAY, 30, NODES, "DAILY"), made_for(DAILY), START + HOUR, "nothing"),
        (DAILY, reservation(START + DAY + HOUR, 30, NODES, "DAILY"), made_for(DAILY), START + HOUR, "nothing"),
        # others than we thought
        (ONCE, reservation(nodes=("n-0",)), made_for(ONCE), START - HOUR, "change to n-[0-1] +0s 30m"),
        (ONCE, reservation(minutes=10), made_for(ONCE), START - HOUR, "change to n-[0-1] +0s 30m"),
        (ONCE, reservation(START + 60), made_for(ONCE), START - HOUR, "change to n-[0-1] +0s 30m"),
        (ONCE, reservation(START - HOUR), None, START - HOUR - 9, "change to n-[0-1] +0s 30m"),
        # open: only its nodes
        (ONCE, reservation(), made_for(ONCE), START + 60, "nothing"),
        (ONCE, reservation(nodes=("n-0",)), made_for(ONCE), START + 60, "nodes n-[0-1]"),
        (LATER, reservation(), made_for(ONCE), START + 60, "nothing"),
        (ONCE, reservation(START + 60, 29), made_for(ONCE), START + 60, "nothing"),
        # the NodeSet says something else
        (LATER, reservation(), made_for(ONCE), START - HOUR, "make anew"),
        (DAILY, reservation(), made_for(ONCE), START - HOUR, "make anew"),
        (ONCE, reservation(START, 30, NODES, "DAILY"), None, START - HOUR, "make anew"),
        # over, and not forgotten yet
        (ONCE, reservation(), made_for(ONCE), START + 1800, "nothing"),
        (DAILY, reservation(START, 30, NODES, "DAILY"), made_for(DAILY), START + 1810, "nothing"),
        # over and forgotten
        (ONCE, None, made_for(ONCE), START + 1900, "nothing"),
        (ONCE, None, made_for(ONCE), START - 60, "nothing"),
        (LATER, None, made_for(ONCE), START + 1900, "make n-[0-1] +3600s 30m"),
        (DAILY, None, made_for(DAILY), START - 60, "make n-[0-1] +0s 30m DAILY"),
    ],
)
def test_what_is_done_about_a_reservation(
    owner: NodeSet, present: ReservationReport | None, told: Condition | None, now: int, expected: str
) -> None:
    assert said(decide(owner, NODES, present, told, now)) == expected


def test_what_was_made_is_remembered_when_it_is_gone() -> None:
    told = made_for(ONCE)
    gone = decide(ONCE, NODES, None, told, START + 1900).condition
    assert gone is not None
    assert (gone.status, gone.reason, gone.message) == (False, "Over", told.message)
    again = decide(ONCE, NODES, None, gone, START - 60)
    assert (again.step, again.condition) == (None, gone)


def test_an_open_window_keeps_its_words_until_it_is_closed() -> None:
    """So that the next one is made as the NodeSet says by then."""
    told = made_for(ONCE)
    meanwhile = decide(LATER, NODES, reservation(), told, START + 60)
    assert meanwhile.condition == told
    assert meanwhile.again == 1800 - 60 + 1


@pytest.mark.parametrize("owner", [node_set("n"), windowed(replicas=0)])
def test_who_asks_for_none_has_none(owner: NodeSet) -> None:
    assert decide(owner, NODES, None, made_for(ONCE), START) == Decision(None, None)
    assert said(decide(owner, NODES, reservation(), made_for(ONCE), START)) == "drop"


def test_a_node_set_that_is_deleted_has_none() -> None:
    assert said(decide(ONCE, NODES, reservation(), made_for(ONCE), START, deleting=True)) == "drop"


def test_a_node_set_whose_workers_slurm_does_not_know_waits_for_them() -> None:
    waits = decide(ONCE, (), None, None, START)
    assert waits.step is None
    assert waits.condition is not None
    assert waits.condition.reason == "NotExists"
    assert decide(ONCE, (), reservation(), made_for(ONCE), START) == Decision(None, made_for(ONCE))


def test_a_node_is_in_the_window_of_its_own_set_alone() -> None:
    def shown(reserved: str, *words: str) -> NodeReport:
        return NodeReport(name="n-0", state=("IDLE", *words), reservation=reserved)

    assert in_window(shown(NAME, "MAINTENANCE", "RESERVED"), ONCE)
    assert not in_window(shown(NAME, "RESERVED"), ONCE)
    assert not in_window(shown("SlurmOperatorMaint-m", "MAINTENANCE"), ONCE)
    assert not in_window(shown(NAME), ONCE)


@pytest.mark.parametrize(
    ("flags", "start", "now", "expected"),
    [
        (["HOURLY"], "2026-11-18T02:00:00Z", "2026-11-18T09:10:00Z", "2026-11-18T09:00:00Z"),
        (["HOURLY"], "2026-11-18T02:00:00Z", "2026-11-18T09:30:00Z", "2026-11-18T10:00:00Z"),
        (["DAILY"], "2026-11-18T02:00:00Z", "2027-02-01T02:29:59Z", "2027-02-01T02:00:00Z"),
        (["DAILY"], "2026-11-18T02:00:00Z", "2027-02-01T02:30:00Z", "2027-02-02T02:00:00Z"),
        (["WEEKLY"], "2026-11-18T02:00:00Z", "2026-11-19T00:00:00Z", "2026-11-25T02:00:00Z"),
        (["WEEKDAY"], "2026-11-18T02:00:00Z", "2026-11-20T12:00:00Z", "2026-11-23T02:00:00Z"),
        (["WEEKEND"], "2026-11-18T02:00:00Z", "2026-11-18T00:00:00Z", "2026-11-21T02:00:00Z"),
        # Saturday there, Friday here
        (["WEEKEND"], "2026-11-18T01:00:00+09:00", "2026-11-20T15:59:00Z", "2026-11-20T16:00:00Z"),
        (["DAILY"], "2026-11-18T02:00:00", "2026-11-18T02:29:00Z", "2026-11-18T02:00:00Z"),
        ([], "2026-11-18T02:00:00Z", "2027-11-18T02:00:00Z", "2026-11-18T02:00:00Z"),
    ],
)
def test_a_window_that_repeats_begins_at_its_next_turn(flags: list[str], start: str, now: str, expected: str) -> None:
    wish = ScheduledUpdate(start_time=datetime.fromisoformat(start), flags=flags)
    assert schedule.begins(wish, at(now)) == at(expected)


# What holds for every history of a window.


@dataclass
class Slurm:
    """One reservation, and what Slurm does about it by itself; `written` is what stands in the NodeSet's status."""

    now: int = START - 5000
    present: ReservationReport | None = None
    written: Condition | None = None
    made: list[Window] = field(default_factory=list)

    def pass_time(self, seconds: int) -> None:
        """Let Slurm forget what is over, and move ahead what repeats."""
        self.now += seconds
        while self.present is not None and self.present.end_time.number <= self.now:
            repeats = schedule.repeats(self.present.flags)
            if not repeats:
                self.present = None
                return
            period = schedule.period_of(ScheduledUpdate(start_time=datetime.now(UTC), flags=[*repeats]))
            assert period is not None
            start = self.present.start_time.number + int(period.total_seconds())
            length = self.present.end_time.number - self.present.start_time.number
            self.present = reservation(start, length // 60, tuple(hostlist.expand(self.present.node_list)), *repeats)

    def look(self, owner: NodeSet, nodes: tuple[str, ...], *, crash: bool) -> Decision:
        """Do what is decided, as Slurm takes it; a crash loses what would have been told."""
        decision = decide(owner, nodes, self.present, self.written, self.now)
        match decision.step:
            case Make(window=window) | Change(window=window):
                self._put(window, decision)
            case Drop(anew=anew):
                self.present = None
                if anew:
                    return self.look(owner, nodes, crash=crash)
            case None:
                pass
        if not crash:
            self.written = decision.condition
        return decision

    def _put(self, window: Window, decision: Decision) -> None:
        open_now = self.present is not None and self.present.start_time.number <= self.now
        if isinstance(decision.step, Change) and decision.step.only_nodes:
            assert self.present is not None
            start, end = self.present.start_time.number, self.present.end_time.number
            flags = tuple(flag for flag in self.present.flags if flag not in {"MAINT", "IGNORE_JOBS", "SPEC_NODES"})
            self.present = reservation(start, (end - start) // 60, window.nodes, *flags)
            return
        assert not open_now, "Slurm moves no window that is open"
        assert window.start + window.minutes * 60 > self.now, "Slurm takes none that is over"
        assert window.start >= self.now - 600 or schedule.FORCED in window.flags, "nor a start that is long past"
        assert schedule.FORCED not in window.flags or schedule.repeats(window.flags), (
            "which it forces only where it may"
        )
        self.made += [window] if isinstance(decision.step, Make) else []
        self.present = reservation(window.start, window.minutes, window.nodes, *window.flags[2:])


owners = st.sampled_from(
    [ONCE, LATER, DAILY, windowed("2026-11-18T02:00:00Z", "10m", "HOURLY"), node_set("n"), windowed(replicas=0)]
)
some_nodes = st.sampled_from([(), ("n-0",), NODES])
steps = st.lists(st.tuples(owners, some_nodes, st.integers(0, 4000), st.booleans()), max_size=25)


@given(steps)
@settings(max_examples=200, deadline=None)
def test_whatever_happens_slurm_takes_what_it_is_asked_for_and_comes_to_what_the_node_set_says(
    given_steps: list[tuple[NodeSet, tuple[str, ...], int, bool]],
) -> None:
    slurm = Slurm()
    for owner, nodes, seconds, crash in given_steps:
        slurm.pass_time(seconds)
        slurm.look(owner, nodes, crash=crash)
        slurm.look(owner, nodes, crash=False)
        settled = slurm.look(owner, nodes, crash=False)
        assert settled.step is None, "a second look finds nothing to do"


@given(st.lists(st.tuples(some_nodes, st.integers(0, 2000)), max_size=25))
@settings(max_examples=100, deadline=None)
def test_a_window_that_does_not_repeat_is_made_once(given_steps: list[tuple[tuple[str, ...], int]]) -> None:
    """However often Slurm forgets it: by itself, or because somebody deleted it."""
    slurm = Slurm()
    for number, (nodes, seconds) in enumerate(given_steps):
        slurm.pass_time(seconds)
        slurm.look(ONCE, nodes, crash=False)
        if number % 3 == 2:
            slurm.present = None
    assert len(slurm.made) <= 1


def test_minutes_are_whole_and_at_least_one() -> None:
    lengths = [schedule.minutes_of(ScheduledUpdate(start_time=datetime.now(UTC), duration=Duration.parse(text)))
               for text in ("1s", "60s", "61s", "2h")]  # fmt: skip
    assert lengths == [1, 1, 2, 120]
