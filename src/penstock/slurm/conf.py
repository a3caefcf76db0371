"""Slurm's configuration language: a writer that cannot be tricked, and a reader for the text people append.

A configuration line is `Key=Value` pairs with blanks between them. A value with a blank stands in double quotes,
which cannot themselves be escaped; `#` begins a comment even inside quotes; a backslash at the end joins the next
line. So every value goes through `value()`, which refuses what could leave its place: a line break, a quote, a
comment sign, a closing backslash. Text that people append on purpose (`extraConf`) is checked by `appended()`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_.]*")
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\"#\\]")
_BLANK = re.compile(r"\s")
_TOKEN = re.compile(r"([A-Za-z][A-Za-z0-9_.]*)=(\"[^\"]*\"|\S+)(?:\s+|$)")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")

Setting = str | int | float | bool


class ConfError(ValueError):
    """A text that cannot be written into a configuration file; the message says why and what to write."""


def value(setting: Setting, *, of: str = "value") -> str:
    """One value as it stands behind its `=`; refuses whatever could break out of it."""
    text = ("YES" if setting else "NO") if isinstance(setting, bool) else str(setting)
    bad = _UNSAFE.search(text)
    if bad:
        raise ConfError(f"{of} {text!r} holds {_name(bad[0])}, which Slurm cannot read inside a value; take it out")
    if not text:
        raise ConfError(f"{of} is empty; give it a value or leave it out")
    return f'"{text}"' if _BLANK.search(text) else text


def line(*pairs: tuple[str, Setting]) -> str:
    """One line of `Key=Value` pairs."""
    return " ".join(f"{_key(key)}={value(setting, of=key)}" for key, setting in pairs)


def _key(key: str) -> str:
    if not _KEY.fullmatch(key):
        raise ConfError(f"{key!r} is not the name of a Slurm setting; write letters and digits")
    return key


def _name(character: str) -> str:
    names = {
        "\n": "a line break",
        "\r": "a line break",
        '"': "a double quote",
        "#": "a # (comment)",
        "\\": "a backslash",
    }
    return names.get(character, "a control character")


@dataclass(slots=True)
class Section:
    """A titled part of a file; lines are finished text."""

    title: str
    lines: list[str] = field(default_factory=list)

    def add(self, key: str, setting: Setting | None) -> None:
        """Add `Key=Value`, unless there is no value."""
        if setting is not None:
            self.lines.append(line((key, setting)))


def document(sections: Iterable[Section]) -> str:
    """The text of a file: sections that have lines, each under its title."""
    parts = [["#", f"### {section.title} ###", *section.lines] for section in sections if section.lines]
    return "".join(f"{text}\n" for part in parts for text in part)


def appended(text: str, *, of: str) -> list[str]:
    """Lines of text that a person wants verbatim; refused when they would swallow what comes after them."""
    bad = _CONTROL.search(text.replace("\r\n", "\n"))
    if bad:
        raise ConfError(f"{of} holds {_name(bad[0])} ({bad[0]!r}); take it out")
    lines = text.replace("\r\n", "\n").rstrip("\n").split("\n")
    if lines[-1].endswith("\\"):
        raise ConfError(f"{of} ends in a backslash, which would join it with the next line; take it out")
    return lines if any(lines) else []


def pairs(config: str | Mapping[str, Setting], *, of: str, reserved: Iterable[str] = ()) -> list[tuple[str, Setting]]:
    """Settings for the end of a line, from a map or from `Key=Value` text; reserved keys are ours to write."""
    found: list[tuple[str, Setting]] = list(config.items() if isinstance(config, Mapping) else _tokens(config, of=of))
    taken = {key.lower() for key in reserved}
    for key, _ in found:
        if key.lower() in taken:
            raise ConfError(f"{of} sets {key}, which is made from the object itself; take it out")
    return found


def tail(config: str | Mapping[str, Setting] | None, *, of: str, reserved: Iterable[str] = ()) -> str:
    """The settings as text, in the order given; nothing for nothing."""
    return line(*pairs(config, of=of, reserved=reserved)) if config else ""


def _tokens(text: str, *, of: str) -> Iterator[tuple[str, str]]:
    text = text.strip(" \t")
    position = 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None or "\n" in token[0] or "\r" in token[0]:
            raise ConfError(
                f"{of} {text!r}: {text[position:]!r} is not Key=Value; write for instance Default=YES MaxNodes=4"
            )
        yield token[1], token[2].strip('"')
        position = token.end()


def settings(text: str) -> dict[str, str]:
    """Settings of a file's text by lower-case key: comments off, continued lines joined, the last one wins.

    Only lines of one setting without blanks are read; the others have meanings of their own and stay text.
    """
    joined = re.sub(r"\\\n", "", text.replace("\r\n", "\n"))
    found: dict[str, str] = {}
    for raw in joined.split("\n"):
        key, equals, setting = raw.partition("#")[0].strip().partition("=")
        if equals and _KEY.fullmatch(key.strip()) and setting.strip() and not _BLANK.search(setting.strip()):
            found[key.strip().lower()] = setting.strip()
    return found


def merged_options(ours: str, theirs: str) -> str:
    """Two comma lists of options as one: ours stand, theirs are added as written, sorted.

    Slinky lower-cases what it adds, which spoils values that are case sensitive; we compare without case only.
    """
    options = {option.partition("=")[0].lower(): option for option in theirs.split(",") if option}
    options |= {option.partition("=")[0].lower(): option for option in ours.split(",") if option}
    return ",".join(sorted(options.values(), key=str.lower))
