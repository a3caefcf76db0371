"""The store: a `Cluster` in this process.

```
verbs ──> ledger ──> commits (journal) ──> shelves ──> readers
decide    accepted    durable               visible     get, list, watch
```
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from penstock.api.objects import Json
from penstock.cluster.errors import Expired, NotFound, Refused
from penstock.cluster.port import (
    ALWAYS,
    EVERYTHING,
    MANAGER,
    Early,
    Event,
    EventType,
    Listing,
    Preconditions,
    Propagation,
    Selection,
)
from penstock.cluster.resources import Lean, Resource
from penstock.cluster.store.commits import Commits
from penstock.cluster.store.journal import Journal
from penstock.cluster.store.ledger import Ledger
from penstock.cluster.store.logs import LogSource, source_of
from penstock.cluster.store.paging import Bookmark, bookmark_of, token_of
from penstock.cluster.store.records import FIRST_VERSION, Change, Key, Record
from penstock.cluster.store.selection import Chosen
from penstock.cluster.store.shelf import Shelf
from penstock.cluster.store.verbs import STATUS, Unfit, Verbs, nothing_unfit

T = TypeVar("T", bound=Lean)

_HISTORY = 10_000
"""Changes remembered per resource: a watcher that falls behind by more has to list again."""
_WHATEVER_IS_THERE = frozenset({"", "0"})
"""Versions to begin a watch with that mean: first tell me all that is there."""
_SILENCE = 100
"""A watcher that sees none of so many changes is told how far the watch has come."""
_BEAT = 60.0
"""Seconds between two signs of life in a watch: as often as a watch of a real API server is renewed."""


def _now() -> datetime:
    return datetime.now(UTC)


def _new_uid() -> str:
    return str(uuid.uuid4())


class Store:
    """Objects with Kubernetes' semantics, in memory or in a file."""

    def __init__(
        self,
        path: Path | None = None,
        *,
        clock: Callable[[], datetime] = _now,
        uids: Callable[[], str] = _new_uid,
        history: int = _HISTORY,
        logs: LogSource | None = None,
        unfit: Unfit = nothing_unfit,
    ) -> None:
        """Open the store in a file, or a new one in memory.

        `logs` has those of the containers, if any run; `unfit` says what its readers could not read, for one such
        object would leave them without news of all others.
        """
        self._history = history
        self._log_source = logs
        self._shelves: dict[str, Shelf] = {}
        journal = None if path is None else Journal(path)
        records, self._version = ([], FIRST_VERSION) if journal is None else journal.load()
        self._born = self._version
        for record in records:
            self._shelf(record.key.resource).load(record)
        self._ledger = Ledger(records, self._version)
        self._commits = Commits(self._ledger, journal, publish=self._publish, undo=self._undo)
        self._verbs = Verbs(self._ledger, clock=clock, uids=uids, unfit=unfit)

    async def get(self, resource: Resource[T], name: str, namespace: str = "") -> T:
        """One object, or `NotFound`."""
        return self._visible(Key(resource.name, namespace, name)).read_as(resource)

    async def list(
        self,
        resource: Resource[T],
        where: Selection = EVERYTHING,
        *,
        limit: int = 500,
        continue_token: str = "",
        early: Early | None = None,
    ) -> Listing[T]:
        """One page of objects, in the order of their names; all pages of a listing show the moment of the first."""
        del early  # A page is here as soon as it is asked for.
        start = bookmark_of(continue_token, resource.name) if continue_token else Bookmark(self._version)
        chosen = Chosen(resource.name, where)
        found = (
            one for one in self._shelf(resource.name).records(after=start.after, at=start.version) if chosen.has(one)
        )
        page = list(islice(found, limit + 1 if limit > 0 else None))
        more = 0 < limit < len(page)
        shown = page[:limit] if more else page
        token = token_of(Bookmark(start.version, shown[-1].key)) if more else ""
        return Listing([record.read_as(resource) for record in shown], str(start.version), token)

    async def watch(
        self, resource: Resource[T], where: Selection = EVERYTHING, *, since: str
    ) -> AsyncGenerator[Event[T], None]:
        """What happens after `since`, until the store is closed; a bookmark every minute, whatever else happens."""
        shelf, chosen, cursor = self._shelf(resource.name), Chosen(resource.name, where), self._cursor(since)
        present = filter(chosen.has, shelf.records(after=None, at=cursor)) if since in _WHATEVER_IS_THERE else ()
        for record in list(present):
            yield Event(EventType.ADDED, record.read_as(resource), record.meta.resource_version)
        unseen = 0
        async with aclosing(shelf.follow(cursor, beat=_BEAT)) as changes:
            async for change in changes:
                if change is None:
                    # Nothing that was published is left to tell, so the watch has come as far as the store.
                    yield Event(EventType.BOOKMARK, None, str(self._version))
                    continue
                seen = chosen.seen(change)
                unseen = 0 if seen else unseen + 1
                if seen:
                    yield Event(seen[0], seen[1].read_as(resource), str(change.version))
                elif unseen % _SILENCE == 0:
                    yield Event(EventType.BOOKMARK, None, str(change.version))

    async def logs(self, name: str, *, namespace: str, container: str, tail: int = 0) -> AsyncGenerator[str, None]:
        """The lines of a container's log, from whoever runs it."""
        source = source_of(self._visible(Key("pods", namespace, name)), container, self._log_source)
        async with aclosing(source.logs(name, namespace=namespace, container=container, tail=tail)) as lines:
            async for line in lines:
                yield line

    def _visible(self, key: Key) -> Record:
        record = self._shelf(key.resource).get(key)
        if record is None:
            raise NotFound(f"{key} not found")
        return record

    def _cursor(self, since: str) -> int:
        """The version that a watch begins behind."""
        if since in _WHATEVER_IS_THERE:
            return self._version
        if not since.isdecimal():
            raise Refused(f'resourceVersion: Invalid value: "{since}": it is not a number')
        if int(since) > self._version:
            raise Expired(f"Too large resource version: {since}, current: {self._version}")
        return int(since)

    async def create(self, resource: Resource[T], body: Json, *, manager: str = MANAGER, dry_run: bool = False) -> T:
        """Make an object. `AlreadyExists` when it is there."""
        record = self._verbs.create(resource, body, manager=manager, dry_run=dry_run)
        return await self._settled(record, resource)

    async def apply(
        self, resource: Resource[T], body: Json, *, manager: str = MANAGER, force: bool = True, dry_run: bool = False
    ) -> T:
        """Server-side apply: make the object, or make these fields the manager's and so."""
        record = self._verbs.apply(resource, body, manager=manager, force=force, dry_run=dry_run)
        return await self._settled(record, resource)

    async def apply_status(self, resource: Resource[T], body: Json, *, manager: str = MANAGER, force: bool = True) -> T:
        """Server-side apply of the status alone."""
        record = self._verbs.apply(resource, body, manager=manager, force=force, door=STATUS)
        return await self._settled(record, resource)

    async def patch(
        self,
        resource: Resource[T],
        name: str,
        patch: Json,
        *,
        namespace: str = "",
        subresource: str = "",
        manager: str = MANAGER,
    ) -> T:
        """A JSON merge patch; with `metadata.resourceVersion` in it, `Conflict` unless that is current."""
        record = self._verbs.patch(resource, name, patch, namespace=namespace, door=subresource, manager=manager)
        return await self._settled(record, resource)

    def rehearse_patch(
        self, resource: Resource[T], name: str, patch: Json, *, namespace: str, subresource: str, manager: str
    ) -> T:
        """The object as a merge patch would make it; nothing is written. The port has no such verb, the API has."""
        return self._verbs.patch(
            resource, name, patch, namespace=namespace, door=subresource, manager=manager, dry_run=True
        ).read_as(resource)

    async def scale(self, resource: Resource[T], name: str, replicas: int, *, namespace: str = "") -> None:
        """Set the size through the scale subresource."""
        await self._settled(self._verbs.scale(resource, name, replicas, namespace=namespace), resource)

    async def delete(
        self,
        resource: Resource[T],
        name: str,
        *,
        namespace: str = "",
        only_if: Preconditions = ALWAYS,
        propagation: Propagation = Propagation.BACKGROUND,
        grace_seconds: int | None = None,
    ) -> None:
        """Delete; `Conflict` when the preconditions do not hold, `NotFound` when it is gone already."""
        key = Key(resource.name, namespace, name)
        self._verbs.delete(key, only_if=only_if, propagation=propagation, grace_seconds=grace_seconds)
        await self._commits.settle()

    def rehearse_delete(
        self, resource: Resource[T], name: str, *, namespace: str, only_if: Preconditions, propagation: Propagation
    ) -> None:
        """Raise what a deletion would raise; nothing is deleted. The port has no such verb, the API has."""
        self._verbs.may_delete(Key(resource.name, namespace, name), only_if=only_if, propagation=propagation)

    async def evict(self, name: str, *, namespace: str, only_if: Preconditions = ALWAYS) -> None:
        """Delete a pod unless a budget says not now (`Overloaded`)."""
        self._verbs.evict(Key("pods", namespace, name), only_if=only_if)
        await self._commits.settle()

    async def close(self) -> None:
        """Finish what is under way, end all watches, let go of the file."""
        await self._commits.close()
        for shelf in self._shelves.values():
            shelf.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _settled(self, record: Record, resource: Resource[T]) -> T:
        """The object as its reader wants it, once it is durable."""
        await self._commits.settle()
        return record.read_as(resource)

    def _shelf(self, resource: str) -> Shelf:
        if resource not in self._shelves:
            self._shelves[resource] = Shelf(horizon=self._born, history=self._history)
        return self._shelves[resource]

    def _publish(self, changes: Sequence[Change]) -> None:
        for change in changes:
            self._version = change.version
            self._shelf(change.key.resource).publish(change)

    def _undo(self) -> None:
        """Take the ledger back to what is durable."""
        self._ledger.reset((record for shelf in self._shelves.values() for record in shelf), self._version)
