"""Who owns which field: server-side apply, and the bookkeeping of every other write.

The rules are Kubernetes' own (structured-merge-diff, `merge.Updater`):

- who applies owns exactly what it states; what it stated last time and no longer does goes, unless somebody else owns
  it too;
- a field that another manager owns and that would change is a conflict; with force it changes hands;
- who creates or patches owns what it changed, and takes it from everybody else.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import NamedTuple

from penstock.api.objects import Json
from penstock.cluster.errors import Conflict, Refused
from penstock.cluster.store import structure
from penstock.cluster.store.fieldsets import LEAF, FieldSet, difference, intersection, paths, union, with_named
from penstock.cluster.store.shapes import Shape

_UNOWNED = (
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "generation",
    "managedFields",
    "resourceVersion",
)
_NOBODYS: FieldSet = {
    "f:apiVersion": LEAF,
    "f:kind": LEAF,
    "f:metadata": {".": LEAF} | {f"f:{name}": LEAF for name in _UNOWNED},
}
"""What the server itself writes, and what only says which object is meant."""


class Manager(NamedTuple):
    """Who writes, and through which door."""

    name: str
    operation: str
    subresource: str = ""

    def __str__(self) -> str:
        return f'"{self.name}"' + (f' with subresource "{self.subresource}"' if self.subresource else "")


Owned = dict[Manager, FieldSet]


class Moment(NamedTuple):
    """When, and in which version of the API, a write happens."""

    time: str
    api_version: str


class Ownership:
    """The managers of one object before a write, and how the write changes them."""

    def __init__(self, shape: Shape, entries: list[Json], who: Manager, now: Moment) -> None:
        self._shape = shape
        self._entries = {_who(entry): entry for entry in entries}
        self._who = who
        self._now = now

    def updated(self, old: Json, new: Json) -> list[Json]:
        """The managers after a create or a patch has made `new` of `old`."""
        if old and not self._entries:
            return []  # Nobody has ever applied anything, so nobody needs to know; `applied` makes up for it.
        change = structure.compared(self._shape, old, new)
        changed = difference(change.changed, _NOBODYS)
        lost = union(change.removed, changed)
        owned = {who: difference(entry["fieldsV1"], lost) for who, entry in self._entries.items()}
        if changed:
            owned[self._who] = union(owned.get(self._who, {}), changed)
        return self._written(owned, touched=bool(changed))

    def applied(self, live: Json, config: Json, *, force: bool) -> tuple[Json, list[Json]]:
        """The object after an apply, and its managers."""
        owned = {who: entry["fieldsV1"] for who, entry in self._entries.items()} or self._unrecorded(live)
        last = owned.get(self._who, {})
        owned[self._who] = self._claimed(config)
        new = structure.merged(self._shape, live, config)
        if last and last != owned[self._who]:
            new = self._pruned(new, owned, last)
        change = structure.compared(self._shape, live, new)
        taken = {who: intersection(fields, change.changed) for who, fields in owned.items() if who != self._who}
        if not force and any(taken.values()):
            raise Conflict(_told({who: fields for who, fields in taken.items() if fields}, self._now))
        for who, fields in taken.items():
            owned[who] = difference(difference(owned[who], fields), change.removed)
        return new, self._written(owned, touched=new != live)

    def _claimed(self, config: Json) -> FieldSet:
        """What an applied configuration lays claim to."""
        unkeyed: list[str] = []
        fields = structure.stated(self._shape, config, unkeyed)
        if unkeyed:
            told = f"items of {', '.join(unkeyed)} lack their keys, or have the same ones"
            raise Refused(f"failed to create typed patch object: {told}")
        return difference(fields, _NOBODYS)

    def _unrecorded(self, live: Json) -> Owned:
        """Who owns what was there before anybody kept account."""
        fields = difference(structure.compared(self._shape, {}, live).changed, _NOBODYS)
        return {Manager("before-first-apply", "Update"): fields} if fields else {}

    def _pruned(self, merged: Json, owned: Owned, last: FieldSet) -> Json:
        """The object without what the manager stated last time, no longer does, and nobody else owns."""
        # Nothing goes but what was stated, so only that part of the object is taken apart: of a pod's status it is
        # a fiftieth of the pod.
        part = {name: value for name, value in merged.items() if f"f:{name}" in last}
        held = ({element: below for element, below in fields.items() if element in last} for fields in owned.values())
        last = with_named(last, self._shape)
        everything = with_named(structure.stated(self._shape, part), self._shape)
        kept = with_named(reduce(union, held, {}), self._shape)
        left = structure.without(self._shape, part, last)
        still = with_named(structure.stated(self._shape, left), self._shape)
        gone = intersection(difference(everything, union(still, kept)), last)
        pruned: Json = structure.without(self._shape, merged, gone)
        return pruned

    def _written(self, owned: Owned, *, touched: bool) -> list[Json]:
        entries = [self._entry(who, fields, touched=touched) for who, fields in owned.items() if fields]
        entries.sort(key=lambda entry: (entry["operation"], entry["time"], entry["manager"], _who(entry).subresource))
        return entries

    def _entry(self, who: Manager, fields: FieldSet, *, touched: bool) -> Json:
        """What one manager owns, as `metadata.managedFields` has it."""
        before = self._entries.get(who)
        fresh = before is None or (touched and who == self._who)
        entry = {
            "manager": who.name,
            "operation": who.operation,
            "apiVersion": self._now.api_version,
            "time": self._now.time if fresh or before is None else before["time"],
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        }
        return entry | ({"subresource": who.subresource} if who.subresource else {})


def _who(entry: Json) -> Manager:
    return Manager(entry["manager"], entry["operation"], entry.get("subresource", ""))


def _told(conflicts: Owned, now: Moment) -> str:
    """The API server's words for fields that belong to others."""
    ordered = sorted(conflicts, key=lambda who: (who.name, who.operation, who.subresource))
    told = [(_named(who, now), path) for who in ordered for path in paths(conflicts[who])]
    if len(told) == 1:
        return f"Apply failed with 1 conflict: conflict with {told[0][0]}: {told[0][1]}"
    return f"Apply failed with {len(told)} conflicts: " + "\n".join(_lines(told))


def _lines(told: list[tuple[str, str]]) -> Iterator[str]:
    previous = ""
    for who, path in told:
        if who != previous:
            yield f"conflicts with {who}:"
        previous = who
        yield f"- {path}"


def _named(who: Manager, now: Moment) -> str:
    return f"{who} using {now.api_version}" if who.operation == "Update" else str(who)
