"""Who of the busy ones leaves first: those whose jobs end first, as far as anybody knows (NS-3).

The rest of the order is in `test_plan.py`.
"""

from __future__ import annotations

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from penstock.operator.nodeset.order import DEADLINE, DELETION_COST, cost
from penstock.operator.nodeset.plan import plan

from .workers import PERSON, Worker, busy, draining, given, idle, stranger


def until(deadline: str | None) -> dict[str, dict[str, str]]:
    """What is written on a worker whose jobs end then."""
    return {} if deadline is None else {"annotations": {DEADLINE: deadline}}


def first(*workers: Worker) -> list[str]:
    """Who leaves, if one of them must."""
    return [one.pod.metadata.name for one in plan(given(len(workers) - 1, *workers)).leaving]


EIGHT, NINE, TEN = (f"2026-11-16T{hour}:00:00Z" for hour in ("08", "09", "10"))
END_OF_TIME = "9999-12-31T23:59:59-23:59"


@pytest.mark.parametrize(
    ("sooner", "later"),
    [
        (EIGHT, NINE),
        ("2026-11-16T08:59:59.9Z", NINE),
        ("2026-11-16T08:00:00.999999999Z", "2026-11-16T08:00:01Z"),
        # The moment counts, not the text.
        ("2026-11-16T09:30:00+02:00", EIGHT),
        (EIGHT, "2026-11-16T07:30:00-01:00"),
        ("2026-11-17T00:30:00+14:00", "2026-11-15T23:30:00-12:00"),
        ("2026-11-16T09:30:00+02:00", "2026-11-16T08:30:00+00:30"),
        # Without a zone it is UTC; small letters, and blanks around it, do no harm.
        ("2026-11-16T08:30:00", NINE),
        (NINE, "2026-11-16T09:30:00"),
        ("2026-11-16 08:30:00", NINE),
        ("2026-11-16t08:30:00z", NINE),
        (" 2026-11-16T08:30:00Z\n", NINE),
        # Long ago, or in a far future, is a moment like others.
        ("0001-01-01T00:00:00+23:59", EIGHT),
        (EIGHT, END_OF_TIME),
        # What nobody says, or nobody can read, is later than everything else.
        (TEN, None),
        (END_OF_TIME, None),
        (TEN, ""),
        (TEN, "soon"),
        (TEN, "0 seconds"),
        (TEN, "1794816000"),
        (TEN, "2026-11-31T08:00:00Z"),
        (TEN, "2026-11-16T08:00:00+99:00"),
        (TEN, "07:00:00Z"),
        (END_OF_TIME, "-" * 1000),
    ],
)
def test_of_two_busy_workers_the_one_leaves_whose_jobs_end_sooner(sooner: str, later: str | None) -> None:
    """Whatever their ordinals are."""
    assert first(busy(0, **until(sooner)), busy(1, **until(later))) == ["n-0"]
    assert first(busy(0, **until(later)), busy(1, **until(sooner))) == ["n-1"]


@pytest.mark.parametrize(
    ("one", "other"),
    [(None, "soon"), ("", "soon"), (EIGHT, "2026-11-16T09:00:00+01:00"), (EIGHT, "2026-11-16T08:00:00")],
)
def test_where_deadlines_do_not_differ_ordinals_decide(one: str | None, other: str) -> None:
    assert first(busy(0, **until(one)), busy(1, **until(other))) == ["n-1"]
    assert first(busy(0, **until(other)), busy(1, **until(one))) == ["n-1"]


@pytest.mark.parametrize(
    ("workers", "leaves"),
    [
        # Nothing ends on an idle worker: what is written there is from yesterday.
        ([idle(0), idle(1, **until(EIGHT))], "n-1"),
        ([idle(0, **until(EIGHT)), idle(1)], "n-1"),
        ([busy(0, **until(EIGHT)), idle(1, **until(NINE))], "n-1"),
        ([busy(0, **until(EIGHT)), idle(1)], "n-1"),
        # Of whom Slurm says nothing may be busy.
        ([stranger(0, **until(EIGHT)), stranger(1)], "n-0"),
        ([stranger(0, **until(EIGHT)), busy(1, **until(NINE))], "n-0"),
        # What a person says about a worker comes before, what one did in Slurm after.
        ([busy(0, **until(NINE)), busy(1, annotations={DEADLINE: EIGHT, DELETION_COST: "1"})], "n-0"),
        ([busy(0, **until(EIGHT)), draining(1, reason=PERSON, extra="", **until(NINE))], "n-0"),
    ],
)
def test_where_deadlines_stand_in_the_order(workers: list[Worker], leaves: str) -> None:
    for order in (workers, workers[::-1]):
        assert first(*order) == [leaves]


def test_many_leave_in_the_order_of_their_deadlines() -> None:
    texts = [None, TEN, "2026-11-16T09:30:00+02:00", "one day", EIGHT, "2026-11-16T09:00:00"]
    now = given(0, *(busy(number, **until(text)) for number, text in enumerate(texts)))
    ordered = sorted(now.pods, key=lambda pod: cost(now, pod))
    assert [pod.metadata.name for pod in ordered] == ["n-2", "n-4", "n-5", "n-1", "n-3", "n-0"]


@for_all(st.lists(st.text() | st.datetimes(timezones=st.none() | st.timezones()).map(str), min_size=2, max_size=5))
def test_whatever_is_written_there_workers_can_be_put_in_order(texts: list[str]) -> None:
    """One order, however they are listed."""
    now = given(0, *(busy(number, **until(text)) for number, text in enumerate(texts)))
    there, back = ([*now.pods], [*now.pods][::-1])
    for pods in (there, back):
        pods.sort(key=lambda pod: cost(now, pod))
    assert there == back
