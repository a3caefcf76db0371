"""Structural schemas, made from the structs, so that what the API server enforces and what we decode cannot drift.

Kubernetes takes a subset of JSON Schema: no references, no unions but int-or-string, no null. Types outside the
subset are refused here, when the schema is made, rather than by a cluster somewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from functools import cache
from typing import Any

import msgspec
from msgspec import inspect as types

from penstock.api import patterns
from penstock.api.objects import Json, Part
from penstock.api.scalars import Duration, IntOrPercent, Quantity, encode_scalar

_SCALARS: dict[type, Json] = {
    Duration: {"type": "string", "pattern": patterns.DURATION},
    IntOrPercent: {"x-kubernetes-int-or-string": True, "pattern": patterns.PERCENT, "maxLength": 8},
    Quantity: {"x-kubernetes-int-or-string": True, "pattern": patterns.QUANTITY},
}


@cache
def schema_of(part: type[Part]) -> Json:
    """The structural schema of a struct. The result is shared: copy it before changing it."""
    return _object(part)


def _object(part: type[Part]) -> Json:
    info = types.type_info(part)
    if not isinstance(info, types.StructType):
        raise TypeError(f"{part.__name__} is not a struct")
    schema: Json = {"type": "object", "description": _first_sentence(part)}
    schema["properties"] = {field.encode_name: _field(field) for field in info.fields}
    required = sorted(field.encode_name for field in info.fields if field.required)
    return schema | ({"required": required} if required else {}) | part.extra_schema


def _field(field: types.Field) -> Json:
    schema = _type(field.type)
    typed = "type" in schema or "x-kubernetes-int-or-string" in schema
    default = _scalar_default(field.default) if typed else None
    return schema if default is None else schema | {"default": default}


def _scalar_default(default: object) -> object:
    """Defaults of leaves only: a default of a whole object would be stored into every manifest that lacks it."""
    wire = encode_scalar(default) if isinstance(default, Duration | IntOrPercent | Quantity) else default
    wire = wire.value if isinstance(wire, Enum) else wire
    return wire if isinstance(wire, bool | int | float | str) else None


def _type(kind: types.Type) -> Json:
    if isinstance(kind, types.Metadata):
        return _type(kind.type) | (kind.extra_json_schema or {})
    for candidate, translate in _TRANSLATIONS:
        if isinstance(kind, candidate):
            return translate(kind)
    raise TypeError(f"{kind} has no structural schema")


def _union(kind: Any) -> Json:
    branches = [branch for branch in kind.types if not isinstance(branch, types.NoneType)]
    if len(branches) == 1:
        return _type(branches[0])
    # The one union we need (a map or a text) has no structural form: the server keeps it as it is, `shape` checks it.
    return {"x-kubernetes-preserve-unknown-fields": True}


def _integer(kind: Any) -> Json:
    bounds = {"minimum": kind.ge, "maximum": kind.le}
    return {"type": "integer"} | {name: bound for name, bound in bounds.items() if bound is not None}


def _string(kind: Any) -> Json:
    bounds = {"minLength": kind.min_length, "maxLength": kind.max_length}
    return {"type": "string"} | {name: bound for name, bound in bounds.items() if bound is not None}


def _map(kind: Any) -> Json:
    if isinstance(kind.value_type, types.AnyType):
        return {"type": "object"}
    return {"type": "object", "additionalProperties": _type(kind.value_type)}


def _enum(kind: Any) -> Json:
    return {"type": "string", "enum": [member.value for member in kind.cls]}


_TRANSLATIONS: list[tuple[type, Callable[[Any], Json]]] = [
    (types.BoolType, lambda _: {"type": "boolean"}),
    (types.IntType, _integer),
    (types.FloatType, lambda _: {"type": "number"}),
    (types.StrType, _string),
    (types.DateTimeType, lambda _: {"type": "string", "format": "date-time", "pattern": patterns.TIME}),
    (types.EnumType, _enum),
    (types.ListType, lambda kind: {"type": "array", "items": _type(kind.item_type)}),
    (types.DictType, _map),
    (types.StructType, lambda kind: schema_of(kind.cls)),
    (types.CustomType, lambda kind: _SCALARS[kind.cls]),
    (types.UnionType, _union),
]


def _first_sentence(part: type[Part]) -> str:
    return (part.__doc__ or "").strip().partition("\n\n")[0]


def fields_of(schema: Json, prefix: str = "") -> Iterable[str]:
    """Every field of a schema as a dotted path, lists as `name[]`: what tests compare with lists kept as data."""
    for name, child in schema.get("properties", {}).items():
        path = f"{prefix}{name}"
        items = child.get("items")
        yield path
        yield from fields_of(items, f"{path}[].") if items else fields_of(child, f"{path}.")


def encode(value: object) -> Any:
    """A struct, or anything that holds some, as plain JSON values."""
    return msgspec.to_builtins(value, enc_hook=encode_scalar, str_keys=True)
