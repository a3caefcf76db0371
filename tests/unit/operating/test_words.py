"""A plan in words: every step is told, with about whom it is and why."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace
from typing import Any

import pytest
from tests.unit.rendering.builders import node_set

from penstock.operator.nodeset import steps as vocabulary
from penstock.operator.nodeset.bounded import Act, Order
from penstock.operator.nodeset.plan import plan
from penstock.operator.nodeset.preview import Preview
from penstock.operator.nodeset.snapshot import Snapshot
from penstock.operator.nodeset.steps import Adopt, Blocked, Create, Drain, Leaving, Plan, Remove, Tend, Wait
from penstock.operator.nodeset.words import Step, steps
from penstock.operator.resources import Claim
from penstock.render.labels import CLUSTER
from penstock.render.seat import seat

from .test_plan_claims import claim, owner, with_claims
from .workers import (
    busy,
    drained,
    draining,
    ended,
    given,
    idle,
    on,
    pod,
    puzzling,
    spread,
    starting,
    stranger,
    unplaced,
)

TWO = given(2, idle(0))
"""Of two workers one is there."""
SEAT = seat(node_set("n"), 7)
CLAIM = Claim(metadata=pod("scratch-n-0").metadata)


@pytest.mark.parametrize(
    ("given_", "sentence"),
    [
        (Plan(create=[Create(SEAT)]), "make worker n-7: 2 workers are wanted"),
        (Plan(blocked=[Blocked(SEAT, "its claim goes")]), "worker n-7 cannot be made yet: its claim goes"),
        (
            Plan(adopt=[Adopt(pod("n-1")), Adopt(pod("n-2"))]),
            "take worker n-[1-2] over as it runs: it is a worker of this NodeSet by its labels, and nobody owns it",
        ),
        (Plan(drain=[Drain(pod("n-1"), "gpu-1", "too many")]), "let no more jobs come to gpu-1: too many"),
        (
            Plan(undrain=["gpu-1", "gpu-2"]),
            "give gpu-[1-2] back to Slurm: nobody wishes it drained any more, and the drain was ours",
        ),
        (Plan(remove=[Remove(pod("n-1"), "it has ended", drained=False)]), "delete worker n-1: it has ended"),
        (
            Plan(remove=[Remove(pod("n-1"), "too many", drained=True)]),
            "delete worker n-1: too many, if Slurm says so once more",
        ),
        (Plan(wait=[Wait(pod("n-1"), "jobs run")]), "wait for worker n-1: jobs run"),
        (Plan(tend=[Tend(CLAIM, request="9Gi")]), "change claim scratch-n-0: it shall have 9Gi"),
        (
            Plan(claims=[{"metadata": {"name": "scratch-n-3"}}]),
            "make claim scratch-n-3: its worker needs it, and it is not there",
        ),
        (Plan(conflicts=["claim x belongs to y"]), "claim x belongs to y"),
        (Plan(relabel={"n-1": {"a": "b", "c": "d"}}), "label worker n-1: a=b, c=d"),
        (
            Plan(jobs=[Order(Act.WARN, ("gpu-1",), 1, "note")]),
            "warn the jobs on gpu-1: drain.timeout is nearly over",
        ),
        (
            Plan(jobs=[Order(Act.REQUEUE, ("gpu-1", "gpu-3"), 1, "note")]),
            "requeue the jobs on gpu-[1,3]: drain.timeout is over",
        ),
        (
            Plan(jobs=[Order(Act.CANCEL, ("gpu-1", "gpu-2"), 1, "note")]),
            "cancel the jobs on gpu-[1-2]: drain.timeout is over",
        ),
        (Plan(more=True), "more workers are made after these"),
    ],
)  # fmt: skip
def test_each_step_is_a_sentence(given_: Plan, sentence: str) -> None:
    assert [one.sentence for one in steps(given_, TWO)] == [sentence]


def removed(name: str, *claims: str) -> Remove:
    """A worker that goes with its claims."""
    return Remove(pod(name), "too many", drained=False, claims=[Claim(metadata=pod(one).metadata) for one in claims])


@pytest.mark.parametrize(
    ("gone", "sentence"),
    [
        ([removed("n-1", "data-n-1")], "delete worker n-1, and claim data-n-1 with it: too many"),
        (
            [removed("n-1", "data-n-1", "scratch-n-1")],
            "delete worker n-1, and claims data-n-1 and scratch-n-1 with it: too many",
        ),
        (
            [removed(f"n-{one}", f"data-n-{one}", f"log-n-{one}", f"tmp-n-{one}") for one in (1, 2, 4)],
            "delete worker n-[1-2,4], and claims data-n-[1-2,4], log-n-[1-2,4] and tmp-n-[1-2,4] with it: too many",
        ),
    ],
)
def test_data_that_goes_with_a_worker_is_named(gone: list[Remove], sentence: str) -> None:
    """ST-3: who asks for a plan before they shrink a set should not find out afterwards."""
    assert [one.sentence for one in steps(Plan(remove=gone), TWO)] == [sentence]
    [told] = Preview(now=TWO, plan=Plan(remove=gone)).document["steps"]
    assert told["claims"] == [one.metadata.name for worker in gone for one in worker.claims]


def test_a_worker_that_takes_no_data_along_says_so_to_programs() -> None:
    """And steps that cannot take any say nothing of it."""
    decided = Plan(remove=[removed("n-1")], undrain=["n-0"])
    assert [one.get("claims") for one in Preview(now=TWO, plan=decided).document["steps"]] == [None, []]


def test_workers_of_machines_are_made_because_those_have_none() -> None:
    one, three = spread(["a"]), spread(["m-1", "m-2", "m-3"])
    assert [step.why for step in steps(plan(one), one)] == ['machine "a" has none']
    assert [step.why for step in steps(plan(three), three)] == ["machines m-[1-3] have none"]


def test_why_a_worker_leaves_is_said_before_how_far_that_has_come() -> None:
    now = given(1, busy(0), draining(1), busy(2))
    assert [step.sentence for step in steps(plan(now), now)] == [
        "let no more jobs come to n-2: 1 worker is wanted; penstock: scale-in",
        "wait for worker n-1: 1 worker is wanted; jobs still run on it",
    ]


@pytest.mark.parametrize(
    "now",
    [
        given(4, idle(0)),
        given(1, idle(0), drained(1), draining(2), busy(3), stranger(4), unplaced(5), puzzling(6)),
        given(1, idle(0), busy(1), slurm=False),
        given(2, drained(0), ended(1)),
        replace(given(2, idle(0), draining(1), drain={"timeout": "10m", "onTimeout": "Requeue"}), deleting=True),
        spread(["a", "b", "rack1.c", "rack2.c"], on("a"), on("z")),
        with_claims(4, starting(0), claims=[claim(1, going=True), claim(2, owner("StatefulSet", "uid-db"))]),
        with_claims(1, starting(0), drained(1), claims=[claim(1, size="1Mi")], policy=("Delete", "Delete")),
        given(1, idle(0, labels={CLUSTER: "lost"})),
    ],
)
def test_no_step_is_without_a_reason(now: Snapshot) -> None:
    """For a person, and in what programs get."""
    found = Preview(now=now, plan=plan(now)).document["steps"]
    assert found
    assert [one for one in found if not one["why"]] == []


def test_every_step_there_is_stands_in_that_table() -> None:
    """Who adds one to the plan is reminded to look at how it reads."""
    told = {
        "create",
        "blocked",
        "adopt",
        "drain",
        "undrain",
        "remove",
        "wait",
        "tend",
        "claims",
        "conflicts",
        "relabel",
        "more",
        "jobs",
    }
    silent = {"leaving", "again"}  # told by what is done about them
    assert {field.name for field in dataclasses.fields(vocabulary.Plan)} == told | silent


def test_workers_with_one_reason_are_one_line() -> None:
    many = Plan(remove=[Remove(pod(f"n-{number}"), "too many", drained=False) for number in range(1000)])
    assert [one.sentence for one in steps(many, TWO)] == ["delete worker n-[0-999]: too many"]


def test_a_step_that_is_not_known_here_is_told_all_the_same() -> None:
    @dataclass(frozen=True)
    class Later(Plan):
        reboot: Any = ()

    @dataclass(frozen=True)
    class Reboot:
        node: str
        why: str

    found = steps(Later(reboot=[Reboot("n-1", "the time is over")]), TWO)
    assert found == [Step("reboot", ("n-1",), "the time is over")]
    assert found[0].sentence == "reboot n-1: the time is over"


def test_those_who_leave_are_told_once() -> None:
    one = Leaving(pod("n-0"), vocabulary.Cause.SCALE_IN, "too many")
    assert steps(Plan(leaving=[one]), TWO) == []
