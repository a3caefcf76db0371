"""The queue: each key once, by one worker at a time, none forgotten, those that fail later and later."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.cluster.backoff import Backoff
from penstock.cluster.errors import Overloaded, Unreachable
from penstock.cluster.queue import WorkQueue

from .virtual_time import run

Story = Callable[[], Coroutine[Any, Any, None]]


class Bench:
    """A queue whose work takes a second, and a record of it."""

    def __init__(self, *, errors: dict[str, list[Exception]] | None = None, seconds: float = 1.0) -> None:
        self.queue: WorkQueue[str] = WorkQueue(backoff=Backoff(first=1.0, longest=8.0, chance=lambda: 1.0))
        self.done: list[tuple[str, float]] = []
        self.at_once = 0
        self._busy: set[str] = set()
        self._errors = errors or {}
        self._seconds = seconds

    async def work(self, key: str) -> None:
        """Take a second; fail as often as told."""
        assert key not in self._busy, f"two workers have {key}"
        self._busy.add(key)
        self.at_once = max(self.at_once, len(self._busy))
        self.done.append((key, asyncio.get_running_loop().time() - 1000.0))
        try:
            await asyncio.sleep(self._seconds)
            if errors := self._errors.get(key):
                raise errors.pop(0)
        finally:
            self._busy.discard(key)

    def play(self, story: Story, *, workers: int = 1) -> list[str]:
        """Tell a story to the queue while it runs; what was worked on, in order, with the second it began."""

        async def main() -> None:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.queue.run(self.work, workers=workers))
                await story()
                await asyncio.sleep(100)
                self.queue.stop()

        run(main())
        return [f"{key}@{began:g}" for key, began in self.done]


def test_keys_are_worked_on_in_order_each_once() -> None:
    bench = Bench()

    async def story() -> None:
        for key in "abacb":
            bench.queue.add(key)

    assert bench.play(story) == ["a@0", "b@1", "c@2"]


def test_workers_share_the_keys() -> None:
    bench = Bench()

    async def story() -> None:
        for key in "abcde":
            bench.queue.add(key)

    assert bench.play(story, workers=2) == ["a@0", "b@0", "c@1", "d@1", "e@2"]
    assert bench.at_once == 2


def test_a_key_added_while_it_is_worked_on_is_looked_at_once_more_and_never_by_two() -> None:
    bench = Bench()

    async def story() -> None:
        bench.queue.add("a")
        await asyncio.sleep(0.5)
        bench.queue.add("a")
        bench.queue.add("a")

    assert bench.play(story, workers=3) == ["a@0", "a@1"]
    assert bench.at_once == 1


def test_of_two_wishes_the_earlier_wins() -> None:
    bench = Bench()

    async def story() -> None:
        bench.queue.add_after("a", 10)
        bench.queue.add_after("a", 3)
        bench.queue.add_after("a", 7)
        bench.queue.add_after("b", 5)
        bench.queue.add("b")

    assert bench.play(story) == ["b@0", "a@3"]


def test_a_wish_for_later_adds_nothing_to_one_for_now() -> None:
    bench = Bench()

    async def story() -> None:
        bench.queue.add("a")
        bench.queue.add_after("a", 5)
        bench.queue.add("b")
        await asyncio.sleep(1.5)
        bench.queue.add("b")
        bench.queue.add_after("b", 5)

    assert bench.play(story) == ["a@0", "b@1", "b@2"]


def test_a_wish_for_later_made_during_the_work_is_kept() -> None:
    bench = Bench()

    async def story() -> None:
        bench.queue.add("a")
        await asyncio.sleep(0.5)
        bench.queue.add_after("a", 10)

    assert bench.play(story) == ["a@0", "a@10.5"]


def test_a_key_that_fails_waits_longer_each_time_and_begins_anew_after_success() -> None:
    bench = Bench(errors={"a": [RuntimeError("no")] * 5}, seconds=0.0)

    async def story() -> None:
        bench.queue.add("a")
        await asyncio.sleep(40)
        bench._errors["a"] = [RuntimeError("no")]  # noqa: SLF001 - the bench is ours
        bench.queue.add("a")

    assert bench.play(story) == ["a@0", "a@1", "a@3", "a@7", "a@15", "a@23", "a@40", "a@41"]


def test_news_about_a_key_that_failed_is_looked_at_at_once() -> None:
    bench = Bench(errors={"a": [RuntimeError("no")] * 3}, seconds=0.0)

    async def story() -> None:
        bench.queue.add("a")
        await asyncio.sleep(1.5)
        bench.queue.add("a")

    assert bench.play(story)[:4] == ["a@0", "a@1", "a@1.5", "a@5.5"]


def test_a_cluster_that_says_when_to_come_back_is_believed() -> None:
    bench = Bench(errors={"a": [Overloaded("busy", retry_after=20)]}, seconds=0.0)

    async def story() -> None:
        bench.queue.add("a")

    assert bench.play(story) == ["a@0", "a@20"]


def test_one_that_fails_does_not_hold_up_the_others() -> None:
    bench = Bench(errors={"a": [RuntimeError("no")] * 2}, seconds=0.0)

    async def story() -> None:
        bench.queue.add("a")
        bench.queue.add("b")

    assert bench.play(story) == ["a@0", "b@0", "a@1", "a@3"]


@pytest.mark.parametrize(("error", "traced"), [(Unreachable("away"), False), (RuntimeError("a mistake"), True)])
def test_the_log_has_a_traceback_for_mistakes_only(
    error: Exception, traced: bool, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench(errors={"a": [error]}, seconds=0.0)

    async def story() -> None:
        bench.queue.add("a")

    bench.play(story)
    assert f"a: {error}; again in 1.0 s" in caplog.text
    assert ("Traceback" in caplog.text) is traced


def test_stopping_finishes_what_is_in_hand_and_begins_nothing() -> None:
    bench = Bench()

    async def main() -> float:
        loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as group:
            group.create_task(bench.queue.run(bench.work, workers=2))
            for key in "abcd":
                bench.queue.add(key)
            bench.queue.add_after("e", 5)
            await asyncio.sleep(0.5)
            bench.queue.stop()
            bench.queue.add_after("f", 5)
        ended = loop.time() - 1000.0
        await asyncio.sleep(10)
        assert bench.queue.depth == 2, "no timer outlives the stop"
        return ended

    assert run(main()) == 1.0
    assert [key for key, _ in bench.done] == ["a", "b"]


def test_cancelling_drops_what_is_in_hand_and_leaves_no_timers() -> None:
    bench = Bench(seconds=1e6)

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(bench.queue.run(bench.work))
            bench.queue.add("a")
            bench.queue.add_after("b", 5)
            await asyncio.sleep(1)
            task.cancel()
        assert not bench.queue._later  # noqa: SLF001 - timers are not to be seen otherwise

    run(main())


def test_depth_and_age_tell_how_far_behind_the_workers_are() -> None:
    bench = Bench()
    seen: list[tuple[int, float]] = []

    async def story() -> None:
        for key in "abc":
            bench.queue.add(key)
        for _ in range(4):
            await asyncio.sleep(0.9)
            seen.append((bench.queue.depth, round(bench.queue.oldest_age, 1)))

    bench.play(story)
    assert seen == [(2, 0.9), (1, 1.8), (0, 0.0), (0, 0.0)]


Wish = tuple[float, str, float | None]
wishes = st.lists(
    st.tuples(
        st.floats(min_value=0, max_value=3), st.sampled_from("abcd"), st.none() | st.floats(min_value=0, max_value=9)
    ),
    max_size=30,
)


@given(wishes, st.integers(min_value=1, max_value=4))
def test_every_wish_is_followed_by_a_look_no_later_than_it_could_be(given_wishes: list[Wish], workers: int) -> None:
    """Whatever is added, in whatever order: a look at the key begins after the wish, and the queue comes to rest."""
    bench = Bench()
    made: list[tuple[str, float, float]] = []

    async def story() -> None:
        for pause, key, delay in given_wishes:
            await asyncio.sleep(pause)
            now = asyncio.get_running_loop().time() - 1000.0
            made.append((key, now, now + (delay or 0.0)))
            bench.queue.add(key) if delay is None else bench.queue.add_after(key, delay)

    bench.play(story, workers=workers)
    for key, wished, due in made:
        looks = [began for name, began in bench.done if name == key and began >= wished]
        # At most four keys of a second each can be in the way, and one look of its own under way.
        assert looks, f"{key} was forgotten"
        assert min(looks) <= due + 5.0
    assert bench.at_once <= workers
    assert len(bench.done) <= len(made)
