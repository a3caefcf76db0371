"""Slurm's configuration language: a writer that cannot be tricked, and a reader for the text people append.

A configuration line is `Key=Value` pairs with blanks between them. A value with a blank stands in double quotes,
which cannot themselves be escaped; `#` begins a comment even inside quotes; a backslash at the end joins the next
line, also with blanks behind it. So every value goes through `value()`, which refuses what could leave its place: a
line break, a quote, a comment sign, a backslash. Nobody chooses a password for Slurm's sake, so `password()` writes
those too where Slurm can read them. Text that people append on purpose (`extraConf`) is checked by `appended()`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_.]*")
_UNWRITABLE = r"\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"
_UNSAFE = re.compile(rf"[{_UNWRITABLE}\"#\\]")
_UNSAFE_EVEN_ESCAPED = re.compile(rf"[{_UNWRITABLE}]")
_HOST = re.compile(r"[A-Za-z0-9._:-]+|\[[0-9A-Fa-f:.]+\]")
_BLANK = re.compile(r"\s")
_TOKEN = re.compile(r"([A-Za-z][A-Za-z0-9_.]*)=(\"[^\"]*\"|\S+)(?:\s+|$)", re.ASCII)
_SETTING = re.compile(r'\s*([A-Za-z0-9_.]+)\s*[-*+/]?=\s*(?:"([^"]*)"|(\S+))\s*', re.ASCII)
_PAIR = re.compile(r'\s*([A-Za-z0-9_.]+)\s*[-*+/]?=\s*(?:"([^"]*)"(?=\s|$)|(\S+))', re.ASCII)
_INCLUDE = re.compile(r"include\s", re.ASCII | re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_CONTINUED = re.compile(r"(?<!\\)(?:\\\\)*\\\s*$", re.ASCII)
_ESCAPE = re.compile(r"\\(.?)")
_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)#.*")

Setting = str | int | float | bool


class ConfError(ValueError):
    """A text that cannot be written into a configuration file; the message says why and what to write."""


@contextmanager
def about(what: str) -> Iterator[None]:
    """Name the object that is at fault, once, whatever is found wrong inside."""
    try:
        yield
    except ConfError as problem:
        if what in str(problem):
            raise
        raise ConfError(f"{what}: {problem}") from problem


def value(setting: Setting, *, of: str = "value") -> str:
    """One value as it stands behind its `=`; refuses whatever could break out of it."""
    text = ("YES" if setting else "NO") if isinstance(setting, bool) else str(setting)
    bad = _UNSAFE.search(text)
    if bad:
        raise ConfError(f"{of} {text!r} holds {_name(bad[0])}, which Slurm cannot read inside a value; take it out")
    if not text:
        raise ConfError(f"{of} is empty; give it a value or leave it out")
    return f'"{text}"' if _BLANK.search(text) else text


def is_value(text: str) -> bool:
    """Whether this could be written as a value."""
    return bool(text) and _UNSAFE.search(text) is None


def password(secret: bytes, *, of: str) -> str:
    """A password as it stands behind its `=`, escaped so that Slurm reads it back exactly.

    Messages never show it. Quotes cannot be escaped: they stand where nothing makes Slurm take them for its own.
    """
    try:
        text = secret.decode()
    except UnicodeDecodeError as problem:
        raise ConfError(f"{of} is not text in UTF-8; choose another") from problem
    bad = _UNSAFE_EVEN_ESCAPED.search(text)
    if bad:
        raise ConfError(f"{of} holds {_name(bad[0])}, which Slurm cannot read inside a value; choose another")
    if '"' in text and (_BLANK.search(text) or re.fullmatch(r'"[^"]*"', text)):
        raise ConfError(f"{of} holds double quotes in a way that Slurm misreads; choose one without them")
    escaped = re.sub(r"([\\#])", r"\\\1", text)
    return f'"{escaped}"' if _BLANK.search(text) else escaped


def host(name: str, *, of: str) -> str:
    """The name or address of a machine: it reaches commands and shells as well as files."""
    if not is_host(name):
        raise ConfError(f"{of} {name!r} is not the name or address of a machine; write for instance ctl.example.com")
    return name


def is_host(name: str) -> bool:
    """Whether this could be the name or address of a machine."""
    return _HOST.fullmatch(name) is not None


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
    if _CONTINUED.search(lines[-1]):
        raise ConfError(f"{of} ends in a backslash, which would join it with the next line; take it out")
    return lines if any(lines) else []


def pairs(config: str | Mapping[str, Setting], *, of: str, reserved: Iterable[str] = ()) -> list[tuple[str, Setting]]:
    """Settings for the end of a line, from a map or from `Key=Value` text; reserved keys are ours to write.

    Those of a map are sorted, for a map has no order: the API server hands it out in another than it was given.
    """
    found: list[tuple[str, Setting]] = list(
        sorted(config.items()) if isinstance(config, Mapping) else _tokens(config, of=of)
    )
    taken = {key.lower() for key in reserved}
    for key, _ in found:
        if key.lower() in taken:
            raise ConfError(f"{of} sets {key}, which is made from the object itself; take it out")
    return found


def tail(config: str | Mapping[str, Setting] | None, *, of: str, reserved: Iterable[str] = ()) -> str:
    """The settings as text; nothing for nothing."""
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
        quoted = re.fullmatch(r'"([^"]*)"', token[2])
        yield token[1], quoted[1] if quoted else token[2]
        position = token.end()


def settings(text: str) -> dict[str, str]:
    """Settings of a file's text by lower-case key: comments off, continued lines joined, the last one wins.

    Only lines of one setting are read; the others have meanings of their own and stay text.
    """
    matches = (_SETTING.fullmatch(line) for line in _logical_lines(text))
    return {match[1].lower(): match[2] or match[3] or "" for match in matches if match}


def entries(text: str, key: str) -> Iterator[tuple[tuple[str, str], ...]]:
    """The lines of a file's text that begin with a key, in any case, such as `PartitionName`: each as its pairs."""
    for one in _logical_lines(text):
        if _INCLUDE.match(one):
            continue
        found = tuple((match[1], match[3] if match[2] is None else match[2]) for match in _PAIR.finditer(one))
        if found and found[0][0].lower() == key.lower():
            yield found


def _logical_lines(text: str) -> Iterator[str]:
    """Lines as Slurm puts them together: a comment ends its line, also one that closes with a backslash."""
    parts: list[str] = []
    for raw in text.replace("\r\n", "\n").split("\n"):
        part = _COMMENT.sub(r"\1", raw)
        continued = _CONTINUED.search(part)
        parts.append(part[: part.rindex("\\")] if continued else part)
        if not continued:
            yield _ESCAPE.sub(r"\1", "".join(parts))
            parts = []
    yield _ESCAPE.sub(r"\1", "".join(parts))


def merged_options(ours: str, theirs: str) -> str:
    """Two comma lists of options as one: ours stand, theirs are added as written, sorted.

    Slinky lower-cases what it adds, which spoils values that are case sensitive; we compare without case only.
    """
    options = {option.partition("=")[0].lower(): option for option in theirs.split(",") if option}
    options |= {option.partition("=")[0].lower(): option for option in ours.split(",") if option}
    return ",".join(sorted(options.values(), key=str.lower))
