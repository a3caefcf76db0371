"""A plan in words: every step is told, with about whom it is and why."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import pytest
from tests.unit.rendering.builders import node_set

from penstock.operator.conditions import Cause
from penstock.operator.nodeset import steps as vocabulary
from penstock.operator.nodeset.bounded import Act, Order
from penstock.operator.nodeset.plan import plan
from penstock.operator.nodeset.preview import Preview
from penstock.operator.nodeset.revision import HASH, OURS
from penstock.operator.nodeset.steps import Adopt, Blocked, Create, Drain, Leaving, Plan, Remove, Tend, Wait
from penstock.operator.nodeset.words import Step, steps
from penstock.operator.resources import Claim
from penstock.render.seat import seat

from .workers import busy, drained, draining, given, idle, pod

SEAT = seat(node_set("n"), 7)
CLAIM = Claim(metadata=pod("scratch-n-0").metadata)


@pytest.mark.parametrize(
    ("given_", "sentence"),
    [
        (Plan(create=[Create(SEAT)]), "make worker n-7"),
        (Plan(blocked=[Blocked(SEAT, "its claim goes")]), "worker n-7 cannot be made yet: its claim goes"),
        (
            Plan(adopt=[Adopt(pod("n-1")), Adopt(pod("n-2"))]),
            "take worker n-[1-2] over as it runs: it is a worker of this NodeSet by its labels, and nobody owns it",
        ),
        (Plan(drain=[Drain(pod("n-1"), "gpu-1", "too many")]), "let no more jobs come to gpu-1: too many"),
        (Plan(undrain=["gpu-1", "gpu-2"]), "give gpu-[1-2] back to Slurm"),
        (Plan(remove=[Remove(pod("n-1"), "it has ended", drained=False)]), "delete worker n-1: it has ended"),
        (
            Plan(remove=[Remove(pod("n-1"), "too many", drained=True)]),
            "delete worker n-1: too many, if Slurm says so once more",
        ),
        (Plan(wait=[Wait(pod("n-1"), "jobs run")]), "worker n-1 waits before it goes: jobs run"),
        (Plan(tend=[Tend(CLAIM, request="9Gi")]), "change claim scratch-n-0: it shall have 9Gi"),
        (Plan(claims=[{"metadata": {"name": "scratch-n-3"}}]), "make claim scratch-n-3"),
        (Plan(conflicts=["claim x belongs to y"]), "claim x belongs to y"),
        (Plan(relabel={"n-1": {"a": "b", "c": "d"}}), "label worker n-1: a=b, c=d"),
        (
            Plan(jobs=[Order(Act.CANCEL, ("gpu-1", "gpu-2"), 1, "note")]),
            "do not let the jobs on gpu-[1-2] go on: drain.timeout is over; cancel the jobs there",
        ),
        (Plan(more=True), "more workers are made after these"),
    ],
)  # fmt: skip
def test_each_step_is_a_sentence(given_: Plan, sentence: str) -> None:
    assert [one.sentence for one in steps(given_)] == [sentence]


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
    assert [one.sentence for one in steps(many)] == ["delete worker n-[0-999]: too many"]


def test_a_step_that_is_not_known_here_is_told_all_the_same() -> None:
    @dataclass(frozen=True)
    class Later(Plan):
        requeue: Any = ()

    @dataclass(frozen=True)
    class Requeue:
        node: str
        why: str

    found = steps(Later(requeue=[Requeue("n-1", "the time is over")]))
    assert found == [Step("requeue", ("n-1",), "the time is over")]
    assert found[0].sentence == "requeue n-1: the time is over"


def test_a_real_plan_tells_about_everybody_who_leaves() -> None:
    now = given(1, idle(0), busy(1), draining(2), drained(3))
    page = Preview(now=now, plan=plan(now)).page("nodeset/n")
    assert page.startswith("nodeset/n: 1 workers are wanted, 4 are there, 4 are ready; the newest template is ")
    for name in ("n-0", "n-2", "n-3"):
        assert name in page
    assert "1. " in page


def test_nothing_to_do_is_said_and_so_is_a_silent_slurm() -> None:
    now = given(1, idle(0), slurm=False)
    page = Preview(now=now, plan=Plan(), trouble=Cause("Missing", "its Controller is missing")).page("nodeset/n")
    assert page.endswith("nothing is to be done\n")
    assert "trouble: its Controller is missing\n" in page
    assert "Slurm does not answer: connection refused\n" in page


def test_workers_of_an_older_template_are_counted_though_nothing_can_be_done_about_them_yet() -> None:
    old = idle(0, labels={HASH: "old", **OURS})
    preview = Preview(now=given(2, old, idle(1)), plan=Plan())
    assert "1 of them are of an older template\n" in preview.page("nodeset/n")
    assert preview.document["workers"]["old"] == 1


def test_programs_get_the_same() -> None:
    now = given(0, drained(0))
    found = Preview(now=now, plan=plan(now)).document
    assert found["workers"] == {"wanted": 0, "there": 1, "ready": 1, "old": 0}
    assert found["slurm"] == {"answers": True, "trouble": None}
    assert [(one["do"], one["about"]) for one in found["steps"]] == [("remove", ["n-0"])]
    assert found["trouble"] is None


def test_those_who_leave_are_told_once() -> None:
    one = Leaving(pod("n-0"), vocabulary.Cause.SCALE_IN, "too many")
    assert steps(Plan(leaving=[one])) == []
