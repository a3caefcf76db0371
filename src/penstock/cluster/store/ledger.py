"""The ledger: every accepted write in its order, and what the objects are after the last of them.

Verbs decide on this state. Readers see it only once it is durable (`commits`), so nothing that a crash could undo is
ever acted upon.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.api.objects import Json
from penstock.cluster.store.records import Change, Key, Record


class Ledger:
    """The newest state of all objects, indexed by uid and by owner."""

    def __init__(self, records: Iterable[Record], version: int) -> None:
        self.reset(records, version)

    def reset(self, records: Iterable[Record], version: int) -> None:
        """Begin anew from what is durable."""
        self.version = version
        self._staged: list[Change] = []
        self._objects: dict[str, dict[Key, Record]] = {}
        self._by_uid: dict[str, Key] = {}
        # Dictionaries as ordered sets: what is swept together is swept in the same order every time.
        self._by_owner: dict[str, dict[Key, None]] = {}
        for record in records:
            self._enter(record)

    def get(self, key: Key) -> Record | None:
        """The object of a key."""
        return self._objects.get(key.resource, {}).get(key)

    def with_uid(self, uid: str) -> Record | None:
        """The object of a uid."""
        key = self._by_uid.get(uid)
        return None if key is None else self.get(key)

    def owned_by(self, uid: str) -> list[Record]:
        """The objects that name an owner."""
        return [self._objects[key.resource][key] for key in self._by_owner.get(uid, ())]

    def in_namespace(self, resource: str, namespace: str) -> list[Record]:
        """All objects of a resource in a namespace."""
        return [record for key, record in self._objects.get(resource, {}).items() if key.namespace == namespace]

    def put(self, key: Key, body: Json) -> Record:
        """Write an object under the next resource version."""
        metadata = {**body["metadata"], "resourceVersion": str(self.version + 1)}
        record = Record.written(key, self.version + 1, {**body, "metadata": metadata})
        self._note(Change(record.version, key, self.get(key), record))
        return record

    def remove(self, key: Key) -> None:
        """Delete an object for good."""
        self._note(Change(self.version + 1, key, self.get(key), None))

    def _note(self, change: Change) -> None:
        self.version = change.version
        self._staged.append(change)
        if change.before is not None:
            self._strike(change.before)
        if change.after is not None:
            self._enter(change.after)

    def _enter(self, record: Record) -> None:
        self._objects.setdefault(record.key.resource, {})[record.key] = record
        self._by_uid[record.meta.uid] = record.key
        for owner in record.meta.owner_references:
            self._by_owner.setdefault(owner.uid, {})[record.key] = None

    def _strike(self, record: Record) -> None:
        del self._objects[record.key.resource][record.key]
        del self._by_uid[record.meta.uid]
        for owner in record.meta.owner_references:
            dependents = self._by_owner.get(owner.uid, {})
            dependents.pop(record.key, None)
            if not dependents:
                self._by_owner.pop(owner.uid, None)

    @property
    def staged(self) -> list[Change]:
        """What was written since the last `take`."""
        return self._staged

    def take(self) -> list[Change]:
        """What was written since the last time."""
        staged, self._staged = self._staged, []
        return staged
