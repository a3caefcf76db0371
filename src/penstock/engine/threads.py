"""Work that is not left alone half done: what it makes after we have gone nobody would remove."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def to_its_end(work: Callable[P, T], /, *words: P.args, **said: P.kwargs) -> T:
    """Do something in a thread, and see it end even when told to stop meanwhile."""
    return await finished(asyncio.to_thread(work, *words, **said))


async def finished(work: Coroutine[Any, Any, T]) -> T:
    """Do something to its end, however often we are told to stop meanwhile; only then we do."""
    doing, told = asyncio.ensure_future(work), False
    while not doing.done():
        try:
            await asyncio.wait([doing])
        except asyncio.CancelledError:
            told = True
    if told:
        if not doing.cancelled():
            doing.exception()  # Nobody asks any more how it went.
        raise asyncio.CancelledError
    return doing.result()
