"""The forms of change that clients send, each turned into a whole object or a merge patch. Pure.

The store knows merge patches and server-side apply. What comes as a JSON patch (RFC 6902), as a strategic merge patch
(kubectl, for Kubernetes' own kinds) or as a whole new object is worked out here on the object as it is, and handed on
as the merge patch that leads from the one to the other, bound to the version it was worked out on.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from penstock.api.objects import Json
from penstock.cluster.errors import Refused

_SYSTEM = frozenset(
    {
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "managedFields",
        "selfLink",
    }
)
"""Metadata that is not a client's to change."""


def difference(live: Json, wanted: Json) -> Json:
    """The merge patch that makes the wanted object of the live one; it holds only for the live one's version."""
    patch = _difference(_plain(live), _plain(wanted))
    asked = wanted.get("metadata") or {}
    bound = {name: asked[name] for name in ("uid", "resourceVersion") if asked.get(name)}
    metadata = {"resourceVersion": live["metadata"]["resourceVersion"], **bound}
    return {**patch, "metadata": {**patch.get("metadata", {}), **metadata}}


def _plain(body: Json) -> Json:
    metadata = {name: part for name, part in (body.get("metadata") or {}).items() if name not in _SYSTEM}
    return {**body, "metadata": metadata}


def _difference(old: Json, new: Json) -> Json:
    patch: Json = {name: None for name in old if new.get(name) is None}
    for name, part in new.items():
        before = old.get(name)
        if part is None or part == before:
            continue
        merges = isinstance(part, dict) and isinstance(before, dict)
        patch[name] = _difference(before or {}, part) if merges else part
    return patch


def json_patched(target: Json, operations: Any) -> Json:
    """The target after a JSON patch; all of it or `Refused`."""
    if not isinstance(operations, list) or not all(isinstance(one, dict) for one in operations):
        raise Refused("a JSON patch is a list of operations")
    result: Any = copy.deepcopy(target)
    for operation in operations:
        result = _operated(result, operation)
    if not isinstance(result, dict):
        raise Refused("the patch leaves no object")
    return result


def _operated(document: Any, operation: Json) -> Any:
    verb, path = operation.get("op"), _pointer(operation.get("path"))
    if verb == "test":
        if _at(document, path) != operation.get("value"):
            raise Refused(f"the server rejected our request: testing path {operation['path']} failed")
        return document
    if verb in {"move", "copy"}:
        source = _pointer(operation.get("from"))
        value = copy.deepcopy(_at(document, source))
        document = _without(document, source) if verb == "move" else document
        return _with(document, path, value, insert=True)
    if verb == "remove":
        return _without(document, path)
    if verb in {"add", "replace"} and "value" in operation:
        if verb == "replace":
            _at(document, path)
        return _with(document, path, operation["value"], insert=verb == "add")
    raise Refused(f"{verb!r} is not an operation of a JSON patch, or lacks its value")


def _pointer(text: Any) -> list[str]:
    if not isinstance(text, str) or (text and not text.startswith("/")):
        raise Refused(f"{text!r} is not a path of a JSON patch; it begins with /")
    return [piece.replace("~1", "/").replace("~0", "~") for piece in text.split("/")[1:]]


def _at(document: Any, path: Sequence[str]) -> Any:
    for piece in path:
        document = document[_index(document, piece)] if isinstance(document, list) else _member(document, piece)
    return document


def _member(document: Any, piece: str) -> Any:
    if not isinstance(document, dict) or piece not in document:
        raise Refused(f'the server rejected our request: the patch names "{piece}", which is not there')
    return document[piece]


def _index(items: list[Any], piece: str, *, end: bool = False) -> int:
    if end and piece == "-":
        return len(items)
    if not (piece.isascii() and piece.isdecimal() and int(piece) < len(items) + end):
        raise Refused(f'the server rejected our request: the patch names item "{piece}" of a list of {len(items)}')
    return int(piece)


def _with(document: Any, path: Sequence[str], value: Any, *, insert: bool) -> Any:
    if not path:
        return value
    parent, last = _at(document, path[:-1]), path[-1]
    if isinstance(parent, dict):
        parent[last] = value
    elif not isinstance(parent, list):
        _member(parent, last)
    elif insert:
        parent.insert(_index(parent, last, end=True), value)
    else:
        parent[_index(parent, last)] = value
    return document


def _without(document: Any, path: Sequence[str]) -> Any:
    if not path:
        raise Refused("the patch leaves no object")
    _at(document, path)
    parent, last = _at(document, path[:-1]), path[-1]
    del parent[_index(parent, last) if isinstance(parent, list) else last]
    return document
