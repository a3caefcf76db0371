"""Work in threads that is not left alone half done."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def to_its_end(work: Callable[P, T], /, *words: P.args, **said: P.kwargs) -> T:
    """Do something in a thread. Cancelled, it waits for the thread's end: what that makes afterwards nobody removes."""
    working = asyncio.ensure_future(asyncio.to_thread(work, *words, **said))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        await asyncio.wait([working])
        raise
