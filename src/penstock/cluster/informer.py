"""A local copy of the objects of one resource, kept current by list and watch.

Works over any `Cluster`. The copy is never wrong about order, only behind: `staleness` says by how much it may be, and
whoever acts on it asks first. When history is lost it lists again, and tells what vanished meanwhile as deletions.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from contextlib import aclosing
from typing import Generic

from penstock.cluster.backoff import Backoff
from penstock.cluster.errors import ClusterError, Expired, Overloaded, Unreachable
from penstock.cluster.index import Index, Indexer, Key
from penstock.cluster.outage import Outage
from penstock.cluster.pages import pages
from penstock.cluster.port import EVERYTHING, Cluster, Event, EventType, Selection, T
from penstock.cluster.resources import Resource

_LOG = logging.getLogger(__name__)

Listener = Callable[[T | None, T | None], None]
"""Told of each change: what was, what is; None for "not there". Runs inside the loop, so it only notes what to do."""


_CUT = 3
"""Failures that a watch counts for when it stood and was cut, however often: less than a second to wait."""


class Informer(Generic[T]):
    """The objects of a resource as far as they are known here. Somebody has to `run` it."""

    def __init__(
        self,
        cluster: Cluster,
        resource: Resource[T],
        where: Selection = EVERYTHING,
        *,
        indexes: Mapping[str, Indexer[T]] | None = None,
        backoff: Backoff | None = None,
    ) -> None:
        self.resource = resource
        self.synced = asyncio.Event()
        """Set once the first listing is complete; from then on the copy is whole, if behind."""
        self._cluster = cluster
        self._where = where
        self._backoff = backoff or Backoff()
        self._objects: dict[Key, T] = {}
        self._indexes = {name: Index(indexer) for name, indexer in (indexes or {}).items()}
        self._listeners: list[Listener[T]] = []
        self._since: str | None = None
        self.alive_at = float("-inf")
        """When the cluster last gave a sign of life here, by the loop's clock."""
        self._connected = False
        """The present watch has come to stand."""
        self._outage = Outage(_LOG, resource.name)

    def get(self, name: str, namespace: str = "") -> T | None:
        """One object, or None."""
        return self._objects.get((namespace, name))

    def all(self) -> Collection[T]:
        """Every object: a view, to be used up before the next await."""
        return self._objects.values()

    def by(self, index: str, key: str) -> Collection[T]:
        """The objects that an index has under a key: a view as well."""
        return self._indexes[index].under(key)

    def subscribe(self, listener: Listener[T]) -> None:
        """Tell `listener` of every change from now on; before `run`, that is everything."""
        self._listeners.append(listener)

    @property
    def staleness(self) -> float:
        """Seconds since the cluster last gave a sign of life here; infinite before the first."""
        return asyncio.get_running_loop().time() - self.alive_at

    async def run(self) -> None:
        """Keep the copy current until cancelled."""
        clock = asyncio.get_running_loop().time
        failures = 0
        while True:
            began, since, asked, self._connected = clock(), self._since, 0.0, False
            try:
                if since is None:
                    await self._list()
                    continue
                await self._follow(since)
            except ClusterError as error:
                asked = self._learn_from(error)
            # A listing alone is no progress: history that is always gone already would have us list without end.
            moved = self._since not in {since, None} or clock() - began > self._backoff.longest
            failures = 0 if moved else failures + 1
            if self._connected:
                # The cluster took our watch: it is there, and a link that is cut is soon a new one.
                failures = min(failures, _CUT)
            await asyncio.sleep(max(asked, self._backoff.delay(failures)))

    def _learn_from(self, error: ClusterError) -> float:
        """Take note of a failure; the seconds that the cluster asked us to stay away, but no more than we would."""
        if not isinstance(error, Unreachable):
            self._since = None
        self._outage.tell(error, level=logging.INFO if isinstance(error, Expired) else logging.WARNING)
        return min(error.retry_after, self._backoff.longest) if isinstance(error, Overloaded) else 0.0

    async def _list(self) -> None:
        found: dict[Key, T] = {}
        version = ""
        async with aclosing(pages(self._cluster, self.resource, self._where)) as listing:
            async for page in listing:
                self._sign_of_life()
                found.update((_key(item), item) for item in page.items)
                version = page.resource_version
        self._replace(found)
        self._since = version
        self.synced.set()

    async def _follow(self, since: str) -> None:
        async with aclosing(self._cluster.watch(self.resource, self._where, since=since)) as events:
            async for event in events:
                self._sign_of_life()
                self._connected = True
                self._outage.calm(after=self._backoff.longest)
                self._take(event)
                self._since = event.resource_version
        self._sign_of_life()
        self._outage.calm(after=self._backoff.longest)

    def _sign_of_life(self) -> None:
        self.alive_at = asyncio.get_running_loop().time()

    def _take(self, event: Event[T]) -> None:
        if event.object is None:
            return
        if event.type is EventType.DELETED:
            self._drop(_key(event.object))
        else:
            self._put(_key(event.object), event.object)

    def _replace(self, found: Mapping[Key, T]) -> None:
        for key in [key for key in self._objects if key not in found]:
            self._drop(key)
        for key, item in found.items():
            self._put(key, item)

    def _put(self, key: Key, new: T) -> None:
        old = self._objects.get(key)
        if old is not None and old.metadata.uid != new.metadata.uid:
            # Gone and made anew while nobody looked: whoever waits for the old one must hear of its end.
            self._drop(key)
            old = None
        if old is not None and old.metadata.resource_version == new.metadata.resource_version:
            return
        self._objects[key] = new
        for index in self._indexes.values():
            index.move(key, old, new)
        self._tell(old, new)

    def _drop(self, key: Key) -> None:
        old = self._objects.pop(key, None)
        if old is None:
            return
        for index in self._indexes.values():
            index.move(key, old, None)
        self._tell(old, None)

    def _tell(self, old: T | None, new: T | None) -> None:
        for listener in self._listeners:
            try:
                listener(old, new)
            except Exception:
                # A mistake of one reader must not leave the others with a copy that stands still.
                _LOG.exception("%s: a listener failed", self.resource.name)


def _key(item: T) -> Key:
    return item.metadata.namespace, item.metadata.name
