"""Text in blocks, as `describe` shows it: titles with values beside them, blocks inside blocks, small tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]")
"""What a terminal would take for an order; values are anybody's."""


class Block:
    """Lines under a title. Values of one block stand in one column."""

    def __init__(self) -> None:
        self._parts: list[tuple[str, list[str] | Block]] = []

    def say(self, title: str, value: object) -> None:
        """A title with its value; a list is one value per line."""
        values = value if isinstance(value, list) else [value]
        lines = [line for one in values for line in str(one).split("\n")]
        self._parts.append((title, [_CONTROL.sub("?", line) for line in lines]))

    def block(self, title: str) -> Block:
        """A block inside this one."""
        inner = Block()
        self._parts.append((title, inner))
        return inner

    def show(self, title: str, value: Any) -> None:
        """Any value: maps and lists become blocks."""
        if isinstance(value, dict) and value:
            inner = self.block(title)
            for key, one in value.items():
                inner.show(str(key), one)
        elif isinstance(value, list) and any(isinstance(one, (dict, list)) for one in value):
            inner = self.block(title)
            for place, one in enumerate(value):
                inner.show(_called(one, place), one)
        elif isinstance(value, list):
            self.say(title, [str(one) for one in value] or "<none>")
        else:
            self.say(title, _plain(value))

    def table(self, title: str, titles: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """A small table under a title."""
        lines = [list(titles), ["-" * len(one) for one in titles], *map(list, rows)]
        widths = [max(len(row[column]) for row in lines) for column in range(len(titles))]
        inner = self.block(title)
        for row in lines:
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
            inner.say("", "  ".join(cells).rstrip())

    def text(self) -> str:
        """All of it."""
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterable[str]:
        width = max((len(title) for title, part in self._parts if not isinstance(part, Block)), default=0) + 3
        for title, part in self._parts:
            if isinstance(part, Block):
                yield f"{title}:"
                yield from (f"  {line}" for line in part._lines())  # noqa: SLF001  (one of us)
            else:
                first, *more = part or [""]
                yield f"{f'{title}:':<{width}}{first}".rstrip() if title else first
                yield from (f"{'':<{width}}{line}".rstrip() for line in more)


def _called(value: Any, place: int) -> str:
    """What an item of a list is called: by its own name if it has one."""
    return str(value["name"]) if isinstance(value, dict) and value.get("name") else f"#{place}"


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "<none>" if value is None or value in ({}, []) else str(value)
