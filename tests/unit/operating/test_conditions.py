"""Conditions: three answers, and times that mean something (NS-6)."""

from __future__ import annotations

import pytest

from penstock.api.objects import Json
from penstock.operator.conditions import Cause, Condition, broken, counted, summary, troubled, updated, waiting

LATE = Cause("Late", "It is late.")
EARLIER, NOW = "2026-11-16T08:00:00Z", "2026-11-16T09:00:00Z"


def answers(conditions: list[Condition]) -> dict[str, tuple[bool | None, str]]:
    return {one.type: (one.status, one.reason) for one in conditions}


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        (summary(ready=None, well=""), [(True, "Ready"), (False, "Settled"), (False, "AsExpected")]),
        (summary(ready=LATE, well=""), [(False, "Late"), (False, "Settled"), (False, "AsExpected")]),
        (summary(ready=None, progressing=LATE, well=""), [(True, "Ready"), (True, "Late"), (False, "AsExpected")]),
        (summary(ready=None, degraded=LATE, well=""), [(True, "Ready"), (False, "Settled"), (True, "Late")]),
        (waiting(LATE), [(False, "Late"), (True, "Late"), (False, "AsExpected")]),
        (broken(LATE), [(False, "Late"), (False, "Settled"), (True, "Late")]),
    ],
)
def test_ready_progressing_and_degraded_are_independent(
    conditions: list[Condition], expected: list[tuple[bool, str]]
) -> None:
    assert answers(conditions) == dict(zip(["Ready", "Progressing", "Degraded"], expected, strict=True))


def written(condition: Condition, *before: Json, generation: int = 3) -> Json:
    [one] = updated(before, [condition], generation=generation, now=NOW)
    return one


def was(status: str, **more: str) -> Json:
    return {"type": "Ready", "status": status, "lastTransitionTime": EARLIER, **more}


@pytest.mark.parametrize(
    ("before", "status", "since"),
    [
        ([], True, NOW),
        ([was("True")], True, EARLIER),
        ([was("True", reason="Other", message="Other.")], True, EARLIER),
        ([was("False")], True, NOW),
        ([was("True")], None, NOW),
        ([was("Unknown")], None, EARLIER),
        ([{"type": "Ready", "status": "True"}], True, NOW),
        ([was("True") | {"type": "Degraded"}], True, NOW),
    ],
)
def test_the_time_moves_only_with_the_status(before: list[Json], status: bool | None, since: str) -> None:
    assert written(Condition("Ready", status, "Why", "Because."), *before)["lastTransitionTime"] == since


def test_a_condition_is_written_as_kubernetes_reads_it() -> None:
    assert written(Condition("Ready", None, "Why", "Because."), generation=7) == {
        "type": "Ready",
        "status": "Unknown",
        "reason": "Why",
        "message": "Because.",
        "observedGeneration": 7,
        "lastTransitionTime": NOW,
    }


@pytest.mark.parametrize(("count", "words"), [(0, "0 jobs are left"), (1, "1 job is left"), (2, "2 jobs are left")])
def test_one_is_not_spoken_of_as_many(count: int, words: str) -> None:
    assert counted(count, "job is left", "jobs are left") == words


def test_a_message_has_a_bound() -> None:
    """The API server refuses more, and with it the whole status."""
    assert len(written(Condition("Ready", True, "Why", "x" * 40000))["message"]) == 32768


def test_trouble_takes_nothing_back_that_still_holds() -> None:
    """What ran goes on running, and what is known of its configuration stays known."""
    written = updated(
        [],
        [*summary(ready=None, well="ran"), Condition("ConfigurationValid", False, "Refused", "its words")],
        generation=1,
        now="then",
    )
    told = {one.type: (one.status, one.reason) for one in troubled(written, Cause("Refused", "no"))}
    assert told == {
        "Ready": (True, "Ready"),
        "Progressing": (False, "Settled"),
        "Degraded": (True, "Refused"),
        "ConfigurationValid": (False, "Refused"),
    }
    assert [one.status for one in troubled([], Cause("Refused", "no")) if one.type == "Ready"] == [False]
