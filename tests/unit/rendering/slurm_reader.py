r"""How Slurm takes a configuration file apart, written anew from watching its parser (26.05 and 24.11 agree).

The judge over our writer, so it shares nothing with it. In the order in which Slurm goes about it:

    lines       end at \n alone; \0 ends one early, for these are C strings
    comments    from the first # that no backslash escapes, also inside quotes
    joining     a backslash at the end, with or without blanks behind it, unless it is escaped itself
    escapes     \x is x, whatever x is; quotes gain nothing by it
    pairs       Key=Value, blanks around = allowed; the value is "quoted" if a blank or the end follows the second
                quote, or a run without blanks; the longer of the two if both fit
"""

from __future__ import annotations

import re

_KEY = re.compile(rb"[ \t\n\r\f\v]*([A-Za-z0-9_.]+)[ \t\n\r\f\v]*[-*+/]?=[ \t\n\r\f\v]*")
_QUOTED = re.compile(rb'"([^"]*)"(?=[ \t\n\r\f\v]|\Z)')
_PLAIN = re.compile(rb"([^ \t\n\r\f\v]+)(?=[ \t\n\r\f\v]|\Z)")
_BLANKS = b" \t\n\r\f\v"

Line = list[tuple[str, str]]


class Unreadable(Exception):
    """Slurm would not take this line."""


def lines_of(text: str) -> list[Line]:
    """Every line that says something, as its keys and values."""
    return [pairs(line) for line in _logical_lines(text.encode())]


def keys_of(text: str) -> list[list[str]]:
    """The keys of every line."""
    return [[key for key, _ in line] for line in lines_of(text)]


def settings_of(text: str) -> dict[str, list[str]]:
    """Values of the lines of a single pair, by key, in their order."""
    found: dict[str, list[str]] = {}
    for line in lines_of(text):
        if len(line) == 1:
            found.setdefault(line[0][0], []).append(line[0][1])
    return found


def pairs(line: bytes) -> Line:
    """All pairs of one line; also how `slurmd --conf` reads its argument."""
    if re.match(rb"(?i)include[ \t\n\r\f\v]", line):
        return [("Include", line[7:].strip(_BLANKS).decode(errors="replace"))]
    found: Line = []
    while line.strip(_BLANKS):
        key = _KEY.match(line)
        values = [match for pattern in (_QUOTED, _PLAIN) if key and (match := pattern.match(line, key.end()))]
        if key is None or not values:
            raise Unreadable(line)
        value = max(values, key=lambda match: match.end())
        found.append((key[1].decode(), value[1].decode(errors="replace")))
        line = line[value.end() :]
    return found


def _logical_lines(text: bytes) -> list[bytes]:
    found, begun = [], b""
    for raw in text.split(b"\n"):
        line = re.sub(rb"(?<!\\)((?:\\\\)*)#.*", rb"\1", raw.partition(b"\0")[0], flags=re.DOTALL)
        ending = re.search(rb"(?<!\\)(\\+)[ \t\r\f\v]*\Z", line)
        if ending and len(ending[1]) % 2:
            begun += line[: ending.end(1) - 1]
            continue
        found.append(re.sub(rb"\\(.?)", rb"\1", begun + line, flags=re.DOTALL))
        begun = b""
    found.append(re.sub(rb"\\(.?)", rb"\1", begun, flags=re.DOTALL))
    return [line for line in found if line.strip(_BLANKS)]
