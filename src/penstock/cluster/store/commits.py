"""Commits: accepted writes become durable, and only then visible and acknowledged.

Writes that come while the disk is busy wait together and share the next trip to it, so many writers at once cost
hardly more than one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from penstock.cluster.errors import Unreachable
from penstock.cluster.store.journal import Journal
from penstock.cluster.store.ledger import Ledger
from penstock.cluster.store.records import Change


class Commits:
    """Takes writes from a ledger through a journal, if there is one, to the readers."""

    def __init__(
        self,
        ledger: Ledger,
        journal: Journal | None,
        *,
        publish: Callable[[list[Change]], None],
        undo: Callable[[], None],
    ) -> None:
        self._ledger = ledger
        self._journal = journal
        self._publish = publish
        self._undo = undo
        self._waiting: list[asyncio.Future[None]] = []
        self._trip: asyncio.Task[None] | None = None

    async def settle(self) -> None:
        """Return when everything accepted so far is durable and visible; `Unreachable` when it will not be."""
        if self._journal is None:
            self._publish(self._ledger.take())
            # A real API server takes its time as well: let watchers and other writers have their turn.
            await asyncio.sleep(0)
        elif self._ledger.staged or self._trip is not None:
            await self._next_trip(self._journal)

    async def _next_trip(self, journal: Journal) -> None:
        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[None] = loop.create_future()
        self._waiting.append(waiting)
        if self._trip is None:
            self._trip = loop.create_task(self._trips(journal))
        await waiting

    async def _trips(self, journal: Journal) -> None:
        try:
            while self._waiting:
                changes, waiting = self._ledger.take(), self._waiting
                self._waiting = []
                try:
                    if changes:
                        await asyncio.to_thread(journal.write, changes)
                except Exception as problem:
                    self._fail(waiting, problem)
                else:
                    self._publish(changes)
                    _tell(waiting, None)
        finally:
            self._trip = None

    def _fail(self, waiting: list[asyncio.Future[None]], problem: Exception) -> None:
        """Nothing that stood on the lost changes can stay: go back to what is durable, and say so to everybody."""
        later, self._waiting = self._waiting, []
        self._undo()
        _tell([*waiting, *later], problem)

    async def close(self) -> None:
        """Wait for what is under way, and let go of the disk."""
        if self._trip is not None:
            await self._trip
        if self._journal is not None:
            self._journal.close()


def _tell(waiting: list[asyncio.Future[None]], problem: Exception | None) -> None:
    for one in waiting:
        if one.done():
            continue  # It gave up waiting.
        if problem is None:
            one.set_result(None)
        else:
            one.set_exception(Unreachable(str(problem)))
