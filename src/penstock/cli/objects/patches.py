"""Patches, computed here so that they mean the same on one machine and on Kubernetes. Pure.

The port takes JSON merge patches (RFC 7396). A JSON patch (RFC 6902) and a strategic merge are worked out on the object
as it is, and what differs is sent as a merge patch that names the version it was worked out on.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from penstock.api.objects import Json
from penstock.cli.objects.complaint import Complaint

_MISSING = object()


def difference(old: Json, new: Json) -> Json:
    """The merge patch that makes `new` of `old`."""
    patch: Json = {key: None for key in old if key not in new}
    for key, value in new.items():
        was = old.get(key, _MISSING)
        if isinstance(was, dict) and isinstance(value, dict):
            if inner := difference(was, value):
                patch[key] = inner
        elif was is _MISSING or type(was) is not type(value) or was != value:
            patch[key] = value
    return patch


def json_patched(value: Json, operations: Sequence[Any]) -> Json:
    """The value after a JSON patch; `Complaint` names the operation that does not fit."""
    changed: Any = copy.deepcopy(value)
    for one in operations:
        try:
            changed = _operated(changed, one)
        except (KeyError, IndexError, ValueError, TypeError, AttributeError):
            raise Complaint(f"the patch {one!r} does not fit the object; look at it with -o yaml") from None
    if not isinstance(changed, dict):
        raise Complaint("the patch leaves no object")
    return changed


def strategic(value: Json, patch: Json) -> Json:
    """The value after a strategic merge patch: lists of named things are merged by name. `null` takes away."""
    from penstock.render.merge import merge  # noqa: PLC0415  (only where it is asked for)

    return merge(_without(value, patch), _said(patch))


def _without(value: Any, patch: Any) -> Any:
    """The value without what the patch takes away."""
    if not isinstance(value, dict) or not isinstance(patch, dict):
        return value
    return {
        key: _without(inner, patch.get(key))
        for key, inner in value.items()
        if key not in patch or patch[key] is not None
    }


def _said(patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    return {key: _said(value) for key, value in patch.items() if value is not None}


def _operated(value: Any, one: Json) -> Any:
    path = _steps(one["path"])
    match one["op"]:
        case "add":
            return _put(value, path, one["value"], insert=True)
        case "replace":
            return _put(_removed(value, path), path, one["value"], insert=True) if path else one["value"]
        case "remove":
            return _removed(value, path)
        case "test":
            if _at(value, path) != one["value"]:
                raise Complaint(f"the test of {one['path']} in the patch does not hold")
            return value
        case "move" | "copy":
            source = _steps(one["from"])
            moved = copy.deepcopy(_at(value, source))
            return _put(_removed(value, source) if one["op"] == "move" else value, path, moved, insert=True)
        case other:
            raise ValueError(other)


def _steps(pointer: str) -> list[str]:
    if pointer and not pointer.startswith("/"):
        raise ValueError(pointer)
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _at(value: Any, path: Sequence[str]) -> Any:
    for step in path:
        value = value[_index(step, len(value))] if isinstance(value, list) else value[step]
    return value


def _index(step: str, size: int) -> int:
    if not step.isdecimal() or int(step) >= size:
        raise IndexError(step)
    return int(step)


def _put(value: Any, path: Sequence[str], new: Any, *, insert: bool) -> Any:
    if not path:
        return new
    holder, last = _at(value, path[:-1]), path[-1]
    if isinstance(holder, list):
        holder.insert(len(holder) if last == "-" else _index(last, len(holder) + insert), new)
    else:
        holder[last] = new
    return value


def _removed(value: Any, path: Sequence[str]) -> Any:
    holder, last = _at(value, path[:-1]), path[-1]
    if isinstance(holder, list):
        del holder[_index(last, len(holder))]
    else:
        del holder[last]
    return value


def merged(value: Json, patch: Json) -> Json:
    """The value after a merge patch."""
    result = dict(value)
    for key, part in patch.items():
        if part is None:
            result.pop(key, None)
        elif isinstance(part, dict):
            inner = result.get(key)
            result[key] = merged(inner if isinstance(inner, dict) else {}, part)
        else:
            result[key] = part
    return result
