"""Tables as kubectl aligns them: columns as wide as their widest cell, three blanks apart, the last one ragged."""

from __future__ import annotations

import re
from collections.abc import Sequence

Row = Sequence[str]

_GAP = 3
_NARROWEST = 6
"""Blanks included; a column of `0/1` under `UP` is as wide as in kubectl."""


class Table:
    """Lines of cells. Widths are remembered, so rows that come later (`--watch`) stand under the earlier ones."""

    def __init__(self, titles: Row, *, headed: bool = True) -> None:
        self._titles = titles
        self._headed = headed
        self._widths = [0] * len(titles)

    def lines(self, rows: Sequence[Row]) -> str:
        """The text of these rows, with the titles the first time."""
        told = [*([self._titles] if self._headed else []), *([_flat(cell) for cell in row] for row in rows)]
        self._headed = False
        for row in told:
            for column, cell in enumerate(row[:-1]):
                self._widths[column] = max(self._widths[column], len(cell) + _GAP, _NARROWEST)
        return "".join(self._line(row) for row in told)

    def _line(self, row: Row) -> str:
        padded = [cell.ljust(width) for cell, width in zip(row[:-1], self._widths, strict=False)]
        return "".join([*padded, row[-1]]).rstrip(" ") + "\n" if row else "\n"


def _flat(cell: str) -> str:
    """A cell is one line: the rest is cut off, as kubectl does. Nobody's terminal is sent control characters."""
    first, *more = re.split(r"[\n\r\f]", cell, maxsplit=1)
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]", "?", first.replace("\t", " ")) + ("..." if more else "")
