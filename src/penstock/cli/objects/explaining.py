"""The fields of our kinds in words, from the same schema that the API server enforces. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from difflib import get_close_matches

from penstock.api.crd import object_schema
from penstock.api.kinds import BY_NAME, GROUP, VERSION, KindInfo
from penstock.api.objects import Json
from penstock.cli.objects.complaint import Complaint
from penstock.cluster import catalogue
from penstock.cluster.errors import NotFound

_WIDTH = 100


def explained(path: str, *, recursive: bool = False) -> str:
    """What a kind or field means, and what is in it."""
    word, *steps = path.split(".")
    info = _kind(word)
    schema, walked = object_schema(info), info.kind
    for step in steps:
        schema, walked = _inside(schema, step, walked), f"{walked}.{step}"
    head = f"GROUP:    {GROUP}\nKIND:     {info.kind}\nVERSION:  {VERSION}\n\n"
    if steps:
        head += f"FIELD:    {steps[-1]} <{_type(schema)}>\n\n"
    text = f"DESCRIPTION:\n{_paragraph(_description(schema), 4)}\n"
    listed = "".join(f"{line}\n" for line in _fields(schema, recursive=recursive))
    return head + text + (f"\nFIELDS:\n{listed}" if listed else "")


def _kind(word: str) -> KindInfo:
    try:
        entry = catalogue.find(word)
    except NotFound as problem:
        raise Complaint(str(problem)) from None
    if entry.group != GROUP:
        raise Complaint(f"{entry.kind} is Kubernetes' own kind; `kubectl explain {word}` knows it")
    return BY_NAME[entry.kind]


def _inside(schema: Json, step: str, walked: str) -> Json:
    properties = _properties(schema)
    if step in properties:
        found: Json = properties[step]
        return found
    near = get_close_matches(step, properties, n=1)
    hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(properties) or 'no fields that we know'}"
    raise Complaint(f'{walked} has no field "{step}"; {hint}')


def _properties(schema: Json) -> Json:
    """The fields of an object, or of the items of a list."""
    inner = schema.get("items", schema)
    return dict(inner.get("properties") or {}) if isinstance(inner, dict) else {}


def _description(schema: Json) -> str:
    lines = [schema.get("description") or "No description."]
    lines += [f"One of {', '.join(map(str, schema['enum']))}."] if "enum" in schema else []
    lines += [f"Default: {schema['default']}."] if schema.get("default") not in (None, "", {}, []) else []
    return " ".join(lines)


def _type(schema: Json) -> str:
    if schema.get("x-kubernetes-int-or-string"):
        return "IntOrString"
    if schema.get("type") == "array":
        return f"[]{_type(schema.get('items', {}))}"
    if isinstance(schema.get("additionalProperties"), dict):
        return f"map[string]{_type(schema['additionalProperties'])}"
    return {"object": "Object"}.get(str(schema.get("type")), str(schema.get("type", "any")))


def _fields(schema: Json, *, recursive: bool, depth: int = 1) -> Iterator[str]:
    inner = schema.get("items", schema)
    needed = set(inner.get("required") or ()) if isinstance(inner, dict) else set()
    for name, field in sorted(_properties(schema).items()):
        mark = " -required-" if name in needed else ""
        yield f"{'  ' * depth}{name}\t<{_type(field)}>{mark}".expandtabs(2)
        if recursive:
            yield from _fields(field, recursive=True, depth=depth + 1)
        else:
            yield _paragraph(_description(field), 4)
            yield ""


def _paragraph(text: str, indent: int) -> str:
    return textwrap.fill(text, _WIDTH, initial_indent=" " * indent, subsequent_indent=" " * indent)
