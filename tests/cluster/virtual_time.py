"""An event loop whose clock stands still while anything runs, and jumps to the next timer when nothing does."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

V = TypeVar("V")


class VirtualLoop(asyncio.SelectorEventLoop):
    """Hours pass in milliseconds, and the same test takes the same steps each time."""

    def __init__(self) -> None:
        self._now = 1000.0
        super().__init__(self.selector())

    def selector(self) -> selectors.BaseSelector:
        """What lets time pass."""
        return _JumpingSelector(self.pause)

    def time(self) -> float:
        """Virtual seconds."""
        return self._now

    def pause(self, seconds: float) -> None:
        """Let time pass while nothing runs; called inside a test, it is what SIGSTOP does to a process."""
        self._now += seconds


class _JumpingSelector(selectors.DefaultSelector):
    def __init__(self, advance: Callable[[float], None]) -> None:
        super().__init__()
        self._advance = advance

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise AssertionError("everybody waits, and nothing will ever happen")
        if not ready and timeout:
            self._advance(timeout)
        return ready


def run(main: Coroutine[Any, Any, V]) -> V:
    """`asyncio.run` in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


def pause(seconds: float) -> None:
    """Stop the process for so long."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    loop.pause(seconds)


async def until(condition: Callable[[], bool], *, within: float = 60.0) -> None:
    """Let virtual time pass until something holds."""
    async with asyncio.timeout(within):
        while not condition():  # noqa: ASYNC110 - a condition of any kind has no event
            await asyncio.sleep(0.01)


async def beside(background: Awaitable[None], main: Awaitable[V]) -> V:
    """Run `main` while something else runs that has no end of its own."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(_finish(background))
        try:
            return await main
        finally:
            task.cancel()


async def _finish(background: Awaitable[None]) -> None:
    await background
