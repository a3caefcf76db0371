"""A plan on a page: how a NodeSet is, what is to be done about it, and the same for programs."""

from __future__ import annotations

import pytest

from penstock.api.objects import Json
from penstock.operator.conditions import Cause
from penstock.operator.nodeset.plan import plan
from penstock.operator.nodeset.preview import Preview
from penstock.operator.nodeset.revision import HASH, OURS
from penstock.operator.nodeset.steps import Plan

from .workers import busy, drained, draining, given, idle


def test_a_real_plan_tells_about_everybody_who_leaves() -> None:
    now = given(1, idle(0), busy(1), draining(2), drained(3))
    page = Preview(now=now, plan=plan(now)).page("nodeset/n")
    assert page.startswith("nodeset/n: 1 worker is wanted, 4 are there, 4 are ready; the newest template is ")
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
    assert "1 of them is of an older template\n" in preview.page("nodeset/n")
    assert preview.document["workers"]["old"] == 1


@pytest.mark.parametrize(
    ("strategy", "one", "several"),
    [
        (
            {"type": "ScheduledUpdate", "scheduledUpdate": {"startTime": "2026-11-16T08:00:00Z"}},
            "it is replaced in the maintenance window (condition ReservationCreated tells when)",
            "they are replaced in the maintenance window (condition ReservationCreated tells when)",
        ),
        (
            {"type": "OnDelete"},
            "updateStrategy OnDelete: delete its pod to have it replaced",
            "updateStrategy OnDelete: delete their pods to have them replaced",
        ),
    ],
)
def test_old_workers_that_wait_for_something_else_say_for_what(strategy: Json, one: str, several: str) -> None:
    """NS-5: nothing is to be done now, and people wonder when."""
    first, second = (idle(number, labels={HASH: "old", **OURS}) for number in (0, 1))
    for workers, words in (
        ((first, idle(1)), f"1 of them is of an older template; {one}"),
        ((first, second), f"2 of them are of an older template; {several}"),
    ):
        now = given(2, *workers, updateStrategy=strategy)
        page = Preview(now=now, plan=plan(now)).page("nodeset/n")
        assert page.splitlines()[1:] == [words, "nothing is to be done"]


def test_programs_get_the_same() -> None:
    now = given(0, drained(0))
    found = Preview(now=now, plan=plan(now)).document
    assert found["workers"] == {"wanted": 0, "there": 1, "ready": 1, "old": 0}
    assert found["slurm"] == {"answers": True, "trouble": None}
    assert [(one["do"], one["about"]) for one in found["steps"]] == [("remove", ["n-0"])]
    assert found["trouble"] is None
