"""Does a value have the shape its kind asks for? All problems at once, each with its path.

It walks the same structural schema that the API server enforces, so `penstock validate` says no where the cluster
would, and warns where the cluster would silently drop a misspelt field.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from difflib import get_close_matches
from typing import Any

from penstock.api.objects import Json
from penstock.api.patterns import HINTS
from penstock.api.problems import Path, Problem, Severity, quoted

_TYPE_NAMES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a map",
}
_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
_PLAIN = {"string": str, "integer": int, "boolean": bool}
_BARE = frozenset({"type", "description"})
"""What a schema says that asks for nothing but a type."""


def check(value: object, schema: Json, path: Path = ()) -> Iterator[Problem]:
    """Yield every way in which `value` does not fit `schema`."""
    if schema.get("x-kubernetes-int-or-string"):
        yield from _int_or_string(value, schema, path)
        return
    wanted = schema.get("type")
    if wanted is None:
        return
    if _too_large(value):
        yield Problem(path=path, message=f"is {value}, more than 64 bits hold", mend="write a smaller number")
        return
    if not isinstance(value, _PYTHON_TYPES[wanted]) or (isinstance(value, bool) and wanted != "boolean"):
        yield Problem(path=path, message=f"is {_say(value)}", mend=_mend(value, wanted, schema))
        return
    yield from _CHECKS.get(wanted, _scalar)(value, schema, path)


def without_nulls(value: Any, schema: Json) -> Any:
    """Drop explicit nulls from fields we know, as the API server does; raw pod fields keep theirs."""
    if isinstance(value, dict) and "additionalProperties" in schema:
        return {k: without_nulls(v, schema["additionalProperties"]) for k, v in value.items() if v is not None}
    if isinstance(value, dict) and "properties" in schema:
        known = schema["properties"]
        return {
            k: without_nulls(v, known.get(k, {})) if isinstance(v, dict | list) else v
            for k, v in value.items()
            if v is not None or k not in known
        }
    if isinstance(value, list) and "items" in schema:
        return [without_nulls(item, schema["items"]) for item in value]
    return value


def _say(value: object) -> str:
    if value is None:
        return "empty"
    if isinstance(value, dict | list):
        return _TYPE_NAMES["object" if isinstance(value, dict) else "array"]
    return quoted(value) if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)


def _mend(value: object, wanted: str, schema: Json) -> str:
    """What to write instead; often YAML only took a text for something else, or the other way round."""
    if wanted == "string" and isinstance(value, bool | int | float):
        fits = re.fullmatch(schema.get("pattern", ".*"), _say(value))
        return f'put it in quotes: "{_say(value)}"' if fits else HINTS[schema["pattern"]]
    if wanted == "integer" and isinstance(value, str) and re.fullmatch("-?[0-9]+", value):
        return f"take off the quotes: {value}"
    if wanted == "boolean" and isinstance(value, str) and value.lower() in {"true", "false", "yes", "no"}:
        return f"take off the quotes: {value.lower()}"
    return f"write {_TYPE_NAMES[wanted]}"


def _too_large(value: object) -> bool:
    return isinstance(value, int) and not -(2**63) <= value < 2**63


def _int_or_string(value: object, schema: Json, path: Path) -> Iterator[Problem]:
    if isinstance(value, bool) or not isinstance(value, int | str) or _too_large(value):
        mend = _mend(value, "string", schema) if isinstance(value, float) else HINTS[schema["pattern"]]
        yield Problem(path=path, message=f"is {_say(value)}", mend=mend)
    elif isinstance(value, str):
        yield from _pattern(value, schema, path)


def _object(value: Json, schema: Json, path: Path) -> Iterator[Problem]:
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if value.get(name) is None:
            yield Problem(path=(*path, name), message="is missing", mend=f"add {name}")
    for name, child in value.items():
        if name in properties:
            if child is not None and not _plain(child, properties[name]):
                yield from check(child, properties[name], (*path, name))
        elif "additionalProperties" in schema:
            yield from check(child, schema["additionalProperties"], (*path, name))
        elif not schema.get("x-kubernetes-preserve-unknown-fields"):
            yield _unknown(name, properties, path)


def _plain(value: object, schema: Json) -> bool:
    """Whether a value is of the plain type that is all its schema asks for, as most are: all is well then."""
    return value.__class__ is _PLAIN.get(schema.get("type", "")) and schema.keys() <= _BARE and not _too_large(value)


def _unknown(name: str, properties: Json, path: Path) -> Problem:
    close = get_close_matches(name, properties, n=1)
    mend = f"did you mean {close[0]}?" if close else "the API server drops it; take it out"
    return Problem(path=(*path, name), message="is not a field we know", mend=mend, severity=Severity.WARNING)


def _array(value: list[Any], schema: Json, path: Path) -> Iterator[Problem]:
    least, most = schema.get("minItems", 0), schema.get("maxItems")
    if len(value) < least:
        yield Problem(path=path, message=f"has {len(value)} items", mend=f"name at least {least}")
    if most is not None and len(value) > most:
        yield Problem(path=path, message=f"has {len(value)} items", mend=f"name at most {most}")
    for index, item in enumerate(value):
        yield from check(item, schema.get("items", {}), (*path, index))
    yield from _unique(value, schema.get("x-kubernetes-list-map-keys", ()), path)


def _unique(value: list[Any], keys: list[str], path: Path) -> Iterator[Problem]:
    seen: set[tuple[object, ...]] = set()
    for index, item in enumerate(value if keys else ()):
        identity = tuple(item.get(key) for key in keys) if isinstance(item, dict) else ()
        if not identity or not all(isinstance(part, str) for part in identity):
            continue  # said already: it lacks a key, or its key is no text
        if identity in seen:
            yield Problem(
                path=(*path, index), message=f"repeats {', '.join(map(str, identity))}", mend="give each its own"
            )
        seen.add(identity)


def _scalar(value: Any, schema: Json, path: Path) -> Iterator[Problem]:
    allowed = schema.get("enum")
    if allowed and value not in allowed:
        yield Problem(path=path, message=f"is {_say(value)}", mend=_one_of(value, allowed))
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and value < low:
        yield Problem(path=path, message=f"is {value}", mend=f"write at least {low}")
    if high is not None and value > high:
        yield Problem(path=path, message=f"is {value}", mend=f"write at most {high}")


def _one_of(value: str, allowed: list[str]) -> str:
    same = [one for one in allowed if one.lower() == value.lower()]
    return f"write {same[0]}" if same else f"write one of {', '.join(allowed)}"


def _string(value: str, schema: Json, path: Path) -> Iterator[Problem]:
    yield from _scalar(value, schema, path)
    shortest, longest = schema.get("minLength", 0), schema.get("maxLength")
    if len(value) < shortest:
        yield Problem(path=path, message="is empty", mend="write a name")
    if longest is not None and len(value) > longest:
        yield Problem(path=path, message=f"has {len(value)} characters", mend=f"write at most {longest}")
    problems = list(_pattern(value, schema, path))
    yield from problems
    if schema.get("format") == "date-time" and not problems and not _on_the_calendar(value):
        yield Problem(
            path=path, message=f"is {quoted(value)}, which no calendar has", mend="check the day and the hour"
        )


def _on_the_calendar(value: str) -> bool:
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def _pattern(value: str, schema: Json, path: Path) -> Iterator[Problem]:
    pattern = schema.get("pattern")
    # Not `search`: for Python a $ also stands before a last line break, for the API server only at the end.
    if pattern and not re.fullmatch(pattern, value):
        yield Problem(path=path, message=f"is {quoted(value)}", mend=HINTS[pattern])


_CHECKS: dict[str, Callable[[Any, Json, Path], Iterator[Problem]]] = {
    "object": _object,
    "array": _array,
    "string": _string,
}
