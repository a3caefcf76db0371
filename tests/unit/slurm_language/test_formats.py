"""Times and sizes read and write as Slurm does, and usual mistakes are answered with the right text."""

import re
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.slurm.formats import (
    MAX_TIME,
    UNLIMITED,
    FormatError,
    TimeLimit,
    format_memory,
    format_time,
    parse_memory,
    parse_time,
)


# Text, seconds as time_str2secs() of Slurm 26.05 counts them, and the canonical text.
@pytest.mark.parametrize(
    ("text", "seconds", "canonical"),
    [
        ("0", 0, "00:00:00"),
        ("30", 1800, "00:30:00"),
        ("30:00", 1800, "00:30:00"),
        ("90:90", 5490, "01:31:30"),
        ("1:30:00", 5400, "01:30:00"),
        ("24:00:00", 86400, "1-00:00:00"),
        ("25:61:61", 93721, "1-02:02:01"),
        ("1-0", 86400, "1-00:00:00"),
        ("1-12", 129600, "1-12:00:00"),
        ("1-12:30", 131400, "1-12:30:00"),
        ("1-12:30:15", 131415, "1-12:30:15"),
        ("0-0:0:30", 30, "00:00:30"),
    ],
)
def test_a_time_is_what_slurm_counts(text: str, seconds: int, canonical: str) -> None:
    limit = parse_time(text)
    assert limit == timedelta(seconds=seconds)
    assert format_time(limit) == canonical


@pytest.mark.parametrize("text", ["INFINITE", "UNLIMITED", "infinite", "Unlimited"])
def test_no_limit_is_a_value_of_its_own(text: str) -> None:
    assert parse_time(text) is UNLIMITED
    assert format_time(parse_time(text)) == "UNLIMITED"


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("24h", "write 24:00:00 (24 hours) or 1-00:00:00 (one day)"),
        ("90m", "write 01:30:00 (one hour 30 minutes)"),
        ("2d", "write 2-00:00:00 (2 days)"),
        ("1h30m", "write 01:30:00 (one hour 30 minutes)"),
        ("36 hours", "write 36:00:00 (36 hours) or 1-12:00:00 (one day 12 hours)"),
        ("1.5h", "write 01:30:00 (one hour 30 minutes)"),
        ("45s", "write 00:00:45 (45 seconds)"),
        ("1w", "write 7-00:00:00 (7 days)"),
        ("1 month", "write minutes as 30"),
        ("1.2.3h", "write minutes as 30"),
        ("-1", "write UNLIMITED"),
        ("1-", "write minutes as 30"),
        (":30", "write minutes as 30"),
        ("1:2:3:4", "write minutes as 30"),
        (" 30", "write minutes as 30"),
        ("", "write minutes as 30"),
        ("-054", "write minutes as 30"),
        ("٣٠", "write minutes as 30"),
        ("30\n", "write minutes as 30"),
        ("9" * 30 + "h", "write minutes as 30"),
    ],
)
def test_a_wrong_time_is_answered_with_the_right_one(text: str, advice: str) -> None:
    with pytest.raises(FormatError) as refusal:
        parse_time(text, field="MaxTime")
    assert str(refusal.value).startswith(f'MaxTime "{text}" is not a Slurm time; {advice}')


@given(st.from_regex(r"[1-9][0-9]{0,3}(\.5)? ?(h|m|d|min|hours)", fullmatch=True))
@settings(max_examples=100, deadline=None)
def test_every_text_that_an_error_suggests_is_a_time_slurm_reads(text: str) -> None:
    with pytest.raises(FormatError) as refusal:
        parse_time(text)
    suggestions = re.findall(r"([0-9:-]+) \(", str(refusal.value))
    assert suggestions
    assert len({parse_time(suggestion) for suggestion in suggestions}) == 1


@pytest.mark.parametrize("text", ["99999999999", "24856-0", "9" * 5000])
def test_a_time_that_slurm_would_overflow_is_refused(text: str) -> None:
    """Slurm reads 99999999999 minutes as a negative number of seconds."""
    with pytest.raises(FormatError, match="write UNLIMITED"):
        parse_time(text)


def test_a_negative_time_cannot_be_written_and_a_fraction_of_a_second_rounds_up() -> None:
    with pytest.raises(FormatError, match="negative"):
        format_time(timedelta(seconds=-1))
    assert format_time(timedelta(seconds=0.2)) == "00:00:01"


@given(st.one_of(st.just(UNLIMITED), st.integers(0, int(MAX_TIME.total_seconds())).map(lambda s: timedelta(seconds=s))))
@settings(max_examples=100, deadline=None)
def test_a_written_time_reads_back(limit: TimeLimit) -> None:
    assert parse_time(format_time(limit)) == limit


@given(st.text(alphabet="0123456789:-hdm. ", max_size=10))
@settings(max_examples=100, deadline=None)
def test_any_text_is_a_time_with_one_canonical_form_or_a_clear_refusal(text: str) -> None:
    try:
        limit = parse_time(text)
    except FormatError as refusal:
        assert "write " in str(refusal)  # noqa: PT017 - a refusal is as good an answer as a time
        return
    assert parse_time(format_time(limit)) == limit


# Text, MiB as str_to_mbytes() of Slurm 26.05 counts them, and the canonical text.
@pytest.mark.parametrize(
    ("text", "mebibytes", "canonical"),
    [
        ("0", 0, "0M"),
        ("4096", 4096, "4G"),
        ("4G", 4096, "4G"),
        ("4g", 4096, "4G"),
        ("4GB", 4096, "4G"),
        ("100K", 1, "1M"),
        ("2000K", 2, "2M"),
        ("1536M", 1536, "1536M"),
        ("1024G", 1048576, "1T"),
        ("2T", 2097152, "2T"),
    ],
)
def test_a_size_is_what_slurm_counts(text: str, mebibytes: int, canonical: str) -> None:
    assert parse_memory(text) == mebibytes
    assert format_memory(mebibytes) == canonical


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("4Gi", "write 4G"),
        ("512MiB", "write 512M"),
        ("1.5T", "write 1536G"),
        ("4 GB", "write 4G"),
        ("1P", "write 1024T"),
        ("0.1K", "write 1M"),
        ("-1", "write a whole number with K, M, G or T, such as 4G"),
        ("lots", "write a whole number"),
        ("", "write a whole number"),
        ("4G\n", "write 4G"),
        ("4\N{KELVIN SIGN}", "write a whole number"),
    ],
)
def test_a_wrong_size_is_answered_with_the_right_one(text: str, advice: str) -> None:
    with pytest.raises(FormatError) as refusal:
        parse_memory(text, field="RealMemory")
    assert str(refusal.value).startswith(f'RealMemory "{text}" is not a Slurm memory size; {advice}')


@pytest.mark.parametrize("text", ["9999999999999T", "9" * 5000])
def test_a_size_that_slurm_would_overflow_is_refused(text: str) -> None:
    with pytest.raises(FormatError, match="more than Slurm can count"):
        parse_memory(text)


def test_a_negative_size_cannot_be_written() -> None:
    with pytest.raises(FormatError, match="negative"):
        format_memory(-1)


@given(st.one_of(st.integers(0, 2**63 - 1), st.integers(0, 2**40).map(lambda gibibytes: gibibytes * 1024)))
@settings(max_examples=100, deadline=None)
def test_a_written_size_reads_back(mebibytes: int) -> None:
    assert parse_memory(format_memory(mebibytes)) == mebibytes
