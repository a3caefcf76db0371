"""Manifests: YAML text into documents that remember which line each field stands on, and back.

Nothing here touches a file: callers bring the text and a name for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from penstock.api import kubeyaml
from penstock.api.bombs import ManifestError
from penstock.api.objects import Json
from penstock.api.problems import Path


@dataclass(frozen=True, slots=True)
class Document:
    """One YAML document: its value, where it came from, and the way back to its lines."""

    source: str
    value: Json
    duplicates: tuple[Path, ...]
    """Fields written twice: only the last would count, so nobody means it."""
    _node: yaml.Node

    @property
    def line(self) -> int:
        """The line the document begins on, counted from 1."""
        return int(self._node.start_mark.line) + 1

    def line_of(self, path: Path) -> int:
        """The line of a field, or of the nearest part of its path that is there."""
        node, line = self._node, self.line
        for step in path:
            found = _child(node, step)
            if found is None:
                break
            node, line = found
        return line


def read(text: str, source: str) -> Iterator[Document | ManifestError]:
    """The documents of a text, and what of it is none; empty documents are left out."""
    try:
        for one in kubeyaml.documents(text):
            if isinstance(one.value, dict):
                yield Document(source, one.value, one.duplicates, one.node)
            elif one.value is not None:
                line = one.node.start_mark.line + 1
                yield ManifestError("is not a Kubernetes object", line, "give it apiVersion and kind")
    except ManifestError as problem:
        yield problem


def _child(node: yaml.Node, step: str | int) -> tuple[yaml.Node, int] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in reversed(node.value):  # the last one counts
            if key.value == step:
                return value, key.start_mark.line + 1
    elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step], node.value[step].start_mark.line + 1
    return None


class _Dumper(yaml.CSafeDumper):
    """Block style, keys as given, multi-line text as it reads."""

    def ignore_aliases(self, _data: Any) -> bool:
        """Never write anchors: people read this."""
        return True


def _text(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    if "\n" in value:
        style = None if re.search(r"[ \t]\n|\t", value) else "|"
    else:  # PyYAML knows another YAML: without quotes it would write `y` or `08`, which Kubernetes takes for true and 8
        style = None if kubeyaml.reads_as_text(value) else "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def write(documents: list[Any]) -> str:
    """YAML text of several documents, the same to the byte for the same values."""
    return yaml.dump_all(
        documents,
        Dumper=_Dumper,
        sort_keys=False,
        default_flow_style=False,
        allow_unicode=True,
        explicit_start=True,
        width=4096,
    )
