"""A store in a glass case: who looks on sees each change in the moment in which it happens."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Collection, Sequence
from typing import Any, Generic, TypeVar

from penstock.cluster.informer import Listener
from penstock.cluster.resources import Lean, Resource
from penstock.cluster.store import Store
from penstock.cluster.store.records import Change, Record

T = TypeVar("T", bound=Lean)
Witness = Callable[[Change], None]
"""Told before whoever made the change hears that it is made. It must not write, nor raise."""
_Place = tuple[str, str]


class Observed(Store):
    """A store with witnesses."""

    def __init__(self, **settings: Any) -> None:
        self._witnesses: dict[str, list[Witness]] = {}
        self._news: list[Callable[[], None]] = []
        # Who acts on news acts for itself: the leave to write of whoever made them is not theirs.
        self._bystander = contextvars.copy_context()
        super().__init__(**settings)

    def witness(self, resource: str, witness: Witness) -> None:
        """Tell of every change of a resource, at once."""
        self._witnesses.setdefault(resource, []).append(witness)

    def tell_soon(self, news: Callable[[], None]) -> None:
        """Tell something when the change is over, in the order of the changes."""
        if not self._news:
            asyncio.get_running_loop().call_soon(self._tell, context=self._bystander)
        self._news.append(news)

    def _tell(self) -> None:
        news, self._news = self._news, []
        for one in news:
            one()

    def _publish(self, changes: Sequence[Change]) -> None:
        super()._publish(changes)
        for change in changes:
            for witness in self._witnesses.get(change.key.resource, ()):
                witness(change)


class View(Generic[T]):
    """The objects of a resource as they are now, each read when somebody asks. The same questions as an informer's."""

    def __init__(self, store: Observed, resource: Resource[T]) -> None:
        self._store = store
        self._resource = resource
        self._records: dict[_Place, Record] = {}
        self._read: dict[_Place, tuple[int, T]] = {}
        self._listeners: list[Listener[T]] = []
        store.witness(resource.name, self._changed)

    def get(self, name: str, namespace: str = "") -> T | None:
        """One object, or None."""
        record = self._records.get((namespace, name))
        return None if record is None else self._item(record)

    def all(self) -> Collection[T]:
        """Every object, in the order in which they came."""
        return [self._item(record) for record in self._records.values()]

    def subscribe(self, listener: Listener[T]) -> None:
        """Tell of every change from now on, as soon as it is over."""
        self._listeners.append(listener)

    def _item(self, record: Record) -> T:
        place = record.key[1:]
        version, item = self._read.get(place, (0, None))
        if item is None or version != record.version:
            item = record.read_as(self._resource)
            self._read[place] = (record.version, item)
        return item

    def _changed(self, change: Change) -> None:
        place = change.key[1:]
        old = self._item(change.before) if change.before and self._listeners else None
        if change.after is not None:
            self._records[place] = change.after
            new = self._item(change.after) if self._listeners else None
        else:
            new = None
            del self._records[place]
            self._read.pop(place, None)
        if self._listeners:
            self._store.tell_soon(lambda: self._tell(old, new))

    def _tell(self, old: T | None, new: T | None) -> None:
        for listener in self._listeners:
            listener(old, new)
