"""Turns at what keeps a processor busy: so many at once, and who matters more goes first.

More at once than there are processors only makes each of them late. A cluster that starts begins a dozen containers,
and everybody waits for two of them.
"""

from __future__ import annotations

import asyncio
import heapq
import math
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import count

Rank = tuple[int, ...]
"""The smallest goes first; of equals, who came first."""
URGENT = 0
"""Where the rank of somebody begins who finds a turn kept for it."""


class Turns:
    """Turns for `at_once` at a time, one of which is kept for the urgent: nobody who has a turn is stopped for them."""

    def __init__(self, at_once: int) -> None:
        self._free = max(at_once, 2)
        self._waiting: list[tuple[Rank, int, asyncio.Future[None]]] = []
        self._arrivals = count()
        self._later = math.inf
        """Whose rank begins with this, or more, is not called."""

    @contextmanager
    def kept_from(self, rank: int) -> Iterator[None]:
        """Call nobody whose rank begins with this, or more, before the block ends."""
        self._later = rank
        try:
            yield
        finally:
            self._later = math.inf
            self._call()

    @asynccontextmanager
    async def one(self, rank: Rank) -> AsyncIterator[None]:
        """Have a turn while the block lasts."""
        await self._taken(rank)
        try:
            yield
        finally:
            self._free += 1
            self._call()

    async def _taken(self, rank: Rank) -> None:
        called: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (rank, next(self._arrivals), called))
        self._call()
        try:
            await called
        except asyncio.CancelledError:
            if called.done() and not called.cancelled():
                self._free += 1  # We were called, and do not come.
                self._call()
            raise

    def _call(self) -> None:
        """Call whoever may come; who has left meanwhile is passed over."""
        while self._waiting and self._may_come(self._waiting[0][0][0]):
            *_, called = heapq.heappop(self._waiting)
            if not called.done():
                self._free -= 1
                called.set_result(None)

    def _may_come(self, rank: int) -> bool:
        return rank < self._later and self._free > (0 if rank == URGENT else 1)
