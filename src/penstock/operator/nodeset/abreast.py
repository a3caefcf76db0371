"""Doing something for many, some at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import TypeVar

from penstock.cluster.groups import TaskGroup

T = TypeVar("T")

AT_ONCE = 32
"""Requests under way at a time."""


async def abreast(items: Collection[T], work: Callable[[T], Awaitable[None]]) -> None:
    """Do something for each, some at a time. When one is refused the rest is not even tried."""

    async def some() -> None:
        for one in waiting:
            await work(one)

    waiting = iter(items)
    try:
        async with TaskGroup() as group:
            for _ in range(min(AT_ONCE, len(items))):
                group.create_task(some())
    except ExceptionGroup as errors:
        # Many requests fail for one reason: the first error tells it.
        raise _first(errors) from None


def _first(errors: ExceptionGroup[Exception]) -> Exception:
    error = errors.exceptions[0]
    return _first(error) if isinstance(error, ExceptionGroup) else error
