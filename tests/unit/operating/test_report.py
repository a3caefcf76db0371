"""What a NodeSet tells about its workers (NS-6)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from penstock.operator.conditions import Cause, Condition
from penstock.operator.nodeset.plan import plan
from penstock.operator.nodeset.report import available_in, conditions, counts
from penstock.operator.nodeset.revision import HASH, revision
from penstock.operator.nodeset.snapshot import Snapshot
from penstock.operator.nodeset.steps import Plan
from penstock.operator.resources import PodCondition

from .test_plan_claims import claim, owner, with_claims
from .workers import (
    SINCE,
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
    stranger,
    unplaced,
)

READY_AT = datetime.fromisoformat(SINCE)
LATER = READY_AT + timedelta(hours=1)
NO_ROOM = (PodCondition("PodScheduled", "False", "Unschedulable", "0/3 nodes are available"),)


def test_the_numbers_of_the_status() -> None:
    newest = {HASH: revision(given(3).node_set)}
    now = given(3, idle(0, labels=newest), busy(1), starting(2, labels=newest), leaving(idle(3, labels=newest)))
    assert counts(now, {}) == {
        "replicas": 4,
        "desired": 3,
        "updatedReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 2,
        "unavailableReplicas": 1,
        "observedGeneration": 0,
        "nodeSetHash": newest[HASH],
        "selector": "app.kubernetes.io/instance=n,app.kubernetes.io/name=slurmd",
        "slurmIdle": 2,
        "slurmAllocated": 1,
        "slurmDown": 0,
        "slurmDrain": 0,
    }


def test_slurms_numbers_count_what_nodes_do_and_how_many_drain() -> None:
    now = given(
        6, idle(0), busy(1), drained(2), draining(3), puzzling(4, "DOWN+NOT_RESPONDING"), puzzling(5, "SNORING"),
    )  # fmt: skip
    told = counts(now, {})
    assert (told["slurmIdle"], told["slurmAllocated"], told["slurmDown"], told["slurmDrain"]) == (2, 2, 1, 2)


def test_slurms_numbers_stay_while_slurm_is_away() -> None:
    """A zero would be a lie."""
    before = {"slurmIdle": 5, "slurmAllocated": 2, "slurmDown": 1, "replicas": 99}
    told = counts(given(1, idle(0), slurm=False), before)
    assert (told["slurmIdle"], told["slurmAllocated"], told["slurmDown"], told["slurmDrain"]) == (5, 2, 1, 0)
    assert told["replicas"] == 1


@pytest.mark.parametrize(("seconds", "age", "available"), [(0, 0, 1), (60, 59, 0), (60, 60, 1), (60, 61, 1)])
def test_a_worker_counts_when_it_has_been_ready_long_enough(seconds: int, age: int, available: int) -> None:
    now = replace(given(1, idle(0), minReadySeconds=seconds), moment=READY_AT + timedelta(seconds=age))
    told = counts(now, {})
    assert (told["availableReplicas"], told["unavailableReplicas"]) == (available, 1 - available)


@pytest.mark.parametrize(
    ("seconds", "age", "left"), [(0, 0, None), (60, 0, 60.0), (60, 59, 1.0), (60, 60, None), (60, 3600, None)]
)
def test_somebody_looks_again_when_the_next_worker_counts(seconds: int, age: int, left: float | None) -> None:
    now = given(2, idle(0), starting(1), minReadySeconds=seconds)
    assert available_in(replace(now, moment=READY_AT + timedelta(seconds=age))) == left


def told(now: Snapshot, decided: Plan | None = None, degraded: Cause | None = None) -> dict[str, tuple[str, str]]:
    """The conditions that hold, as reason and message; Ready also when it does not."""
    found = conditions(now, plan(now) if decided is None else decided, degraded=degraded)
    return {one.type: (one.reason, one.message) for one in found if one.status or one.type == "Ready"}


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (given(0), {"Ready": "Ready"}),
        (given(2, idle(0), busy(1)), {"Ready": "Ready"}),
        (given(2, idle(0), starting(1)), {"Ready": "WorkersMissing", "Progressing": "ScalingOut"}),
        (given(2, idle(0)), {"Ready": "WorkersMissing", "Progressing": "ScalingOut"}),
        (given(1, idle(0), idle(1)), {"Ready": "Ready", "Progressing": "Draining"}),
        (given(1, idle(0), draining(1)), {"Ready": "Ready", "Progressing": "Draining"}),
        (given(1, idle(0), drained(1)), {"Ready": "Ready", "Progressing": "ScalingIn"}),
        (given(1, idle(0), leaving(idle(1))), {"Ready": "Ready", "Progressing": "ScalingIn"}),
        # Replaced, not scaled in: there are as many as are wanted.
        (given(2, idle(0), leaving(idle(1))), {"Ready": "WorkersMissing", "Progressing": "ScalingOut"}),
        (given(2, idle(0), ended(1)), {"Ready": "WorkersMissing", "Progressing": "ScalingOut"}),
        (
            given(1, idle(0), idle(1), slurm=False),
            {"Ready": "Ready", "Progressing": "Draining", "Degraded": "SlurmUnknown"},
        ),
        (
            given(1, unplaced(0, conditions=NO_ROOM)),
            {"Ready": "WorkersMissing", "Progressing": "ScalingOut", "Degraded": "WorkersInTrouble"},
        ),
        (spread(["a", "b"], on("a"), on("b")), {"Ready": "Ready"}),
        # A cordoned machine keeps its worker, and nothing goes on there.
        (spread(["a"], on("a"), on("b"), keepers=["b"]), {"Ready": "Ready"}),
        (spread(["a"], on("a"), on("b")), {"Ready": "Ready", "Progressing": "Draining"}),
        (spread(["a"], on("a"), on("b", going=True)), {"Ready": "Ready", "Progressing": "ScalingIn"}),
        (spread(["a", "b"], on("a")), {"Ready": "WorkersMissing", "Progressing": "ScalingOut"}),
        # A seat whose claim, or whose name, is in the way.
        (
            with_claims(2, idle(0), claims=[claim(0), claim(1, going=True)]),
            {"Ready": "WorkersMissing", "Progressing": "ScalingOut", "Degraded": "ClaimsInTheWay"},
        ),
        (
            with_claims(2, idle(0), claims=[claim(0), claim(1, owner("StatefulSet", "uid-db"))]),
            {"Ready": "WorkersMissing", "Progressing": "ScalingOut", "Degraded": "ClaimsInTheWay"},
        ),
        # Its worker is there all the same; what belongs to somebody else is told.
        (
            with_claims(1, idle(0), claims=[claim(0, owner("StatefulSet", "uid-db"))]),
            {"Ready": "Ready", "Degraded": "ClaimsInTheWay"},
        ),
        (
            spread(["rack1.a", "rack1.b"]),
            {"Ready": "WorkersMissing", "Progressing": "ScalingOut", "Degraded": "NamesInTheWay"},
        ),
        # What Slurm does not say comes first.
        (
            with_claims(1, draining(1), idle(2), claims=[claim(0, owner("StatefulSet", "uid-db"))], slurm=False),
            {"Ready": "Ready", "Progressing": "Draining", "Degraded": "SlurmUnknown"},
        ),
    ],
)
def test_what_the_conditions_say(now: Snapshot, expected: dict[str, str]) -> None:
    assert {kind: reason for kind, (reason, _) in told(now).items()} == expected


def test_claims_in_the_way_are_named_once_each_and_only_some_of_them() -> None:
    """A thousand seats may wait; three of them say enough."""
    doomed = [claim(number, going=True) for number in range(5)]
    words = 'claim "data-n-{}" is being deleted; its worker comes when it is gone'
    told_of = "; ".join(words.format(number) for number in range(3))
    assert told(with_claims(5, claims=doomed))["Degraded"] == ("ClaimsInTheWay", told_of)
    taken = with_claims(1, claims=[claim(0, owner("StatefulSet", "uid-db"))])
    told_once = 'claim "data-n-0" belongs to StatefulSet "db"; delete or rename one of the two'
    assert told(taken)["Degraded"] == ("ClaimsInTheWay", told_once)
    assert told(with_claims(5, claims=[]))["Ready"][0] == "WorkersMissing"
    assert "Degraded" not in told(with_claims(5, claims=[]))


def test_the_worker_of_a_cordoned_machine_is_wanted_as_long_as_it_is_there() -> None:
    now = spread(["a"], on("a"), on("b"), keepers=["b", "c"])
    assert counts(now, {})["desired"] == 2
    assert counts(now, {})["unavailableReplicas"] == 0
    gone = replace(now, pods=[on("a").pod, on("b", going=True).pod])
    assert counts(gone, {})["desired"] == 1


def test_workers_with_one_trouble_are_one_line() -> None:
    now = given(0, *(draining(number) for number in range(1000)), slurm=False)
    reason, message = told(now)["Degraded"]
    assert reason == "SlurmUnknown"
    assert message == "n-[0-999]: Slurm does not say whether it is idle: connection refused"
    assert told(now)["Progressing"][1].startswith("1000 workers leave when they are drained. n-[0-999]: ")


def test_a_single_worker_is_not_spoken_of_as_many() -> None:
    message = told(given(1, idle(0), draining(1)))["Progressing"][1]
    assert message == "1 worker leaves when it is drained. n-1: jobs still run on it"
    [removed] = plan(given(1, idle(0), drained(1))).remove
    assert removed.why == "1 worker is wanted; Slurm says it is drained and idle"


def test_workers_whose_walls_do_not_hold_are_named_with_what_was_found() -> None:
    """However many there are, and though all are ready; who mends them must not have to look at pods."""
    found = "penstock-walls: rights: MKNOD is missing"
    broken = (drained(number, reason=found, extra="") for number in (1, 2))
    now = given(4, idle(0), *broken, drained(3, reason="mine", extra=""))
    assert told(now)["Degraded"] == ("WallsBroken", "n-[1-2]: rights: MKNOD is missing")
    assert "Degraded" not in told(given(1, idle(0)))


def test_many_troubles_are_counted() -> None:
    def trouble(number: int) -> tuple[PodCondition, ...]:
        return (PodCondition("PodScheduled", "False", "Unschedulable", f"trouble {number}"),)

    now = given(9, *(unplaced(number, conditions=trouble(number)) for number in range(5)))
    message = told(now)["Degraded"][1]
    assert message.count("Unschedulable") == 3
    assert message.endswith("; and 2 more")


def test_what_somebody_has_to_mend_comes_before_what_the_workers_say() -> None:
    cause = Cause("ReferenceMissing", "no such Controller")
    now = given(1, unplaced(0, conditions=NO_ROOM))
    assert told(now, degraded=cause)["Degraded"] == ("ReferenceMissing", "no such Controller")


def test_without_a_plan_the_number_alone_is_told() -> None:
    """Its Controller is missing, so nothing is decided."""
    assert told(given(1, idle(0), idle(1)), Plan())["Progressing"] == (
        "ScalingIn", "2 workers are there, 1 is wanted.",
    )  # fmt: skip


@pytest.mark.parametrize(("seconds", "reason"), [(10, None), (31, "SlurmUnknown")])
def test_a_worker_that_is_ready_and_unknown_to_slurm_is_told_of_though_nobody_leaves(
    seconds: int, reason: str | None
) -> None:
    """It takes no jobs, and Kubernetes thinks all is well; a moment after it got ready that is as it should be."""
    now = replace(given(2, idle(0), stranger(1)), moment=READY_AT + timedelta(seconds=seconds))
    told = _degraded(now)
    assert (told.status, told.reason if reason else None) == (reason is not None, reason)
    assert ("n-1: ready, but Slurm does not know its node" in told.message) == (reason is not None)


@pytest.mark.parametrize(("silence", "is_told"), [(None, False), (5.0, False), (60.0, True)])
def test_a_slurm_that_has_been_silent_for_a_minute_is_told_of(silence: float | None, is_told: bool) -> None:
    now = replace(given(1, idle(0)), slurm=None, slurm_silence=silence, slurm_trouble="no route")
    told = _degraded(now)
    assert told.status is is_told
    assert ("Slurm does not answer: no route" in told.message) == is_told


def _degraded(now: Snapshot) -> Condition:
    return next(one for one in conditions(now, plan(now), degraded=None) if one.type == "Degraded")
