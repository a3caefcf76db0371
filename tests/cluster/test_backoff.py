"""Waits grow, have a bound, and differ between those who wait."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.cluster.backoff import Backoff

failures = st.integers(min_value=1, max_value=10**9)


@given(failures, st.floats(min_value=0, max_value=1))
def test_a_wait_is_between_half_and_all_of_its_step(count: int, chance: float) -> None:
    backoff = Backoff(first=0.5, longest=60.0, chance=lambda: chance)
    whole = min(60.0, 0.5 * 2.0 ** min(count - 1, 100))
    assert whole / 2 <= backoff.delay(count) <= whole


def test_no_failure_is_no_wait() -> None:
    assert Backoff().delay(0) == 0
