"""Turns: no more at once than may be, the urgent ones first, and none is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from penstock.engine.turns import URGENT, Turns


def told(story: Coroutine[Any, Any, list[str]]) -> list[str]:
    async def bounded() -> list[str]:
        async with asyncio.timeout(10):
            return await story

    return asyncio.run(bounded())


async def _settle() -> None:
    """Let everybody come as far as they can."""
    for _ in range(10):
        await asyncio.sleep(0)


async def _hold(turns: Turns, entered: list[str], name: str, rank: int, until: asyncio.Event) -> None:
    async with turns.one((rank,)):
        entered.append(name)
        await until.wait()


def test_who_matters_more_goes_first_and_of_equals_who_came_first() -> None:
    async def story() -> list[str]:
        turns, entered, leave, go_on = Turns(2), list[str](), asyncio.Event(), asyncio.Event()
        go_on.set()
        first = asyncio.create_task(_hold(turns, entered, "first", 1, leave))
        await _settle()
        wanted = (("late", 3), ("second", 1), ("third", 1), ("last", 4))
        tasks = [asyncio.create_task(_hold(turns, entered, name, rank, go_on)) for name, rank in wanted]
        await _settle()
        assert entered == ["first"]
        leave.set()
        await asyncio.gather(first, *tasks)
        return entered

    assert told(story()) == ["first", "second", "third", "late", "last"]


def test_a_turn_is_kept_for_the_urgent() -> None:
    """What others wait for does not wait for a dozen of those."""

    async def story() -> list[str]:
        turns, entered, leave = Turns(3), list[str](), asyncio.Event()
        wanted = [("a", 1), ("b", 1), ("c", 1), ("urgent", URGENT), ("urgent too", URGENT)]
        tasks = [asyncio.create_task(_hold(turns, entered, name, rank, leave)) for name, rank in wanted]
        await _settle()
        inside = [*entered]
        leave.set()
        await asyncio.gather(*tasks)
        return inside

    assert told(story()) == ["a", "b", "urgent"]


def test_who_can_wait_is_kept_back_for_a_while() -> None:
    """Turns may be free meanwhile: who is to come next is busy with something else."""

    async def story() -> list[str]:
        turns, entered, go_on = Turns(4), list[str](), asyncio.Event()
        go_on.set()
        with turns.kept_from(2):
            tasks = [asyncio.create_task(_hold(turns, entered, f"rank {rank}", rank, go_on)) for rank in (2, 3, 1)]
            await _settle()
            assert entered == ["rank 1"]
        await asyncio.gather(*tasks)
        return entered

    assert told(story()) == ["rank 1", "rank 2", "rank 3"]


def test_all_turns_are_the_urgents_if_they_need_them() -> None:
    async def story() -> list[str]:
        turns, entered, leave = Turns(2), list[str](), asyncio.Event()
        wanted = [("a", URGENT), ("b", URGENT), ("c", URGENT), ("d", 1)]
        tasks = [asyncio.create_task(_hold(turns, entered, name, rank, leave)) for name, rank in wanted]
        await _settle()
        inside = [*entered]
        leave.set()
        await asyncio.gather(*tasks)
        return inside

    assert told(story()) == ["a", "b"]


def test_a_turn_that_is_not_taken_goes_to_the_next() -> None:
    """Who is cancelled while it waits, or at the very moment it is called."""

    async def story() -> list[str]:
        turns, entered, go_on = Turns(2), list[str](), asyncio.Event()
        go_on.set()
        async with turns.one((1,)):
            names = ("leaves", "is called and leaves", "stays")
            tasks = [asyncio.create_task(_hold(turns, entered, name, 1, go_on)) for name in names]
            await _settle()
            tasks[0].cancel()
        tasks[1].cancel()  # called when our turn was over, and not there yet
        await asyncio.gather(*tasks, return_exceptions=True)
        await _hold(turns, entered, "somebody later", 1, go_on)
        return entered

    assert told(story()) == ["stays", "somebody later"]
