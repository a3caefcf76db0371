"""Which objects a reader asked for, and what a change looks like to somebody who sees only those."""

from __future__ import annotations

import msgspec

from penstock.cluster.port import EventType, Selection
from penstock.cluster.resources import Lean
from penstock.cluster.selectors import field_matcher, label_matcher
from penstock.cluster.store.records import Change, Record
from penstock.cluster.store.traits import traits_of


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    phase: str = ""


class _Selectable(Lean, frozen=True):
    """The fields that selectors may name."""

    spec: _Spec = _Spec()
    status: _Status = _Status()


class Chosen:
    """A selection, ready to be asked."""

    def __init__(self, resource: str, where: Selection) -> None:
        self._namespace = where.namespace
        self._labels = label_matcher(where.labels) if where.labels.strip() else None
        self._fields = field_matcher(where.fields, traits_of(resource).fields) if where.fields.strip() else None

    def has(self, record: Record | None) -> bool:
        """Whether an object is meant; one that is not there is not."""
        if record is None or self._namespace not in {None, record.key.namespace}:
            return False
        if self._labels is not None and not self._labels(record.meta.labels):
            return False
        return self._fields is None or self._fields(_fields(record))

    def seen(self, change: Change) -> tuple[EventType, Record] | None:
        """A change as an event: to who sees only some objects, one that leaves the selection is deleted."""
        was, is_now = self.has(change.before), self.has(change.after)
        if is_now and change.after is not None:
            return (EventType.MODIFIED if was else EventType.ADDED), change.after
        return (EventType.DELETED, change.last) if was else None


def _fields(record: Record) -> dict[str, str]:
    told = msgspec.json.decode(record.body, type=_Selectable)
    return {
        "metadata.name": record.key.name,
        "metadata.namespace": record.key.namespace,
        "spec.nodeName": told.spec.node_name,
        "status.phase": told.status.phase,
    }
