"""Which keys need work: each once, each by one worker at a time, those that failed later and later.

A key says where to look, not what happened, so any number of reasons to look become one look. Between two looks the
earliest wish wins: a look now makes one that was due later unnecessary, because each look decides anew from what is.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from penstock.cluster.backoff import Backoff
from penstock.cluster.errors import ClusterError, Overloaded
from penstock.cluster.groups import TaskGroup

_LOG = logging.getLogger(__name__)

K = TypeVar("K", bound=Hashable)
Work = Callable[[K], Awaitable[None]]
"""What to do about a key. An exception means: try again later."""


class WorkQueue(Generic[K]):
    """Keys that wait for work. Everything happens inside one event loop."""

    def __init__(self, *, backoff: Backoff | None = None) -> None:
        self._backoff = backoff or Backoff(first=0.05, longest=300.0)
        self._ready: OrderedDict[K, float] = OrderedDict()
        """Keys in the order they came, with the time they did."""
        self._later: dict[K, asyncio.TimerHandle] = {}
        self._busy: dict[K, bool] = {}
        """Keys being worked on, and whether they have to be looked at again."""
        self._failures: dict[K, int] = {}
        self._stopping = False
        self._wake = asyncio.Event()

    @property
    def depth(self) -> int:
        """How many keys could be worked on now, were there a worker."""
        return len(self._ready)

    @property
    def oldest_age(self) -> float:
        """Seconds that the first of them has waited."""
        for added in self._ready.values():
            return asyncio.get_running_loop().time() - added
        return 0.0

    def add(self, key: K) -> None:
        """Look at this key as soon as possible."""
        self._forget_later(key)
        if key in self._busy:
            self._busy[key] = True
        elif key not in self._ready:
            self._ready[key] = asyncio.get_running_loop().time()
            self._wake.set()

    def add_after(self, key: K, seconds: float) -> None:
        """Look at this key in so many seconds, if nobody wants it earlier."""
        if key in self._ready:
            return
        loop = asyncio.get_running_loop()
        due = loop.time() + seconds
        if key in self._later and self._later[key].when() <= due:
            return
        self._forget_later(key)
        self._later[key] = loop.call_at(due, self.add, key)

    async def run(self, work: Work[K], *, workers: int = 1) -> None:
        """Work on keys until `stop`; then finish those in hand. Cancelled, it drops them."""
        try:
            async with TaskGroup() as group:
                for _ in range(workers):
                    group.create_task(self._worker(work))
        finally:
            self.stop()

    def stop(self) -> None:
        """Begin no more work; `run` ends when what is in hand is done."""
        self._stopping = True
        for key in list(self._later):
            self._forget_later(key)
        self._wake.set()

    async def _worker(self, work: Work[K]) -> None:
        while True:
            while not self._ready and not self._stopping:
                self._wake.clear()
                await self._wake.wait()
            if self._stopping:
                return
            key, _ = self._ready.popitem(last=False)
            await self._look_at(key, work)
            # Work that found everything in order never waited: let the others in the loop have their turn.
            await asyncio.sleep(0)

    async def _look_at(self, key: K, work: Work[K]) -> None:
        self._busy[key] = False
        try:
            await work(key)
        except Exception as error:
            self._failed(key, error)
        else:
            self._failures.pop(key, None)
        finally:
            if self._busy.pop(key):
                self.add(key)

    def _failed(self, key: K, error: Exception) -> None:
        self._failures[key] = failures = self._failures.get(key, 0) + 1
        asked = error.retry_after if isinstance(error, Overloaded) else 0.0
        delay = max(asked, self._backoff.delay(failures))
        # A traceback tells nothing about a cluster that is away, and everything about a mistake of ours.
        trace = None if isinstance(error, ClusterError) else error
        _LOG.warning("%s: %s; again in %.1f s", key, error, delay, exc_info=trace)
        self.add_after(key, delay)

    def _forget_later(self, key: K) -> None:
        if (timer := self._later.pop(key, None)) is not None:
            timer.cancel()
