"""YAML as Kubernetes reads it: JSON's types plus yes/no/on/off, no dates, no base-60 numbers, keys that are text.

So `24:00:00` stays text and `0644` is a number, here as in the cluster.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from penstock.api.bombs import ManifestError, refuse_copies, refuse_depth
from penstock.api.problems import Path

_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_BOOL = r"^(?:y|Y|yes|Yes|YES|n|N|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$"
_LINE_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_NULL = r"^(?:~|null|Null|NULL|)$"
_ADVICE = {
    "cannot start any token": "put the value in quotes",
    "mapping values are not allowed": "put a value that holds a colon in quotes, or check the indentation",
    "expected key": "check the indentation, here and in the lines above",
    "expected '-' indicator": "check the indentation, here and in the lines above",
    "expected ',' or": "close the bracket",
    "end of stream": "close the quotes",
    "undefined alias": "name the anchor (&) before its alias (*), or put the value in quotes",
    "second occurrence": "an anchor (&) is named twice; rename one",
    "unhashable key": "put the value in quotes; if this is a template, render it first (helm template)",
    "for the tag": "take the tag (!) out, or put the value in quotes",
}


@dataclass(frozen=True, slots=True)
class Parsed:
    """One document: the node knows its lines, the duplicates are fields that are written twice."""

    node: yaml.Node
    value: Any
    duplicates: tuple[Path, ...]


def documents(text: str) -> Iterator[Parsed]:
    """The documents of a text, as far as it can be read."""
    refuse_depth(text)
    try:
        yield from _parsed(_Loader(text))
    except yaml.MarkedYAMLError as problem:
        raise _refusal(problem, text) from problem
    except yaml.reader.ReaderError as problem:
        line = text.count("\n", 0, problem.position) + 1
        raise ManifestError("is not text: it holds control characters", line, "save it as plain text") from problem
    except (yaml.YAMLError, ValueError) as problem:
        if isinstance(problem, ManifestError):
            raise
        raise ManifestError(f"is not YAML: {problem}", 1, "save it as plain text") from problem


def _parsed(loader: _Loader) -> Iterator[Parsed]:
    try:
        while loader.check_node():
            node = loader.get_node()
            if node is not None:
                refuse_copies(node)
                duplicates = tuple(_duplicates(node, (), set()))  # before merge keys (<<) are written out
                yield Parsed(node, loader.construct_document(node), duplicates)
    finally:
        loader.dispose()


def lines_of(text: str) -> list[str]:
    """The lines of a text as YAML counts them: it knows more line breaks than one."""
    return _LINE_BREAK.split(text)


def _refusal(problem: yaml.MarkedYAMLError, text: str) -> ManifestError:
    mark = problem.problem_mark or problem.context_mark
    line = mark.line + 1 if mark else 1
    told = str(problem.problem)
    mend = next((advice for part, advice in _ADVICE.items() if part in told), "check this line and the one above")
    if "cannot start any token" in told and "\t" in lines_of(text)[line - 1]:
        mend = "indent with blanks, not with tabs"
    return ManifestError(f"is not YAML: {told}", line, mend)


class _Loader(yaml.CSafeLoader):
    """PyYAML's safe loader with Kubernetes' ideas of scalars and keys."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        """A map with keys as JSON has them."""
        return {_key(key, node): value for key, value in super().construct_mapping(node, deep).items()}


def _key(key: object, node: yaml.Node) -> str:
    if key is None:
        raise yaml.constructor.ConstructorError(None, None, "found an empty key", node.start_mark)
    return str(key).lower() if isinstance(key, bool) else str(key)


def reads_as_text(plain: str) -> bool:
    """Whether a word without quotes around it is text, and not a number, true, false or nothing."""
    return not re.fullmatch(f"{_BOOL}|{_NULL}", plain) and isinstance(_number(plain), str)


def _number(text: str) -> int | float | str:
    """A number as Go reads it; what only looks like one stays text."""
    digits = text.replace("_", "")
    try:
        return int(digits, 8) if re.fullmatch("[-+]?0[0-7]+", digits) else int(digits, 0)
    except ValueError:
        number = float(digits) if _FLOAT.fullmatch(digits) else math.inf
    if not math.isfinite(number):
        return text
    return int(number) if number.is_integer() else number


for _tag, _pattern, _firsts in (
    ("bool", _BOOL, [*"yYnNtTfFoO"]),
    ("int", r"^[-+.]?[0-9][0-9a-fA-FxXoO_.+-]*$|^[-+]\.[0-9]", [*"-+.0123456789"]),
    ("null", _NULL, ["~", "n", "N", ""]),
    ("merge", r"^(?:<<)$", ["<"]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), _firsts)
for _tag in ("int", "float"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_tag}", lambda _, node: _number(node.value))
_Loader.add_constructor("tag:yaml.org,2002:bool", lambda _, node: node.value.lower() in {"y", "yes", "true", "on"})
_Loader.add_constructor("tag:yaml.org,2002:merge", lambda _, node: node.value)


def _duplicates(node: yaml.Node, path: Path, visited: set[int]) -> Iterator[Path]:
    if id(node) in visited:  # an alias: told where it is written, and no bomb of aliases goes off here
        return
    visited.add(id(node))
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            name = str(key.value)
            step = (*path, name)
            if name in seen:
                yield step
            seen.add(name)
            yield from _duplicates(value, step, visited)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _duplicates(item, (*path, index), visited)
