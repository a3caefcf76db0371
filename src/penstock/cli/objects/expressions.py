"""Ways through a value: what stands in the braces of a JSONPath template, once `scanner.py` has read it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
"""Longer signs first, so that none is taken for its own beginning."""
_DEEPEST = 100
"""Levels that `..` goes down; no object of Kubernetes is as deep."""


@dataclass(frozen=True, slots=True)
class Field:
    """`.name`."""

    name: str

    def step(self, value: Any, _root: Any) -> Iterator[Any]:
        """The field, if it is there."""
        if isinstance(value, dict) and self.name in value:
            yield value[self.name]


@dataclass(frozen=True, slots=True)
class Key:
    r"""`['name']`: a field, whatever its name; if there is none, the way that its dots part: `['metadata.name']`.

    To kubectl it is always a way, and a dot of the name is written `\.`; people forget that, and mean the name.
    """

    name: str
    way: tuple[str, ...]

    def step(self, value: Any, root: Any) -> Iterator[Any]:
        """The field, if it is there."""
        if isinstance(value, dict) and self.name in value:
            yield value[self.name]
        elif len(self.way) > 1:
            yield from Path(tuple(map(Field, self.way))).find(value, root)


@dataclass(frozen=True, slots=True)
class Every:
    """`[*]` or `.*`."""

    def step(self, value: Any, _root: Any) -> Iterator[Any]:
        """Everything inside."""
        if isinstance(value, list):
            yield from value
        elif isinstance(value, dict):
            yield from value.values()


@dataclass(frozen=True, slots=True)
class Slice:
    """`[1]`, `[-1]`, `[0:2]`, `[::2]`."""

    at: slice

    def step(self, value: Any, _root: Any) -> Iterator[Any]:
        """The items of a list that are meant."""
        if isinstance(value, list):
            yield from value[self.at]


@dataclass(frozen=True, slots=True)
class Either:
    """`['a','b']`: what the first finds in all values, then what the second does."""

    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Below:
    """`..`: the value and all that is in it, at any depth."""

    def step(self, value: Any, root: Any, depth: int = 0) -> Iterator[Any]:
        """The value first, then what is inside."""
        yield value
        if depth < _DEEPEST:
            for inner in Every().step(value, root):
                if isinstance(inner, (dict, list)):
                    yield from self.step(inner, root, depth + 1)


@dataclass(frozen=True, slots=True)
class Filter:
    """`[?(@.type=="Ready")]`: the items for which it holds."""

    left: Path | Literal
    comparison: str = ""
    right: Path | Literal | None = None

    def step(self, value: Any, root: Any) -> Iterator[Any]:
        """The items of a list for which it holds."""
        if isinstance(value, list):
            yield from (item for item in value if self._holds(item, root))

    def _holds(self, item: Any, root: Any) -> bool:
        found = list(self.left.find(item, root))
        if self.right is None:
            return bool(found)
        wanted = list(self.right.find(item, root))
        return bool(found and wanted) and _compare(self.comparison, found[0], wanted[0])


@dataclass(frozen=True, slots=True)
class Literal:
    """A text, a number, true or false in a filter."""

    value: Any

    def find(self, _current: Any, _root: Any) -> Iterator[Any]:
        """The value itself."""
        yield self.value


Step = Field | Key | Every | Slice | Below | Filter


@dataclass(frozen=True, slots=True)
class Path:
    """A way through a value."""

    steps: tuple[Step | Either, ...]
    from_root: bool = False

    def find(self, current: Any, root: Any) -> list[Any]:
        """All that the way leads to; nothing where it leads nowhere."""
        found = [root if self.from_root else current]
        for step in self.steps:
            several = step.steps if isinstance(step, Either) else (step,)
            found = [inner for one in several for value in found for inner in one.step(value, root)]
        return found


def _compare(comparison: str, left: Any, right: Any) -> bool:
    if comparison not in {"==", "!="} and type(left) is not type(right) and str in {type(left), type(right)}:
        return False
    try:
        return COMPARISONS[comparison](left, right)
    except TypeError:
        return False  # a map is neither less nor more than anything
