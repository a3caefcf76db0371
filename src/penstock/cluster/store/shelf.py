"""A shelf: the durable objects of one resource, and what happened to them of late.

Readers live here. The past is kept as changes, each with the object before and after it, so an older moment is the
present with the changes since then undone, and pages of one listing show one moment without a copy of anything.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right, insort
from collections import deque
from collections.abc import AsyncGenerator, Iterator, Mapping

from penstock.cluster.errors import Expired
from penstock.cluster.store.records import Change, Key, Record


class Shelf:
    """The objects of one resource."""

    def __init__(self, *, horizon: int, history: int) -> None:
        self._objects: dict[Key, Record] = {}
        self._keys: list[Key] = []
        self._changes: deque[Change] = deque(maxlen=history)
        self._horizon = horizon
        """The version up to which nothing is remembered."""
        # A dictionary as an ordered set: who waits longest is woken first, wherever in memory it is.
        self._readers: dict[asyncio.Future[None], None] = {}
        self._closed = False

    def load(self, record: Record) -> None:
        """Put an object from before our time on the shelf."""
        self._objects[record.key] = record
        insort(self._keys, record.key)

    def __iter__(self) -> Iterator[Record]:
        """Every object, in no order."""
        return iter(self._objects.values())

    def get(self, key: Key) -> Record | None:
        """The object of a key."""
        return self._objects.get(key)

    def publish(self, change: Change) -> None:
        """Show a durable change to everybody."""
        if len(self._changes) == self._changes.maxlen:
            self._horizon = self._changes[0].version
        self._changes.append(change)
        if change.before is None:
            insort(self._keys, change.key)
        if change.after is not None:
            self._objects[change.key] = change.after
        else:
            del self._objects[change.key]
            del self._keys[bisect_right(self._keys, change.key) - 1]
        self._wake_all()

    def records(self, *, after: Key | None, at: int) -> Iterator[Record]:
        """The objects behind a key, in order, as they were at a version; `Expired` when that is too long ago."""
        objects, keys = self._at(at)
        for key in keys[bisect_right(keys, after) if after is not None else 0 :]:
            yield objects[key]

    def _at(self, version: int) -> tuple[Mapping[Key, Record], list[Key]]:
        since = self.changes(version)
        if not since:
            return self._objects, self._keys
        objects = dict(self._objects)
        for change in reversed(since):
            objects.pop(change.key, None)
            if change.before is not None:
                objects[change.key] = change.before
        return objects, sorted(objects)

    def changes(self, since: int) -> list[Change]:
        """What happened after a version; `Expired` when that is no longer known."""
        if since < self._horizon:
            raise Expired(f"too old resource version: {since} ({self._horizon})")
        found: list[Change] = []
        for change in reversed(self._changes):
            if change.version <= since:
                break
            found.append(change)
        return found[::-1]

    async def follow(self, since: int, *, beat: float) -> AsyncGenerator[Change | None, None]:
        """Every change after a version as it happens, until the shelf is closed.

        None comes every `beat` seconds, when all that happened has been told.
        """
        clock = asyncio.get_running_loop().time
        due = clock() + beat
        while not self._closed:
            changes = self.changes(since)
            for change in changes:
                since = change.version
                yield change
            if changes:
                continue
            if clock() < due:
                await self._news(due)
            else:
                due = clock() + beat
                yield None

    async def _news(self, until: float) -> None:
        """Wait until something happens; several may wait, and one that gives up leaves nothing behind."""
        loop = asyncio.get_running_loop()
        reader: asyncio.Future[None] = loop.create_future()
        timer = loop.call_at(until, _wake, reader)
        self._readers[reader] = None
        try:
            await reader
        finally:
            timer.cancel()
            del self._readers[reader]

    def close(self) -> None:
        """End what follows this shelf."""
        self._closed = True
        self._wake_all()

    def _wake_all(self) -> None:
        for reader in self._readers:
            _wake(reader)


def _wake(reader: asyncio.Future[None]) -> None:
    if not reader.done():
        reader.set_result(None)
