"""Host lists: `rack[1-2]n[01-03,7]` to names and back.

Slurm writes node names this way everywhere: partitions, jobs, reservations, reasons. Its own reader also splits at
blanks and skips empty items, so that a slip of the finger becomes other hosts; we refuse those. And we count before we
expand, because a text of twenty characters can name a million hosts.

Natural order, which `compress` returns and people expect in tables: by the text before the last number (numbers in it
by value, so rack2 before rack10), then by the text behind it, then by the number, fewer zeros first: n1, n01, n2, n10.
"""

import itertools
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

# Slurm keeps range ends in 64 bits and silently turns anything longer into 18446744073709551615.
MAX_DIGITS = 18

_NAME = re.compile(r"[A-Za-z0-9._-]+")
_TOKEN = re.compile(r"\[([^\[\]]*)\]|([^\[\]]+)")
_RANGE = re.compile(r"([0-9]+)(?:-([0-9]+))?")
_ENDING_REVERSED = re.compile(rf"([^0-9]*)([0-9]{{0,{MAX_DIGITS}}})")


class HostlistError(ValueError):
    """The text is no host list; the message says why and what to write instead."""

    def __init__(self, text: str, cause: str) -> None:
        shown = text if len(text) <= 80 else f"{text[:77]}..."
        super().__init__(f'host list "{shown}": {cause}')


@dataclass(frozen=True, slots=True)
class _Span:
    """Consecutive numbers, written with at least `width` digits."""

    first: int
    last: int
    width: int

    def __len__(self) -> int:
        return self.last - self.first + 1

    def __iter__(self) -> Iterator[str]:
        return (str(number).zfill(self.width) for number in range(self.first, self.last + 1))


# One item of the list: fixed text and bracket groups in the order they were written.
_Item = list[str | list[_Span]]


def expand(text: str, *, limit: int = 65536) -> list[str]:
    """Name every host of the list, in the order written; the leftmost bracket changes slowest.

    Names given twice come twice, as in `scontrol show hostnames`. Slurm's own largest range is 65536 hosts.
    """
    if not text:
        return []
    items = [_parse_item(item, text) for item in _split(text)]
    count = sum(_count(item) for item in items)
    if count > limit:
        raise HostlistError(text, f"names {_approximately(count)} hosts, more than {limit}; write a smaller range")
    return [name for item in items for name in _names(item)]


def compress(names: Iterable[str]) -> str:
    """Write the names, each once and in natural order, with runs of the last number in brackets."""
    parts = sorted({_part(name) for name in names}, key=_natural)
    groups = itertools.groupby(parts, key=lambda part: (part.prefix, part.suffix, bool(part.digits)))
    return ",".join(_bracket(list(group)) for _, group in groups)


def _split(text: str) -> list[str]:
    """Cut at the commas outside of brackets."""
    items, depth, start = [], 0, 0
    for at, char in enumerate(text):
        depth += (char == "[") - (char == "]")
        if depth not in (0, 1):
            problem = "brackets inside brackets; write the groups one after the other, as in a[1-2]b[3-4]"
            raise HostlistError(text, problem if depth == 2 else "a ] without its [; close only what was opened")
        if char == "," and depth == 0:
            items.append(text[start:at])
            start = at + 1
    if depth:
        raise HostlistError(text, "a [ without its ]; close the bracket, as in n[1-3]")
    return [*items, text[start:]]


def _parse_item(item: str, text: str) -> _Item:
    if not item:
        raise HostlistError(text, "an empty item; take out the comma that has nothing beside it")
    parsed: _Item = []
    for match in _TOKEN.finditer(item):
        inside, outside = match.groups()
        if outside is None:
            parsed.append([_parse_span(span, text) for span in inside.split(",")])
        else:
            parsed.append(_checked_name(outside, text))
    return parsed


def _parse_span(span: str, text: str) -> _Span:
    if not span:
        raise HostlistError(text, "an empty range in the brackets; write numbers, as in [1-3,7]")
    match = _RANGE.fullmatch(span)
    if not match:
        raise HostlistError(
            text, f'"{span}" is no range; write digits as in [1-3], or take the names out of the brackets'
        )
    first, last = match[1], match[2] or match[1]
    if max(len(first), len(last)) > MAX_DIGITS:
        raise HostlistError(
            text, f"a number with more than {MAX_DIGITS} digits, which Slurm misreads; write a shorter one"
        )
    if int(last) < int(first):
        raise HostlistError(text, f"the range {span} runs backwards; write {last}-{first}")
    return _Span(int(first), int(last), len(first))


def _checked_name(name: str, text: str) -> str:
    if not _NAME.fullmatch(name):
        strange = next(char for char in name if not _NAME.fullmatch(char))
        raise HostlistError(
            text, f"{strange!r} cannot stand in a host name; use letters, digits, dot, dash, underscore"
        )
    return name


def _count(item: _Item) -> int:
    return math.prod(sum(map(len, piece)) for piece in item if not isinstance(piece, str))


def _approximately(count: int) -> str:
    # a[0-9]a[0-9]... can multiply to thousands of digits, which nobody wants to read.
    return str(count) if count < 10**12 else "more than a million million"


def _names(item: _Item) -> Iterator[str]:
    columns = [[piece] if isinstance(piece, str) else list(itertools.chain(*piece)) for piece in item]
    return map("".join, itertools.product(*columns))


@dataclass(frozen=True, slots=True)
class _Part:
    """A name, cut at its last number."""

    prefix: str
    digits: str
    suffix: str


def _part(name: str) -> _Part:
    if not name:
        raise HostlistError(name, "an empty name; leave it out")
    # Read from the back: the last number is then the first, and the time stays linear.
    backwards = _checked_name(name, name)[::-1]
    match = _ENDING_REVERSED.match(backwards)
    if match is None or not match[2]:
        return _Part(name, "", "")
    return _Part(backwards[match.end() :][::-1], match[2][::-1], match[1][::-1])


def _natural(part: _Part) -> tuple[object, ...]:
    pieces = re.split(r"([0-9]+)", part.prefix)
    words, numbers = pieces[::2], pieces[1::2]
    prefix = tuple(itertools.chain(*itertools.zip_longest(words, map(_by_value, numbers), fillvalue=(0, ""))))
    return (prefix, part.prefix, part.suffix, _by_value(part.digits), len(part.digits))


def _by_value(digits: str) -> tuple[int, str]:
    # Compares as numbers do, without the cost and the limits of int() on very long ones.
    significant = digits.lstrip("0")
    return (len(significant), significant)


def _bracket(parts: list[_Part]) -> str:
    prefix, suffix = parts[0].prefix, parts[0].suffix
    if len(parts) == 1:
        return f"{prefix}{parts[0].digits}{suffix}"
    return f"{prefix}[{','.join(_runs([part.digits for part in parts]))}]{suffix}"


def _runs(numbers: list[str]) -> Iterator[str]:
    """Join neighbours: 08, 09, 10 is one run; 8, 09 are two, because they are padded differently."""
    first = last = numbers[0]
    for number in numbers[1:]:
        if number != str(int(last) + 1).zfill(len(first)):
            yield first if first == last else f"{first}-{last}"
            first = number
        last = number
    yield first if first == last else f"{first}-{last}"
