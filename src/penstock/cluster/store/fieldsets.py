"""Sets of fields, in the form that `managedFields` has on the wire (FieldsV1).

A set is a tree of path elements: `{"f:spec": {"f:replicas": {}}}` holds `.spec.replicas` alone, and `"."` says that an
element with elements below it is itself in the set. No function changes what it is given: trees share branches.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.cluster.store.shapes import Shape

FieldSet = dict[str, Any]
"""Path elements, each with the set below it."""

_SELF = "."
LEAF: FieldSet = {}
"""What stands below an element that is in a set, and below which nothing is."""


def holds(node: FieldSet) -> bool:
    """Whether the element that this node stands for is itself in the set."""
    return not node or _SELF in node


def node(below: FieldSet, *, itself: bool) -> FieldSet | None:
    """What stands for an element: nothing when neither it nor anything below it is in the set."""
    if not itself:
        return below or None
    return {_SELF: LEAF, **below} if below else LEAF


def below(node: FieldSet) -> FieldSet:
    """The set below an element."""
    return {element: part for element, part in node.items() if element != _SELF} if _SELF in node else node


def union(one: FieldSet, other: FieldSet) -> FieldSet:
    """What is in either set."""
    result = dict(one)
    for element, theirs in other.items():
        ours = result.get(element)
        result[element] = theirs if ours is None or ours == theirs else _united(ours, theirs)
    return result


def _united(ours: FieldSet, theirs: FieldSet) -> FieldSet:
    return node(union(below(ours), below(theirs)), itself=holds(ours) or holds(theirs)) or LEAF


def difference(one: FieldSet, other: FieldSet) -> FieldSet:
    """What is in the first set and not in the second; what is below a field is a field of its own."""
    if not other:
        return one
    result: FieldSet = {}
    for element, ours in one.items():
        theirs = other.get(element)
        left = ours if theirs is None else _left(ours, theirs)
        if left is not None:
            result[element] = left
    return result


def _left(ours: FieldSet, theirs: FieldSet) -> FieldSet | None:
    if not ours:
        return None if holds(theirs) else LEAF
    return node(difference(below(ours), below(theirs)), itself=holds(ours) and not holds(theirs))


def intersection(one: FieldSet, other: FieldSet) -> FieldSet:
    """What is in both sets."""
    result: FieldSet = {}
    for element, ours in one.items():
        theirs = other.get(element)
        common = None if theirs is None else _common(ours, theirs)
        if common is not None:
            result[element] = common
    return result


def _common(ours: FieldSet, theirs: FieldSet) -> FieldSet | None:
    if not ours:
        return LEAF if holds(theirs) else None
    return node(intersection(below(ours), below(theirs)), itself=holds(ours) and holds(theirs))


def with_named(fields: FieldSet, shape: Shape) -> FieldSet:
    """The set with every struct field that something is held below: such a field comes and goes with its content."""
    return {element: _with_named(part, shape, element) if part else LEAF for element, part in fields.items()}


def _with_named(part: FieldSet, shape: Shape, element: str) -> FieldSet:
    inner = with_named(below(part), shape.child(element))
    return node(inner, itself=holds(part) or shape.names(element)) or LEAF


def paths(fields: FieldSet, prefix: str = "") -> Iterator[str]:
    """Every field of a set, spelt as the API server's messages do: `.spec.containers[name="c"].image`."""
    for element, part in fields.items():
        if element == _SELF:
            continue
        path = prefix + _spelt(element)
        if holds(part):
            yield path
        yield from paths(part, path)


def _spelt(element: str) -> str:
    kind, text = element[:2], element[2:]
    if kind == "f:":
        return f".{text}"
    if kind == "v:":
        return f"[={text}]"
    return "[" + text[1:-1].replace('":', "=").replace(',"', ",").removeprefix('"') + "]"
