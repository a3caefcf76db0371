"""A task that outlives the failure of one that it waited for is as it was before."""

from __future__ import annotations

import asyncio

import pytest

from penstock.cluster.groups import TaskGroup


async def failing() -> None:
    await asyncio.sleep(0)
    raise LookupError


async def survived(*, waits: bool) -> asyncio.Task[object]:
    """Outlive a group in which somebody fails, while we wait for it at its end or before."""
    try:
        async with TaskGroup() as group:
            group.create_task(failing())
            if waits:
                await asyncio.Event().wait()
    except* LookupError:
        pass
    task = asyncio.current_task()
    assert task is not None
    return task


@pytest.mark.parametrize("waits", [True, False])
def test_who_outlives_a_failure_is_not_cancelled(waits: bool) -> None:
    async def story() -> None:
        assert (await survived(waits=waits)).cancelling() == 0
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await asyncio.Event().wait()

    asyncio.run(story())


def test_who_is_cancelled_meanwhile_stays_so() -> None:
    async def stubborn() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise LookupError

    async def waiting() -> None:
        async with TaskGroup() as group:
            group.create_task(stubborn())

    async def story() -> None:
        task = asyncio.create_task(waiting())
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(ExceptionGroup):
            await task
        assert task.cancelling() == 1

    asyncio.run(story())
