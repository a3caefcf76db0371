"""The table of the thirty attacks is whole, and docs/walls.md shows it."""

from pathlib import Path

from .rows import EVERY, ROWS, table
from .weakenings import UNSHAKEN, WEAKENINGS

ROOT = Path(__file__).resolve().parents[2]


def test_every_row_is_there_once() -> None:
    """T1 to T30, in their order, each tried or explained."""
    assert [row.number for row in ROWS] == list(range(1, 31))
    assert all(row.tried_by or row.beyond for row in ROWS)


def test_every_attack_has_a_row() -> None:
    """No row names an attack that is not there, and none is without a row."""
    assert {name for row in ROWS for name in row.tried_by} == set(EVERY)


def test_every_attack_bites() -> None:
    """Each hole is found by somebody, and each attack finds one."""
    assert all(weakening.wins for weakening in WEAKENINGS.values())
    assert {name for weakening in WEAKENINGS.values() for name in weakening.wins} == set(EVERY) - set(UNSHAKEN)


def test_the_documentation_shows_the_table() -> None:
    """As it is."""
    assert table() in (ROOT / "docs/walls.md").read_text()
