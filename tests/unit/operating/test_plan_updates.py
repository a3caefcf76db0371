"""Which workers leave for a new template (NS-5; facts/slinky.md 3.2.8)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest
from tests.unit.rendering.builders import node_set

from penstock.operator.nodeset.plan import plan
from penstock.operator.nodeset.revision import HASH
from penstock.operator.nodeset.snapshot import Snapshot

from .workers import (
    PERSON,
    SINCE,
    Worker,
    busy,
    drained,
    draining,
    ended,
    given,
    idle,
    leaving,
    on,
    puzzling,
    spread,
    starting,
    told,
)

NEWEST = given(0).revision
OURS = f"penstock: update to {NEWEST}"


def old(worker: Worker) -> Worker:
    return _of(worker, "0ld0ld0ld0")


def new(worker: Worker) -> Worker:
    return _of(worker, NEWEST)


def _of(worker: Worker, revision: str) -> Worker:
    meta = msgspec.structs.replace(worker.pod.metadata, labels=worker.pod.metadata.labels | {HASH: revision})
    return Worker(msgspec.structs.replace(worker.pod, metadata=meta), worker.report)


def rolling(amount: int | str) -> dict[str, Any]:
    return {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": amount}}}


def going(now: Snapshot) -> list[str]:
    return [one.pod.metadata.name for one in plan(now).leaving]


@pytest.mark.parametrize(
    ("amount", "workers", "leave"),
    [
        (1, [old(idle(0)), old(idle(1)), old(idle(2)), old(idle(3))], ["n-3"]),
        ("25%", [old(idle(0)), old(idle(1)), old(idle(2)), old(idle(3))], ["n-3"]),
        ("30%", [old(idle(0)), old(idle(1)), old(idle(2)), old(idle(3))], ["n-3", "n-2"]),
        (9, [old(idle(0)), old(busy(1)), new(idle(2))], ["n-0", "n-1"]),
        # Idle ones first, and one that drains for it already goes on doing so.
        (1, [old(idle(0)), old(busy(1))], ["n-0"]),
        (1, [old(idle(0)), old(draining(1, reason=OURS))], ["n-1"]),
        # Who is missing, or new and not there yet, uses up what may be missing.
        (1, [old(idle(0)), new(starting(1))], []),
        (2, [old(idle(0)), new(starting(1))], ["n-0"]),
        (1, [old(idle(0)), leaving(old(idle(1)))], []),
        # One that is not well serves nobody: it goes at once, but is missing all the same. It may have come a moment
        # ago for the edit before this one (seeds 156357, 158508).
        (1, [old(starting(0)), old(starting(1)), old(idle(2))], ["n-0", "n-1"]),
        (3, [old(starting(0)), old(starting(1)), old(idle(2))], ["n-0", "n-1", "n-2"]),
        (1, [new(idle(0)), new(idle(1))], []),
        # What ended is replaced as it is in any case, not drained.
        (1, [old(ended(0)), new(idle(1))], []),
    ],
)
def test_as_many_leave_as_may_be_missing(amount: int | str, workers: list[Worker], leave: list[str]) -> None:
    assert sorted(going(given(len(workers), *workers, **rolling(amount)))) == sorted(leave)


@pytest.mark.parametrize("replicas", [0, 1, 40])
@pytest.mark.parametrize(
    ("amount", "there", "keepers", "leave"),
    [
        ("25%", "abcd", "", 1),
        ("50%", "abcd", "", 2),
        ("51%", "abcd", "", 3),
        ("100%", "abcd", "", 4),
        (3, "abcd", "", 3),
        # A machine without its worker uses up what may be missing; one that only keeps its worker counts as long as
        # that is there.
        ("50%", "abc", "", 1),
        ("25%", "abc", "", 0),
        ("75%", "ab", "", 1),
        ("50%", "abcdef", "ef", 3),
        ("50%", "abcd", "ef", 2),
    ],
)
def test_where_each_machine_has_a_worker_a_percentage_is_one_of_machines(
    replicas: int, amount: int | str, there: str, keepers: str, leave: int
) -> None:
    """Of `abcd`, and of those that keep theirs; whatever `replicas` says, which counts for nothing there."""
    workers = [old(on(name)) for name in there]
    made = node_set("n", scalingMode="DaemonSet", replicas=replicas, **rolling(amount))
    now = replace(spread("abcd", *workers, keepers=keepers), node_set=made)
    assert len(going(now)) == leave


def test_an_update_drains_first() -> None:
    now = given(2, old(busy(0)), old(busy(1)), **rolling(1))
    assert [(one.node, one.why) for one in plan(now).drain] == [("n-1", OURS)]
    now = given(2, old(busy(0)), old(draining(1, reason=OURS)), **rolling(1))
    assert told(plan(now)) == ["wait for n-1"]
    now = given(2, old(busy(0)), old(drained(1, reason=OURS)), **rolling(1))
    assert told(plan(now)) == ["remove n-1 if drained"]


def test_an_edit_that_is_taken_back_gives_nodes_back() -> None:
    assert told(plan(given(1, new(draining(0, reason=OURS))))) == ["give back n-0"]


def test_a_persons_drain_does_not_save_a_worker_from_an_update_nor_is_it_undone() -> None:
    now = given(1, old(drained(0, reason=PERSON, extra="")), **rolling(1))
    assert told(plan(now)) == ["remove n-0 if drained"]


def test_nothing_is_updated_while_slurm_is_away() -> None:
    now = given(2, old(idle(0)), old(idle(1)), slurm=False, **rolling(2))
    assert told(plan(now)) == ["wait for n-1 (unknown)", "wait for n-0 (unknown)"]


def test_on_delete_waits_for_people() -> None:
    now = given(2, old(idle(0)), old(starting(1)), updateStrategy={"type": "OnDelete"})
    assert told(plan(now)) == []


def test_in_its_window_each_worker_is_updated() -> None:
    window: dict[str, Any] = {
        "updateStrategy": {
            "type": "ScheduledUpdate",
            "scheduledUpdate": {"startTime": "2026-11-16T08:00:00Z", "duration": "30m"},
        }
    }
    inside = old(puzzling(0, "IDLE+MAINTENANCE"))
    assert inside.report is not None
    ours = Worker(inside.pod, msgspec.structs.replace(inside.report, reservation="SlurmOperatorMaint-n"))
    theirs = old(puzzling(1, "IDLE+MAINTENANCE"))
    assert going(given(4, ours, theirs, old(idle(2)), old(starting(3)), **window)) == ["n-3", "n-0"]


def test_shrinking_takes_old_workers_first_and_an_update_waits_its_turn() -> None:
    now = given(2, new(idle(2)), old(idle(0)), new(idle(1)), **rolling(1))
    assert going(now) == ["n-0"]


@pytest.mark.parametrize(("age", "leave"), [(59, []), (60, ["n-0"])])
def test_a_new_worker_counts_when_it_has_been_ready_long_enough(age: int, leave: list[str]) -> None:
    now = given(2, old(idle(0)), new(idle(1)), minReadySeconds=60, **rolling(1))
    moment = datetime.fromisoformat(SINCE) + timedelta(seconds=age)
    assert going(replace(now, moment=moment)) == leave
