"""Reading fields of objects that may lack any of them: served by an API server, yet no two kinds have the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from penstock.api.objects import Json

NONE = "<none>"


def at(value: Any, *path: str | int) -> Any:
    """The value at a path; None where the path leads nowhere."""
    for step in path:
        if isinstance(step, str):
            value = value.get(step) if isinstance(value, dict) else None
        else:
            value = value[step] if isinstance(value, list) and -len(value) <= step < len(value) else None
    return value


def text(value: Any, *path: str | int, otherwise: str = "") -> str:
    """The value at a path as text."""
    found = at(value, *path)
    return otherwise if found is None or found == "" else str(found)


def number(value: Any, *path: str | int, otherwise: int = 0) -> int:
    """The number at a path."""
    found = at(value, *path)
    return found if isinstance(found, int) else otherwise


def items(value: Any, *path: str | int) -> list[Any]:
    """The list at a path; empty where there is none."""
    found = at(value, *path)
    return found if isinstance(found, list) else []


def mapping(value: Any, *path: str | int) -> Json:
    """The map at a path; empty where there is none."""
    found = at(value, *path)
    return found if isinstance(found, dict) else {}


def name_of(thing: Json) -> str:
    """An object's name."""
    return text(thing, "metadata", "name")


def namespace_of(thing: Json) -> str:
    """An object's namespace; empty for those of the whole cluster."""
    return text(thing, "metadata", "namespace")


def condition(thing: Json, kind: str) -> Json | None:
    """The condition of a type, written in any case."""
    for one in items(thing, "status", "conditions"):
        if text(one, "type").lower() == kind.lower():
            found: Json = one
            return found
    return None


def pairs(labels: Mapping[str, Any]) -> str:
    """Labels as one word: `app=x,tier=y`."""
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items())) or NONE


def selector(thing: Any) -> str:
    """A LabelSelector (`matchLabels`, `matchExpressions`) as kubectl writes it."""
    words = [f"{key}={value}" for key, value in sorted(mapping(thing, "matchLabels").items())]
    for one in items(thing, "matchExpressions"):
        key, sign = text(one, "key"), text(one, "operator")
        several = ",".join(sorted(map(str, items(one, "values"))))
        plain = {"Exists": key, "DoesNotExist": f"!{key}"}
        words.append(plain.get(sign, f"{key} {sign.lower()} ({several})"))
    return ",".join(words) or NONE


def joined(words: Iterable[Any]) -> str:
    """Words as one cell."""
    return ",".join(map(str, words)) or NONE
