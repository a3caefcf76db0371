"""Objects taken apart by their shape: which fields are stated, what changed, what a merge makes, what a removal leaves.

These are the four walks of Kubernetes' structured merge (sigs.k8s.io/structured-merge-diff, `typed`); what they are
for is told in `managers`. Values are shared between what goes in and what comes out and never changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from penstock.api.objects import Json
from penstock.cluster.store.fieldsets import LEAF, FieldSet, below, holds, node
from penstock.cluster.store.shapes import MAP, RAW, Fields, Items, Piece, Pieces, Shape

_PLAIN = frozenset({str, int, float, bool, type(None)})
"""Most values are of these classes, and need not be asked for pieces."""


def stated(shape: Shape, value: Any, unkeyed: list[str] | None = None) -> FieldSet:
    """The fields that a value states. A struct's field counts through its content, any other entry also itself.

    Lists whose items should be told apart by key and cannot be are noted in `unkeyed`.
    """
    return _stated(shape.pieces(value) or {}, unkeyed)


def _stated(pieces: Pieces, unkeyed: list[str] | None) -> FieldSet:
    fields: FieldSet = {}
    for element, (child, part, named) in pieces.items():
        inner = None if part.__class__ in _PLAIN else child.pieces(part)
        if inner is not None:
            found = node(_stated(inner, unkeyed), itself=not named or part == {})
            if found is not None:
                fields[element] = found
            continue
        fields[element] = LEAF
        if unkeyed is not None and isinstance(child, Items) and isinstance(part, list):
            unkeyed.append(element[2:])
    return fields


@dataclass(slots=True)
class Difference:
    """What happened between two values."""

    removed: FieldSet = field(default_factory=dict)
    changed: FieldSet = field(default_factory=dict)
    """Added or modified."""


def compared(shape: Shape, old: Any, new: Any) -> Difference:
    """The fields that differ between two values."""
    result = Difference()
    if isinstance(shape, Fields) and isinstance(old, dict) and isinstance(new, dict):
        # Most of a map is the same as before, and need not be taken apart.
        same = {name for name, part in old.items() if name in new and (part is new[name] or part == new[name])}
        old, new = ({name: part for name, part in one.items() if name not in same} for one in (old, new))
    before, after = shape.pieces(old) or {}, shape.pieces(new) or {}
    for element, (child, part, _) in before.items():
        if element not in after:
            result.removed[element] = _everything(child, part)
    for element, (child, part, _) in after.items():
        if element not in before:
            result.changed[element] = _everything(child, part)
        elif part is not before[element][1] and part != before[element][1]:
            _compare(element, before[element], after[element], result)
    return result


def _compare(element: str, old: Piece, new: Piece, result: Difference) -> None:
    (shape, before, _), (_, after, _) = old, new
    if before.__class__ in _PLAIN and after.__class__ in _PLAIN:
        result.changed[element] = LEAF
        return
    if shape.pieces(before) is None or shape.pieces(after) is None:
        inner = Difference(removed=below(_everything(shape, before)), changed=_everything(shape, after))
        result.changed[element] = LEAF
    else:
        inner = compared(shape, before, after)
    if inner.removed:
        result.removed[element] = inner.removed
    if inner.changed:
        result.changed[element] = inner.changed


def _everything(shape: Shape, value: Any) -> FieldSet:
    """A value with all that is in it: what appears or goes does so at every level."""
    pieces = None if value.__class__ in _PLAIN else shape.pieces(value)
    if not pieces:
        return LEAF
    return {".": LEAF, **{element: _everything(child, part) for element, (child, part, _) in pieces.items()}}


def merged(shape: Shape, live: Any, config: Any) -> Any:
    """The live value with everything that the configuration states; the live value itself where that is nothing new."""
    if live == config:
        return live
    if isinstance(shape, Fields) and isinstance(live, dict) and isinstance(config, dict):
        return live | {name: _merged_entry(shape, live, name, part) for name, part in config.items()}
    ours, theirs = shape.pieces(live), shape.pieces(config)
    if ours is None:
        return config
    if theirs is None:
        return live if config is None and ours else config
    together: Pieces = {}
    for element in _order(list(ours), list(theirs)):
        child, part, named = theirs.get(element) or ours[element]
        both = element in ours and element in theirs
        together[element] = (child, merged(child, ours[element][1], part) if both else part, named)
    return shape.joined(together)


def _merged_entry(shape: Fields, live: Json, name: str, part: Any) -> Any:
    if name not in live or (part is not None and part.__class__ in _PLAIN):
        return part
    return merged(shape.entry(name), live[name], part)


def _order(live: list[str], config: list[str]) -> Iterator[str]:
    """The order of a merged list: what both have comes as configured, the rest of the live ones keeps its place."""
    known, configured = set(live), set(config)
    shared = [element for element in config if element in known]
    pending = iter(config)
    for element in live:
        if element not in configured:
            yield element
        elif shared and element == shared[0]:
            shared.pop(0)
            yield from _up_to(element, pending)
    yield from pending


def _up_to(last: str, elements: Iterator[str]) -> Iterator[str]:
    for element in elements:
        yield element
        if element == last:
            return


def without(shape: Shape, value: Any, fields: FieldSet) -> Any:
    """The value without the fields of a set."""
    pieces = shape.pieces(value)
    if pieces is None:
        return value
    left: Pieces = {}
    for element, (child, part, named) in pieces.items():
        removed = fields.get(element)
        if removed is None:
            left[element] = (child, part, named)
        elif not holds(removed):
            left[element] = (child, without(child, part, removed), named)
    return shape.joined(left)


def tidied(shape: Shape, value: Any, before: Any = None) -> Any:
    """The value as Kubernetes' own kinds are kept: null, an empty list and an empty map of plain values say nothing.

    What is the same as before was tidied then.
    """
    if value is before or value.__class__ in _PLAIN or shape is RAW:
        return value
    if isinstance(value, list):
        return [tidied(shape.child(""), part) for part in value]
    known = before if isinstance(before, dict) else {}
    return {
        name: part if part.__class__ in _PLAIN else tidied(shape.child(f"f:{name}"), part, known.get(name))
        for name, part in value.items()
        if part is not None and part != [] and (part != {} or shape.child(f"f:{name}") is not MAP)
    }
