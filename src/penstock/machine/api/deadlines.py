"""Answers that take long, and how they end: when their time is up, or when the server has to go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Deadlines:
    """The ends of all long answers that are under way."""

    def __init__(self) -> None:
        self._open: set[asyncio.Timeout] = set()
        self._over = False

    @asynccontextmanager
    async def bound(self, seconds: float | None = None) -> AsyncIterator[None]:
        """Break off what is inside, without an error, after so many seconds, if any, or when everything ends."""
        bound = asyncio.timeout(0 if self._over else seconds)
        try:
            async with bound:
                self._open.add(bound)
                yield
        except TimeoutError:
            if not bound.expired():
                raise
        finally:
            self._open.discard(bound)

    def end_all(self) -> None:
        """Let every answer come to its end now, and those that are still to come at once."""
        self._over = True
        now = asyncio.get_running_loop().time()
        for timeout in self._open:
            if not timeout.expired():
                timeout.reschedule(now)
