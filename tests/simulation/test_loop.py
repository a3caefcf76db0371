"""The loop of simulations: the same steps each time, wherever in memory everything is."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from .loop import simulate


async def cancelled(kept: list[object]) -> list[int]:
    """In which order a group cancels its tasks."""
    order: list[int] = []

    async def wait(number: int) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            order.append(number)

    with suppress(ExceptionGroup):
        async with asyncio.TaskGroup() as group:
            kept += [group.create_task(wait(number)) for number in range(30)]
            await asyncio.sleep(1)
            raise RuntimeError("that is it")
    return order


def test_a_group_cancels_its_tasks_in_the_same_order_each_time() -> None:
    """Groups keep tasks in sets: an operator that dies ends in the same way each time, or replays are none."""
    kept: list[object] = []
    first, *others = [simulate(cancelled(kept)) for _ in range(5)]
    assert sorted(first) == [*range(30)]
    assert others == [first] * 4
