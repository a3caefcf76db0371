"""How long Slurm doubts, by what people say in slurm.conf."""

from __future__ import annotations

import pytest

from penstock.operator.doubts import patience


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        (None, 22),
        ("", 22),
        ("BatchStartTimeout=60", 72),
        ("batchstarttimeout = 60 # slow prologs\nMessageTimeout=100", 72),
        ("BatchStartTimeout=1\nMessageTimeout=2", 5),
        ("BatchStartTimeout=soon", 22),
    ],
)
def test_slurms_own_times_count_and_two_seconds_more(said: str | None, seconds: float) -> None:
    """Of MessageTimeout Slurm counts ten seconds at most; what it would refuse is as if unsaid."""
    assert patience(said) == seconds
