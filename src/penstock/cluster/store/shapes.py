"""Shapes: into which pieces a value falls, so that several managers can own one object.

A piece has a path element as `managedFields` writes it: `f:name` for a field, `k:{"name":"x"}` for an item of a list
that is merged by key, `v:"x"` for a member of a set. What has no pieces (numbers, texts, atomic lists and maps) is
owned whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import msgspec

from penstock.api.objects import Json

Piece = tuple["Shape", Any, bool]
"""A part of a value with its shape, and whether it is a field of a struct: such a field comes and goes with what is in
it, while entries of maps and lists count for themselves. A bare tuple, for there are hundreds in a pod."""
Pieces = dict[str, Piece]
"""By path element, in the value's own order."""


class Shape:
    """What is owned whole; shapes that fall into pieces are below."""

    def pieces(self, _value: Any) -> Pieces | None:
        """The parts of a value; None when it is one piece."""
        return None

    def child(self, _element: str) -> Shape:
        """The shape below a path element."""
        return self

    def names(self, _element: str) -> bool:
        """Whether a path element is a field of a struct."""
        return False

    def joined(self, pieces: Pieces) -> Any:
        """A value from its parts."""
        raise TypeError(f"what is whole has no parts: {list(pieces)}")


ATOMIC = Shape()
RAW = Shape()
"""Owned whole, and kept as it was written: somebody else's JSON."""


@dataclass(frozen=True, slots=True)
class Fields(Shape):
    """A map whose entries are owned one by one."""

    known: Mapping[str, Shape] = field(default_factory=dict)
    rest: Shape | None = None
    """The shape of entries that are not known; None: like this one, all the way down."""
    structs: bool = False
    """Whether entries that are not known are fields of a struct as well, only not told."""

    def pieces(self, value: Any) -> Pieces | None:
        """The entries of a map."""
        if not isinstance(value, dict):
            return None
        known, rest, structs = self.known, self.rest or self, self.structs
        return {f"f:{key}": (known.get(key, rest), part, structs or key in known) for key, part in value.items()}

    def child(self, element: str) -> Shape:
        """The shape below the path element of an entry."""
        return self.entry(element[2:])

    def entry(self, name: str) -> Shape:
        """The shape of an entry."""
        return self.known.get(name, self.rest or self)

    def names(self, element: str) -> bool:
        """Whether an entry is a field of a struct."""
        return self.structs or element[2:] in self.known

    def joined(self, pieces: Pieces) -> Json:
        """The map of the entries."""
        return {element[2:]: part for element, (_, part, _) in pieces.items()}


@dataclass(frozen=True, slots=True)
class Items(Shape):
    """A list whose items find each other by keys; without keys, a set of plain values."""

    keys: tuple[str, ...] = ()
    item: Shape = ATOMIC
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def pieces(self, value: Any) -> Pieces | None:
        """The items of a list; None also where they cannot be told apart, so that such a list is owned whole."""
        if not isinstance(value, list):
            return None
        pieces: Pieces = {self._element(item): (self.item, item, False) for item in value}
        return pieces if len(pieces) == len(value) and "" not in pieces else None

    def _element(self, item: Any) -> str:
        if not self.keys:
            return f"v:{msgspec.json.encode(item).decode()}"
        if not isinstance(item, dict):
            return ""
        return _key_element(self.keys, tuple(item.get(key, self.defaults.get(key)) for key in self.keys))

    def child(self, _element: str) -> Shape:
        """The shape of every item."""
        return self.item

    def joined(self, pieces: Pieces) -> list[Any]:
        """The list of the items."""
        return [part for _, part, _ in pieces.values()]


@lru_cache(maxsize=4096)
def _key_element(keys: tuple[str, ...], values: tuple[Any, ...]) -> str:
    present = {key: part for key, part in zip(keys, values, strict=True) if part is not None}
    return f"k:{msgspec.json.encode(present).decode()}" if present else ""


DEDUCED = Fields()
"""What nobody has described: maps fall apart, everything else is whole."""
STRUCT = Fields(structs=True)
"""A struct of which nothing needs to be told."""
MAP = Fields(rest=ATOMIC)
"""A map of plain values: labels, quantities."""
SET = Items()


def struct(**known: Shape) -> Fields:
    """A struct of which only the fields that are not plain are told."""
    return Fields(known, STRUCT, structs=True)


def by(*keys: str, item: Shape = STRUCT, **defaults: Any) -> Items:
    """A list merged by keys."""
    return Items(tuple(sorted(keys)), item, defaults)


def of_schema(schema: Json) -> Shape:
    """The shape that a structural schema of a CustomResourceDefinition describes."""
    if schema.get("x-kubernetes-map-type") == "atomic":
        return ATOMIC
    if schema.get("type") == "array":
        return _of_list(schema)
    raw = schema.get("x-kubernetes-preserve-unknown-fields")
    if schema.get("type") != "object":
        return DEDUCED if raw else ATOMIC
    known = {name: of_schema(part) for name, part in schema.get("properties", {}).items()}
    rest = of_schema(schema["additionalProperties"]) if "additionalProperties" in schema else DEDUCED
    return Fields(known, rest)


def _of_list(schema: Json) -> Shape:
    kind = schema.get("x-kubernetes-list-type", "atomic")
    item = of_schema(schema.get("items", {}))
    if kind == "map":
        return Items(tuple(sorted(schema["x-kubernetes-list-map-keys"])), item)
    return Items((), item) if kind == "set" else ATOMIC
