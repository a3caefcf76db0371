"""What differs between two values, field by field, in words: `slurmd.image: a:1 -> a:2`. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

_MISSING = object()
_LONGEST = 40
"""Characters of a value that are shown."""


def field_changes(old: Any, new: Any, path: str = "") -> Iterator[str]:
    """Each field that came, went or changed; items of a list are told apart by their names."""
    before, after = _fields(old), _fields(new)
    if before is None or after is None or isinstance(old, list) is not isinstance(new, list):
        if _differs(old, new):
            yield _told(path, old, new)
        return
    for name in [*before, *(name for name in after if name not in before)]:
        was, is_ = before.get(name, _MISSING), after.get(name, _MISSING)
        step = f"{path}[{name}]" if isinstance(old, list) else f"{path}.{name}" if path else name
        if was is _MISSING or is_ is _MISSING:
            yield from _leaves(step, was, is_)
        else:
            yield from field_changes(was, is_, step)


def _fields(value: Any) -> dict[str, Any] | None:
    """What a value falls into; None when it is told whole."""
    if isinstance(value, dict):
        return value
    if not isinstance(value, list):
        return None
    names = [one.get("name") if isinstance(one, dict) else None for one in value]
    told_apart = all(isinstance(name, str) for name in names) and len({*names}) == len(names)
    return dict(zip(map(str, names), value, strict=True)) if told_apart else None


def _leaves(path: str, was: Any, is_: Any) -> Iterator[str]:
    """A field that came or went, with all that is in it."""
    there = was if is_ is _MISSING else is_
    if isinstance(there, dict) and there:
        for name, part in there.items():
            yield from _leaves(f"{path}.{name}", *((part, _MISSING) if is_ is _MISSING else (_MISSING, part)))
    else:
        yield _told(path, was, is_)


def _differs(old: Any, new: Any) -> bool:
    # 1 and true are equal in Python, and are not in a manifest.
    return json.dumps(old, sort_keys=True) != json.dumps(new, sort_keys=True)


def _told(path: str, old: Any, new: Any) -> str:
    if old is _MISSING:
        return f"{path}: {_short(new)} (new)"
    return f"{path}: {_short(old)} (gone)" if new is _MISSING else f"{path}: {_short(old)} -> {_short(new)}"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
