"""A listing read to its end: every page once, in order, one ahead and not two, and nothing left behind."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import cast

import pytest

from penstock.cluster.errors import Expired
from penstock.cluster.pages import pages
from penstock.cluster.port import EVERYTHING, Cluster, Early, Listing, Selection
from penstock.cluster.resources import Lean, Resource

THINGS = Resource("", "v1", "things", "Thing", Lean)


class Book:
    """Pages "", "1", "2"…; each says early where the next begins, then waits to be sent."""

    def __init__(self, last: int, *, silent: bool = False) -> None:
        self.asked: list[str] = []
        self.asked_ahead = asyncio.Event()
        """Set with the second question."""
        self.sent = asyncio.Event()
        self.given_up = asyncio.Semaphore(0)
        self.changed: dict[str, str] = {}
        """What a page says in the end where the next one begins, if not what it said early."""
        self.errors: dict[str, Exception] = {}
        self._last, self._silent = last, silent

    @property
    def cluster(self) -> Cluster:
        """The book, in its role."""
        return cast(Cluster, self)

    async def list(
        self,
        resource: Resource[Lean],
        where: Selection = EVERYTHING,
        *,
        limit: int = 500,
        continue_token: str = "",
        early: Early | None = None,
    ) -> Listing[Lean]:
        """One page."""
        assert (resource, where, limit) == (THINGS, EVERYTHING, 500)
        self.asked.append(continue_token)
        if len(self.asked) == 2:
            self.asked_ahead.set()
        number = int(continue_token.rstrip("'") or 0)
        following = "" if number == self._last else str(number + 1)
        if early and following and not self._silent:
            early(following)
        try:
            await self.sent.wait()
        except asyncio.CancelledError:
            self.given_up.release()
            raise
        if continue_token in self.errors:
            raise self.errors[continue_token]
        return Listing([], f"version of {continue_token}", self.changed.get(continue_token, following))


async def read(book: Book) -> list[str]:
    """The versions of all pages."""
    async with aclosing(pages(book.cluster, THINGS)) as listing:
        return [page.resource_version async for page in listing]


def in_a_loop(body: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    """Run a test inside of a loop, with an end."""

    def run() -> None:
        asyncio.run(asyncio.wait_for(body(), 10))

    run.__name__, run.__doc__ = body.__name__, body.__doc__
    return run


@in_a_loop
async def test_every_page_comes_once_and_in_order() -> None:
    for silent in (False, True):
        book = Book(3, silent=silent)
        book.sent.set()
        assert await read(book) == ["version of ", "version of 1", "version of 2", "version of 3"]
        assert book.asked == ["", "1", "2", "3"]


@in_a_loop
async def test_one_page_is_fetched_ahead_and_not_two() -> None:
    book = Book(3)
    reading = asyncio.create_task(read(book))
    await book.asked_ahead.wait()
    for _ in range(20):
        await asyncio.sleep(0)
    assert book.asked == ["", "1"]
    book.sent.set()
    assert len(await reading) == 4


@in_a_loop
async def test_a_page_asked_for_twice_and_of_another_moment_has_a_successor_of_its_own() -> None:
    """The transport asks again when a connection breaks; what was on its way belongs to the first answer."""
    book = Book(2)
    book.changed[""] = "1'"
    reading = asyncio.create_task(read(book))
    await book.asked_ahead.wait()
    book.sent.set()
    assert await reading == ["version of ", "version of 1'", "version of 2"]
    assert book.asked == ["", "1", "1'", "2"]


@in_a_loop
async def test_an_error_comes_out_where_its_page_would() -> None:
    book = Book(3)
    book.errors["2"] = Expired("too old")
    book.sent.set()
    listing = pages(book.cluster, THINGS)
    assert [(await anext(listing)).resource_version for _ in range(2)] == ["version of ", "version of 1"]
    with pytest.raises(Expired):
        await anext(listing)


@in_a_loop
async def test_who_leaves_early_leaves_nothing_running() -> None:
    book = Book(3)
    reading = asyncio.create_task(read(book))
    await book.asked_ahead.wait()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    await book.given_up.acquire()
    await book.given_up.acquire()
