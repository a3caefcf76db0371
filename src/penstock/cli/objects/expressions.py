"""What stands in the braces of a JSONPath template: the way through a value. Read by a scanner, walked by `find`."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

_ENDS_A_NAME = set(" \t\n.[]{}()'\",=!<>|&")
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
_DEEPEST = 100
"""Levels that `..` goes down; no object of Kubernetes is as deep."""


class JsonPathError(ValueError):
    """A template that cannot be read; the message shows where."""


@dataclass(frozen=True, slots=True)
class Field:
    """`.name` or `['name']`."""

    name: str

    def step(self, value: Any, _root: Any) -> Iterator[Any]:
        """The field, if it is there."""
        if isinstance(value, dict) and self.name in value:
            yield value[self.name]


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
    """`['a','b']`: each of several steps."""

    steps: tuple[Step, ...]

    def step(self, value: Any, root: Any) -> Iterator[Any]:
        """What each of them finds."""
        for one in self.steps:
            yield from one.step(value, root)


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


Step = Field | Every | Slice | Either | Below | Filter


@dataclass(frozen=True, slots=True)
class Path:
    """A way through a value."""

    steps: tuple[Step, ...]
    from_root: bool = False

    def find(self, current: Any, root: Any) -> list[Any]:
        """All that the way leads to; nothing where it leads nowhere."""
        found = [root if self.from_root else current]
        for step in self.steps:
            found = [inner for value in found for inner in step.step(value, root)]
        return found


def _compare(comparison: str, left: Any, right: Any) -> bool:
    if comparison not in {"==", "!="} and type(left) is not type(right) and str in {type(left), type(right)}:
        return False
    try:
        return _COMPARISONS[comparison](left, right)
    except TypeError:
        return False  # a map is neither less nor more than anything


class Scanner:
    """Reads a template from the left to the right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    @property
    def over(self) -> bool:
        """Whether all is read."""
        return self._at >= len(self._text)

    def error(self, what: str) -> JsonPathError:
        """The complaint about this place."""
        return JsonPathError(f"jsonpath {self._text!r}: {what} (at character {self._at + 1})")

    def at(self, *starts: str) -> bool:
        """Whether one of these comes next."""
        return self._text.startswith(starts, self._at)

    def take(self, start: str) -> bool:
        """Whether this comes next, and if so go behind it."""
        if not self.at(start):
            return False
        self._at += len(start)
        return True

    def word(self, word: str) -> bool:
        """Whether this whole word comes next, and if so go behind it."""
        behind = self._text[self._at + len(word) : self._at + len(word) + 1]
        return not behind.isalnum() and behind not in {"_", "-"} and self.take(word)

    def expect(self, start: str) -> None:
        """Go behind what has to come next."""
        if not self.take(start):
            raise self.error(f"{start!r} is missing")

    def close(self) -> None:
        """Go behind the closing brace."""
        self.blanks()
        self.expect("}")

    def blanks(self) -> None:
        """Go behind blanks."""
        while not self.over and self._text[self._at] in " \t\n":
            self._at += 1

    def text(self) -> str:
        """What stands before the next brace."""
        end = self._text.find("{", self._at)
        start, self._at = self._at, len(self._text) if end < 0 else end
        return self._text[start : self._at]

    def quoted(self) -> str:
        """A text in quotes of either kind; escapes are those of JSON."""
        quote, start = self._text[self._at], self._at
        self._at += 1
        while not self.at(quote):
            self._at += 2 if self.at("\\") else 1
            if self.over:
                self._at = start
                raise self.error("the quotes are not closed")
        body = self._text[start + 1 : self._at]
        self._at += 1
        return self._unescaped(body, quote)

    def _unescaped(self, body: str, quote: str) -> str:
        if quote == "'":
            body = body.replace("\\'", "'").replace('"', '\\"')
        try:
            text: str = json.loads(f'"{body}"', strict=False)
        except ValueError:
            raise self.error(f"{body!r} has an escape that is none") from None
        return text

    def path(self) -> Path:
        """A way, up to where it ends."""
        self.blanks()
        from_root = self.take("$")
        began = self._at
        if not from_root:
            self.take("@")
        steps = list(self._steps())
        if not from_root and self._at == began:
            raise self.error("a path begins with a dot, as in {.metadata.name}")
        return Path(tuple(steps), from_root)

    def _steps(self) -> Iterator[Step]:
        while True:
            if self.take(".."):
                yield Below()
                if not self.at("[", "*"):
                    yield Field(self._name())
            elif self.take(".*") or self.take("*"):
                yield Every()
            elif self.at(".["):
                self.take(".")
            elif self.take("."):
                if not self.over and self._text[self._at] not in _ENDS_A_NAME:
                    yield Field(self._name())
            elif self.take("["):
                yield self._brackets()
            else:
                return

    def _name(self) -> str:
        name = ""
        while not self.over and self._text[self._at] not in _ENDS_A_NAME:
            if self.at("\\") and self._at + 1 < len(self._text):
                self._at += 1  # \. is a dot in a name: {.data.slurm\.conf}
            name += self._text[self._at]
            self._at += 1
        if not name:
            raise self.error("a name is missing")
        return name

    def _brackets(self) -> Step:
        self.blanks()
        if self.take("?("):
            return self._filter()
        steps = [self._selector()]
        self.blanks()
        while self.take(","):
            steps.append(self._selector())
            self.blanks()
        self.expect("]")
        return steps[0] if len(steps) == 1 else Either(tuple(steps))

    def _selector(self) -> Step:
        self.blanks()
        if self.take("*"):
            return Every()
        if self.at("'", '"'):
            return Field(self.quoted())
        return self._numbers()

    def _numbers(self) -> Step:
        parts: list[int | None] = [self._number()]
        while self.take(":") and len(parts) < 3:
            parts.append(self._number())
        if parts == [None]:
            raise self.error("write [*], [0], ['name'] or [?(@.x==\"y\")]")
        if len(parts) == 1 and parts[0] is not None:
            return Slice(slice(parts[0], parts[0] + 1 or None))
        if len(parts) == 3 and parts[2] is not None and parts[2] < 1:
            raise self.error("a step has to be 1 or more")
        return Slice(slice(*parts))

    def _number(self) -> int | None:
        start = self._at
        self.take("-")
        while not self.over and self._text[self._at].isdecimal() and self._text[self._at].isascii():
            self._at += 1
        digits = self._text[start : self._at]
        if digits == "-":
            raise self.error("a number is missing")
        return int(digits) if digits else None

    def _filter(self) -> Filter:
        left = self._operand()
        self.blanks()
        comparison = next((sign for sign in _COMPARISONS if self.take(sign)), "")
        right = self._operand() if comparison else None
        self.blanks()
        self.expect(")")
        self.expect("]")
        return Filter(left, comparison, right)

    def _operand(self) -> Path | Literal:
        self.blanks()
        if self.at("'", '"'):
            return Literal(self.quoted())
        if self.at("@", "$", "."):
            return self.path()
        start = self._at
        while not self.over and self._text[self._at] not in " \t\n)=!<>":
            self._at += 1
        try:
            return Literal(json.loads(self._text[start : self._at]))
        except ValueError:
            self._at = start
            raise self.error("a filter compares @.paths, 'texts' and numbers") from None
