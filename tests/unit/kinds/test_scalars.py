"""Quantities, durations and percentages mean what they mean to Kubernetes, and are written back as written."""

import re
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.api import patterns
from penstock.api.scalars import Duration, IntOrPercent, Quantity, ScalarError, decode_scalar, encode_scalar

EXACT = {"": 1, "k": 1000, "M": 1000**2, "G": 1000**3, "T": 1000**4, "P": 1000**5, "E": 1000**6}
BINARY = {"Ki": 1024, "Mi": 1024**2, "Gi": 1024**3, "Ti": 1024**4, "Pi": 1024**5, "Ei": 1024**6}

junk = st.text(alphabet="0123456789.+-eEinumkMGTPKhs %µ\n", max_size=8)
numbers = st.from_regex(r"[0-9]{1,6}(\.[0-9]{0,3})?|\.[0-9]{1,3}", fullmatch=True, alphabet="0123456789.")
suffixes = st.sampled_from([*EXACT, *BINARY, "n", "u", "m", "e3", "E-2", "e+10"])
quantities = st.builds("{}{}{}".format, st.sampled_from(["", "+", "-"]), numbers, suffixes)
units = st.builds("{}{}".format, numbers, st.sampled_from(["ns", "us", "µs", "ms", "s", "m", "h"]))
durations = st.lists(units, min_size=1, max_size=4).map("".join) | st.just("0")


def refusal(parse: Callable[[str], object], text: str) -> str:
    """Why a text is refused; nothing when it is not."""
    try:
        parse(text)
    except ScalarError as problem:
        return str(problem)
    return ""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", "0"),
        ("4", "4"),
        ("0.5", "0.5"),
        (".5", "0.5"),
        ("5.", "5"),
        ("+1", "1"),
        ("-1", "-1"),
        ("500m", "0.5"),
        ("1500u", "0.0015"),
        ("1n", "0.000000001"),
        ("1.5k", "1500"),
        ("1e3", "1000"),
        ("1E3", "1000"),
        ("12e-1", "1.2"),
        ("1e+2", "100"),
        ("1E", "1000000000000000000"),  # exa, not an exponent without digits
        ("1Ei", "1152921504606846976"),
        ("0.1Ki", "102.4"),
        ("-2Gi", "-2147483648"),
    ],
)
def test_a_quantity_is_read_as_kubernetes_reads_it(text: str, value: str) -> None:
    assert Quantity.parse(text).value == Decimal(value)
    assert re.fullmatch(patterns.QUANTITY, text)


@pytest.mark.parametrize(
    "text",
    ["", " ", "1 Gi", " 1Gi", "1Gi ", "1Gi\n", "Gi", ".", "1..2", "1K", "1ki", "1mi", "1ni", "1gi", "1GB", "1e", "1ei",
     "1e3Gi", "0x10", "1_000", "1,5", "++1", "1e9999", "٣"],
)  # fmt: skip
def test_what_kubernetes_refuses_is_no_quantity(text: str) -> None:
    with pytest.raises(ScalarError, match="is not a quantity; write a number with a unit"):
        Quantity.parse(text)
    assert not re.fullmatch(patterns.QUANTITY, text)


@given(st.integers(-(10**6), 10**6), st.sampled_from([*EXACT.items(), *BINARY.items()]))
def test_a_unit_multiplies(count: int, unit: tuple[str, int]) -> None:
    suffix, scale = unit
    assert Quantity.parse(f"{count}{suffix}").value == count * scale


def test_the_same_amount_is_equal_however_it_is_written() -> None:
    assert Quantity.parse("1Gi") == Quantity.parse("1024Mi") == Quantity.parse(1073741824)
    assert Quantity.parse("0.5") == Quantity.parse("500m") == Quantity.parse(0.5)
    assert Quantity.parse("1G") != Quantity.parse("1Gi")
    assert len({Quantity.parse("1Gi"), Quantity.parse("1024Mi")}) == 1


def test_a_quantity_is_no_number_of_another_kind() -> None:
    assert Quantity.parse("0") != Duration.parse("0")
    assert Quantity.parse("1") != 1


@pytest.mark.parametrize(
    ("text", "mebibytes", "whole"),
    [("1Gi", 1024, 2**30), ("1G", 953, 10**9), ("1048575", 0, 1048575), ("500m", 0, 1), ("2", 0, 2), ("1001m", 0, 2)],
)
def test_memory_is_rounded_down_and_cpus_are_rounded_up(text: str, mebibytes: int, whole: int) -> None:
    """A Slurm node never promises memory that its pod has not got; half a CPU still runs a task."""
    assert (Quantity.parse(text).mebibytes, Quantity.parse(text).whole) == (mebibytes, whole)


@settings(max_examples=50)
@given(quantities)
def test_a_quantity_is_written_back_as_it_was_written(text: str) -> None:
    assert encode_scalar(Quantity.parse(text)) == text


