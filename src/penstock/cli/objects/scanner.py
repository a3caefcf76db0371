"""Reads a JSONPath template from the left to the right; what is wrong is told with its place."""

from __future__ import annotations

import json
from collections.abc import Iterator

from penstock.cli.objects.expressions import (
    COMPARISONS,
    Below,
    Either,
    Every,
    Field,
    Filter,
    Key,
    Literal,
    Path,
    Slice,
    Step,
)

_ENDS_A_NAME = set(" \t\n.[]{}()'\",=!<>|&")


class JsonPathError(ValueError):
    """A template that cannot be read; the message shows where."""


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

    def key(self) -> Key:
        """A name in quotes; a backslash takes the sense from what follows it."""
        quote, parts = self._text[self._at], [""]
        self._at += 1
        while not self.at(quote):
            escaped = self.take("\\")
            if self.over:
                raise self.error("the quotes are not closed")
            letter = self._text[self._at]
            if letter == "." and not escaped:
                parts.append("")
            else:
                parts[-1] += letter
            self._at += 1
        self._at += 1
        return Key(".".join(parts), tuple(parts))

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

    def _steps(self) -> Iterator[Step | Either]:
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

    def _brackets(self) -> Step | Either:
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
            return self.key()
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
        comparison = next((sign for sign in COMPARISONS if self.take(sign)), "")
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
