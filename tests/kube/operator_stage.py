"""Servers that are played beside a test: a loop in a thread of its own, so that the test tells its story in order."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from typing import Any, TypeVar

T = TypeVar("T")
PATIENCE = 60.0


class Stage:
    """Where servers play."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._entered = AsyncExitStack()

    def wait(self, story: Coroutine[Any, Any, T]) -> T:
        """Do something there, and wait for its end."""
        return asyncio.run_coroutine_threadsafe(story, self._loop).result(PATIENCE)

    def call(self, function: Callable[[], T]) -> T:
        """Call a function there: what belongs to the loop is not touched from elsewhere."""

        async def called() -> T:
            return function()

        return self.wait(called())

    def enter(self, server: AbstractAsyncContextManager[T]) -> T:
        """Have a server play until the curtain falls."""
        return self.wait(self._entered.enter_async_context(server))

    def leave(self) -> None:
        """Let all of them end, the last one first."""
        self.wait(self._entered.aclose())


@contextmanager
def stage() -> Iterator[Stage]:
    """Open a stage; when it closes, nothing plays any more."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="stage")
    thread.start()
    here = Stage(loop)
    try:
        yield here
    finally:
        try:
            here.leave()
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(PATIENCE)
            loop.close()
