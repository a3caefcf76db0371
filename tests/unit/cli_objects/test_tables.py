"""Tables stand as kubectl's do, and carry nothing to a terminal that it would obey."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.cli.objects.table import Table

CELLS = st.text(st.characters(codec="ascii"), max_size=12)


def test_columns_are_as_wide_as_their_widest_cell_and_three_blanks_apart() -> None:
    assert Table(["NAME", "UP", "AGE"]).lines([["a", "1/1", "5s"], ["longer-name", "0/1", ""]]) == (
        "NAME          UP    AGE\n"
        "a             1/1   5s\n"
        "longer-name   0/1\n"
    )  # fmt: skip


def test_rows_that_come_later_stand_under_the_earlier_ones_without_titles() -> None:
    table = Table(["NAME", "AGE"])
    table.lines([["long-name", "5s"]])
    assert table.lines([["x", "1s"]]) == "x           1s\n"


def test_a_cell_is_one_line() -> None:
    assert Table(["A", "B"], headed=False).lines([["x\ny", "z\x1b[31m"]]) == "x...   z?[31m\n"


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=5))
def test_every_row_is_one_line_of_harmless_characters(rows: list[tuple[str, str, str]]) -> None:
    lines = Table(["A", "B", "C"]).lines(rows).split("\n")
    assert len(lines) == len(rows) + 2
    assert all(line.isprintable() for line in lines)
