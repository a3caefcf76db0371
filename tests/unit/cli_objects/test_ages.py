"""Ages read as kubectl's, since people compare."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.cli.objects.ages import age, moment, seconds_of, span

from .world import NOW, ago

MINUTE, HOUR, DAY = 60, 3600, 86400


@pytest.mark.parametrize(
    ("seconds", "written"),
    [
        (-2, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (1, "1s"),
        (119, "119s"),
        (120, "2m"),
        (2 * MINUTE + 1, "2m1s"),
        (10 * MINUTE - 1, "9m59s"),
        (10 * MINUTE, "10m"),
        (10 * MINUTE + 30, "10m"),
        (3 * HOUR - 1, "179m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + 61, "3h1m"),
        (8 * HOUR, "8h"),
        (48 * HOUR - 1, "47h"),
        (2 * DAY, "2d"),
        (2 * DAY + 3 * HOUR, "2d3h"),
        (8 * DAY, "8d"),
        (2 * 365 * DAY - 1, "729d"),
        (2 * 365 * DAY, "2y"),
        (2 * 365 * DAY + DAY, "2y1d"),
        (8 * 365 * DAY, "8y"),
    ],
)
def test_a_span_is_written_as_kubectl_writes_it(seconds: int, written: str) -> None:
    assert span(seconds) == written


@given(st.integers(0, 10**9))
def test_what_is_written_is_at_most_what_is_meant(seconds: int) -> None:
    """Only the rest is cut off: a tenth at most, and never the first figure."""
    written = span(seconds).replace("y", "*31536000+").replace("d", "*86400+").replace("h", "*3600+")
    told = eval(written.replace("m", "*60+").replace("s", "*1+") + "0")  # noqa: S307 - our own figures
    assert told <= seconds < told * 1.51 + 1


def test_an_age_counts_from_a_timestamp() -> None:
    assert age(ago(minutes=5, seconds=7), NOW) == "5m7s"
    assert age("2026-11-16T11:59:00.123456Z", NOW) == "59s"
    assert age("", NOW) == age(None, NOW) == age("yesterday", NOW) == "<unknown>"
    assert moment("2026-11-16T12:00:00") == NOW


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("5m", 300), ("1h30m", 5400), ("500ms", 0.5), ("10", 10), ("-1", -1), ("1.5h", 5400)],
)
def test_a_length_of_time_is_read(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "5 m", "5x", "m5"])
def test_what_is_no_length_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no length of time; write for instance 90s"):
        seconds_of(text)
