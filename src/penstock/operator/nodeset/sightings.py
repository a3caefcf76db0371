"""Since when we know each worker, and that it runs, by our own steady clock; and who of them was ever ready.

A worker that ends as soon as it begins, for want of room say, is not to be made anew as fast as we can. How long it
lived is not asked of its timestamp, for that is the API server's clock and may be hours from ours. Pods tell only
whether they are ready now.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from penstock.operator.resources import Pod


class Sightings:
    """When each pod was seen for the first time."""

    def __init__(self) -> None:
        self._first: dict[str, float] = {}
        self._running: dict[str, float] = {}
        self._ready: set[str] = set()

    def shown(self, old: Pod | None, new: Pod | None) -> None:
        """Listen to the watch."""
        if new is not None:
            self._first.setdefault(new.metadata.uid, asyncio.get_running_loop().time())
            if new.status.phase == "Running":
                self._running.setdefault(new.metadata.uid, asyncio.get_running_loop().time())
            if new.ready_since is not None:
                self._ready.add(new.metadata.uid)
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self._first.pop(old.metadata.uid, None)
            self._running.pop(old.metadata.uid, None)
            self._ready.discard(old.metadata.uid)

    def ready(self, uids: Iterable[str]) -> frozenset[str]:
        """Those that were seen ready at some time."""
        return frozenset(uid for uid in uids if uid in self._ready)

    def within(self, seconds: float, uids: Iterable[str]) -> frozenset[str]:
        """Those that were first seen less than so long ago."""
        since = asyncio.get_running_loop().time() - seconds
        return frozenset(uid for uid in uids if self._first.get(uid, since) > since)

    def beginning(self, seconds: float, uids: Iterable[str]) -> dict[str, float]:
        """Those that were first seen to run less than so long ago, and in how many seconds that will be over."""
        until = asyncio.get_running_loop().time() - seconds
        return {uid: at - until for uid in uids if (at := self._running.get(uid, until)) > until}
