"""kubectl's JSONPath templates: `{.items[*].metadata.name}`, `{range .items[*]}{.kind} {end}`, text in between.

The language is client-go's: braces hold expressions, all else is printed as it stands, several results are parted by
blanks, and what is not there is nothing. `scanner.py` reads what stands in the braces, `expressions.py` finds it. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.cli.objects.expressions import Path
from penstock.cli.objects.scanner import JsonPathError, Scanner

__all__ = ["JsonPathError", "Template", "shown"]


@dataclass(frozen=True, slots=True)
class _Text:
    text: str


@dataclass(frozen=True, slots=True)
class _Values:
    path: Path


@dataclass(frozen=True, slots=True)
class _Range:
    path: Path
    body: tuple[_Text | _Values | _Range, ...]


_Node = _Text | _Values | _Range


class Template:
    """A template, read once. Made from text; `JsonPathError` says where it is wrong."""

    def __init__(self, text: str) -> None:
        scanner = Scanner(text)
        self._nodes = tuple(_nodes(scanner, nested=False))

    @classmethod
    def relaxed(cls, text: str) -> Template:
        """A lone path, with or without its braces and its first dot, as `--for=jsonpath` and columns take it."""
        bare = text[1:-1] if text.startswith("{") and text.endswith("}") else text
        return cls(f"{{{bare}}}" if bare.startswith((".", "[", "$", "@")) else f"{{.{bare}}}")

    def values(self, value: Any) -> list[Any]:
        """All that the paths of the template find."""
        return [found for node in self._nodes if isinstance(node, _Values) for found in node.path.find(value, value)]

    def render(self, value: Any) -> str:
        """The template with what is found in its places."""
        return "".join(_rendered(self._nodes, value, value))


def shown(value: Any) -> str:
    """A value as it is printed: text as it is, the rest as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)


def _rendered(nodes: Sequence[_Node], current: Any, root: Any) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, _Text):
            yield node.text
        elif isinstance(node, _Values):
            yield " ".join(map(shown, node.path.find(current, root)))
        else:
            for item in node.path.find(current, root):
                yield from _rendered(node.body, item, root)


def _nodes(scanner: Scanner, *, nested: bool) -> Iterator[_Node]:
    """The parts of a template up to its end, or up to the `{end}` of the range we are in."""
    while not scanner.over:
        if text := scanner.text():
            yield _Text(text)
            continue
        scanner.expect("{")
        scanner.blanks()
        if scanner.word("end"):
            scanner.close()
            if not nested:
                raise scanner.error("{end} without {range}")
            return
        yield from _braces(scanner)
    if nested:
        raise scanner.error("{range} without {end}")


def _braces(scanner: Scanner) -> Iterator[_Node]:
    if scanner.word("range"):
        path = scanner.path()
        scanner.close()
        yield _Range(path, tuple(_nodes(scanner, nested=True)))
        return
    while not (scanner.at("}") or scanner.over):
        yield _Text(scanner.quoted()) if scanner.at("'", '"') else _Values(scanner.path())
        scanner.blanks()
    scanner.close()