@settings(max_examples=50)
@given(junk | quantities)
def test_we_read_a_quantity_where_the_api_server_takes_one(text: str) -> None:
    """The schema's pattern and our parser are one grammar (NS-1)."""
    assert (refusal(Quantity.parse, text) == "") == bool(re.fullmatch(patterns.QUANTITY, text))


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("0", timedelta()),
        ("0s", timedelta()),
        ("90s", timedelta(seconds=90)),
        ("1h30m", timedelta(minutes=90)),
        ("1.5h", timedelta(minutes=90)),
        (".5m", timedelta(seconds=30)),
        ("1.h", timedelta(hours=1)),
        ("30m1h", timedelta(minutes=90)),
        ("250ms", timedelta(milliseconds=250)),
        ("7us", timedelta(microseconds=7)),
        ("7µs", timedelta(microseconds=7)),
        ("999ns", timedelta()),
        ("59.9999999s", timedelta(seconds=59, microseconds=999999)),
        ("2562047h", timedelta(hours=2562047)),
    ],
)
def test_a_duration_is_read_as_go_reads_it(text: str, span: timedelta) -> None:
    assert Duration.parse(text).value == span
    assert Duration.parse(text).seconds == span.total_seconds()
    assert re.fullmatch(patterns.DURATION, text)


@pytest.mark.parametrize(
    "text", ["", "1", "60", "1d", "1 h", " 1h", "1h\n", "-1h", "1h-", "h", ".h", "1hm", "1H", "1:30"]
)
def test_what_go_refuses_is_no_duration(text: str) -> None:
    with pytest.raises(ScalarError, match=r"is not a duration; write .* for instance 90s, 30m or 1h30m"):
        Duration.parse(text)
    assert not re.fullmatch(patterns.DURATION, text)


@pytest.mark.parametrize("text", ["2562048h", "1281024h1281024h", "9" * 400 + "h"])
def test_a_duration_that_go_cannot_hold_is_refused(text: str) -> None:
    with pytest.raises(ScalarError, match="longer than 292 years"):
        Duration.parse(text)


@given(st.integers(0, 10**5), st.integers(0, 59), st.integers(0, 59))
def test_durations_add_up(hours: int, minutes: int, seconds: int) -> None:
    written = Duration.parse(f"{hours}h{minutes}m{seconds}s")
    assert written == Duration.parse(f"{hours * 3600 + minutes * 60 + seconds}s")
    assert encode_scalar(written) == f"{hours}h{minutes}m{seconds}s"


@settings(max_examples=50)
@given(junk | durations)
def test_we_read_a_duration_where_the_api_server_takes_one(text: str) -> None:
    """The schema's pattern and our parser are one grammar, but for what no clock can hold (NS-1)."""
    refused = refusal(Duration.parse, text)
    assert (refused == "" or "292 years" in refused) == bool(re.fullmatch(patterns.DURATION, text))


@pytest.mark.parametrize(
    ("written", "of_four", "of_three"),
    [(0, 0, 0), (2, 2, 2), ("25%", 1, 1), ("50%", 2, 2), ("1%", 1, 1), ("0%", 0, 0), ("100%", 4, 3), ("33%", 2, 1)],
)
def test_a_percentage_is_rounded_up(written: int | str, of_four: int, of_three: int) -> None:
    """As Slinky rounds: 25% of three workers lets an update proceed."""
    amount = IntOrPercent.parse(written)
    assert (amount.of(4), amount.of(3)) == (of_four, of_three)


@pytest.mark.parametrize("text", ["", "1", "%", "1.5%", "-1%", "1000%", "25 %", " 25%", "25%\n", "٣%"])
def test_what_is_neither_a_count_nor_a_percentage_is_refused(text: str) -> None:
    with pytest.raises(ScalarError, match=r"neither a count nor a percentage; write .* for instance 1 or 25%"):
        IntOrPercent.parse(text)
    assert not re.fullmatch(patterns.PERCENT, text)


@given(st.integers(0, 999), st.integers(0, 10_000))
def test_a_share_is_never_less_than_its_percentage(percent: int, whole: int) -> None:
    share = IntOrPercent.parse(f"{percent}%").of(whole)
    assert share * 100 >= percent * whole > (share - 1) * 100 or share == percent == 0 or whole == 0


@given(st.integers(-5, 10**6) | st.integers(0, 999).map("{}%".format))
def test_a_count_or_percentage_is_written_back_as_its_type(written: int | str) -> None:
    assert encode_scalar(IntOrPercent.parse(written)) == written


@pytest.mark.parametrize(
    ("wanted", "value", "expected"),
    [
        (Duration, 30, "a duration such as 30m"),
        (Quantity, True, "a quantity such as 500m or 100Gi"),
        (Quantity, [], "a quantity such as 500m or 100Gi"),
        (IntOrPercent, False, "a count or a percentage such as 1 or 25%"),
        (IntOrPercent, 1.5, "a count or a percentage such as 1 or 25%"),
    ],
)
def test_a_value_of_another_type_is_refused_with_an_example(wanted: type, value: object, expected: str) -> None:
    with pytest.raises(ScalarError, match=f"expected {re.escape(expected)}"):
        decode_scalar(wanted, value)
