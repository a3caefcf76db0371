"""Reading manifests: YAML text into documents that remember which line each field stands on.

YAML as Kubernetes reads it: JSON's types plus yes/no/on/off, no dates and no base-60 numbers, so `24:00:00` stays
text. Nothing here touches a file: callers bring the text and a name for it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import yaml

from penstock.api.objects import Json
from penstock.api.problems import Path


class ManifestError(ValueError):
    """Text that is not YAML; knows the line."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class _Loader(yaml.CSafeLoader):
    """PyYAML's safe loader with Kubernetes' ideas of scalars."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}


for _tag, _pattern, _first in (
    ("bool", r"^(?:y|Y|yes|Yes|YES|n|N|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$", "yYnNtTfFoO"),
    ("int", r"^[-+]?(?:0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|0o?[0-7_]+|0b[01_]+)$", "-+0123456789"),
    ("float", r"^[-+]?(?:[0-9]+\.[0-9]*(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+|\.[0-9]+)$", "-+0123456789."),
    ("null", r"^(?:~|null|Null|NULL|)$", "~nN\0"),
    ("merge", r"^(?:<<)$", "<"),
):  # fmt: skip
    _firsts = [*_first.replace("\0", ""), *([""] if "\0" in _first else [])]
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), _firsts)
_Loader.add_constructor("tag:yaml.org,2002:bool", lambda _, node: node.value.lower() in {"y", "yes", "true", "on"})


@dataclass(frozen=True, slots=True)
class Document:
    """One YAML document: its value, where it came from, and the way back to its lines."""

    source: str
    value: Json
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

    @property
    def duplicates(self) -> list[Path]:
        """Fields written twice: only the last would count, so nobody means it."""
        return _duplicates(self._node, (), set())


def read(text: str, source: str) -> list[Document]:
    """Split a text into its documents; empty ones are left out."""
    loader = _Loader(text)
    documents: list[Document] = []
    try:
        while loader.check_node():
            node = loader.get_node()
            value = loader.construct_document(node) if node is not None else None
            if node is not None and value is not None:
                documents.append(Document(source, _as_map(value, node), node))
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        raise ManifestError(f"is not YAML: {problem.problem}", mark.line + 1 if mark else 1) from problem
    except (yaml.YAMLError, RecursionError, ValueError) as problem:
        raise ManifestError(f"is not YAML: {problem}", 1) from problem
    finally:
        loader.dispose()
    return documents


def _as_map(value: object, node: yaml.Node) -> Json:
    if not isinstance(value, dict):
        raise ManifestError("is not a Kubernetes object: a map with apiVersion and kind", node.start_mark.line + 1)
    return value


def _child(node: yaml.Node, step: str | int) -> tuple[yaml.Node, int] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == step:
                return value, key.start_mark.line + 1
    elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step], node.value[step].start_mark.line + 1
    return None


def _duplicates(node: yaml.Node, path: Path, visited: set[int]) -> list[Path]:
    if id(node) in visited:  # an alias: told where it is written, and no bomb of aliases goes off here
        return []
    visited.add(id(node))
    found: list[Path] = []
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            step = (*path, str(key.value))
            found += [step] if key.value in seen else []
            seen.add(key.value)
            found += _duplicates(value, step, visited)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            found += _duplicates(item, (*path, index), visited)
    return found


class _Dumper(yaml.CSafeDumper):
    """Block style, keys as given, multi-line text as it reads."""

    def ignore_aliases(self, _data: Any) -> bool:
        """Never write anchors: people read this."""
        return True


def _text(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value and not re.search(r"[ \t]\n|\t", value) else None
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
