"""The store's own bounds: how far back it remembers, what it tells a watcher that sees nothing, how a watch ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps

import pytest

from penstock.cluster.errors import Expired, Refused
from penstock.cluster.informer import Informer
from penstock.cluster.port import EventType, Selection
from penstock.cluster.resources import Resource, Whole
from penstock.cluster.store import Store

from . import virtual_time

CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap", Whole)
SECRETS = Resource("", "v1", "secrets", "Secret", Whole)


def loop(test: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    """Run an async test in a loop of its own."""

    @wraps(test)
    def run() -> None:
        asyncio.run(bounded(test))

    return run


async def bounded(test: Callable[[], Awaitable[None]]) -> None:
    """Rather fail than hang."""
    async with asyncio.timeout(10):
        await test()


async def write(store: Store, count: int, resource: Resource[Whole] = CONFIG_MAPS) -> None:
    """Make objects, and so as many changes."""
    for _ in range(count):
        await store.create(resource, {"metadata": {"generateName": "one-", "namespace": "test"}})


@loop
async def test_a_watch_that_begins_before_the_first_write_misses_nothing() -> None:
    """The version of an empty store must not be the "0" that means: whatever is there by now."""
    store = Store()
    since = (await store.list(CONFIG_MAPS)).resource_version
    await write(store, 1)
    await store.delete(CONFIG_MAPS, (await store.list(CONFIG_MAPS)).items[0].metadata.name, namespace="test")
    watch = store.watch(CONFIG_MAPS, since=since)
    assert [(await anext(watch)).type for _ in range(2)] == [EventType.ADDED, EventType.DELETED]


@loop
async def test_what_is_too_long_ago_is_expired() -> None:
    store = Store(history=10)
    await write(store, 15)
    with pytest.raises(Expired, match="too old resource version: 5"):
        await anext(store.watch(CONFIG_MAPS, since="5"))
    event = await anext(store.watch(CONFIG_MAPS, since="6"))
    assert event.resource_version == "7"


@loop
async def test_what_happens_to_other_kinds_does_not_age_a_quiet_one() -> None:
    store = Store(history=10)
    await write(store, 1, SECRETS)
    await write(store, 50)
    watch = store.watch(SECRETS, since="2")
    waiting = asyncio.ensure_future(anext(watch))
    await write(store, 1, SECRETS)
    assert (await waiting).resource_version == "53"


@loop
async def test_a_watcher_that_is_too_slow_is_told_and_blocks_nobody() -> None:
    store = Store(history=10)
    watch = store.watch(CONFIG_MAPS, since="0")
    first = asyncio.ensure_future(anext(watch))
    await write(store, 1)
    assert (await first).resource_version == "2"
    await write(store, 30)
    with pytest.raises(Expired):
        await anext(watch)


@loop
async def test_a_page_of_a_listing_that_is_too_old_is_expired() -> None:
    store = Store(history=10)
    await write(store, 5)
    page = await store.list(CONFIG_MAPS, limit=2)
    await write(store, 10)
    again = await store.list(CONFIG_MAPS, limit=2, continue_token=page.continue_token)
    assert again.resource_version == "6"
    await write(store, 1)
    with pytest.raises(Expired):
        await store.list(CONFIG_MAPS, limit=2, continue_token=page.continue_token)


@loop
async def test_a_token_of_another_listing_is_refused() -> None:
    store = Store()
    await write(store, 3)
    page = await store.list(CONFIG_MAPS, limit=2)
    with pytest.raises(Refused, match="not of a listing of secrets"):
        await store.list(SECRETS, continue_token=page.continue_token)


@loop
async def test_who_sees_nothing_for_long_is_told_how_far_the_watch_has_come() -> None:
    store = Store()
    watch = store.watch(CONFIG_MAPS, Selection(labels="never=seen"), since="0")
    waiting = asyncio.ensure_future(anext(watch))
    await write(store, 150)
    event = await waiting
    assert (event.type, event.object) == (EventType.BOOKMARK, None)
    assert 101 <= int(event.resource_version) <= 151


@loop
async def test_versions_that_cannot_be_are_not_waited_for() -> None:
    store = Store()
    with pytest.raises(Expired, match="Too large resource version: 7"):
        await anext(store.watch(CONFIG_MAPS, since="7"))
    with pytest.raises(Refused, match="not a number"):
        await anext(store.watch(CONFIG_MAPS, since="yesterday"))


@loop
async def test_watchers_hear_of_a_change_in_the_order_in_which_they_began_to_wait() -> None:
    """A simulation takes the same steps each time, wherever in memory its watchers are."""
    store, heard = Store(), list[int]()

    async def listen(number: int) -> None:
        await anext(store.watch(CONFIG_MAPS, since="0"))
        heard.append(number)

    async with asyncio.TaskGroup() as group:
        for number in range(30):
            group.create_task(listen(number))
        await asyncio.sleep(0)
        await write(store, 1)
    assert heard == [*range(30)]


@loop
async def test_closing_the_store_ends_its_watches() -> None:
    store = Store()
    watching = asyncio.ensure_future(everything(store))
    await write(store, 2)
    await store.close()
    assert await watching == 2


async def everything(store: Store) -> int:
    """How many events there are until the end."""
    return len([event async for event in store.watch(CONFIG_MAPS, since="0")])


@loop
async def test_a_watcher_that_gives_up_leaves_nothing_behind() -> None:
    store = Store()
    watching = asyncio.ensure_future(everything(store))
    await asyncio.sleep(0)
    watching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await watching
    await write(store, 1)
    assert len(asyncio.all_tasks()) == 1


async def staleness_over_an_hour(store: Store, where: Selection, others_every: float) -> float:
    """How stale a copy ever becomes while now and then something happens that it does not see."""
    informer = Informer(store, CONFIG_MAPS, where)
    worst = 0.0

    async def look() -> None:
        nonlocal worst
        await informer.synced.wait()
        for second in range(1, 3600):
            await asyncio.sleep(1)
            worst = max(worst, informer.staleness)
            if second % others_every == 0:
                await write(store, 1)

    await virtual_time.beside(informer.run(), look())
    return worst


@pytest.mark.parametrize("others_every", [5, 59, 61, 10_000])
def test_a_copy_of_what_is_at_rest_does_not_grow_stale(others_every: float) -> None:
    unseen = Selection(labels="never=seen")
    assert 50 < virtual_time.run(staleness_over_an_hour(Store(), unseen, others_every)) < 70


def test_a_sign_of_life_says_how_far_the_whole_store_has_come_and_a_watch_goes_on_from_there() -> None:
    async def main() -> None:
        store = Store()
        watch = store.watch(CONFIG_MAPS, since="1")
        waiting = asyncio.ensure_future(anext(watch))
        await asyncio.sleep(30)
        await write(store, 3, SECRETS)
        event = await waiting
        assert (event.type, event.object, event.resource_version) == (EventType.BOOKMARK, None, "4")
        assert asyncio.get_running_loop().time() == pytest.approx(1060)
        await write(store, 1)
        assert (await anext(watch)).resource_version == "5"
        again = store.watch(CONFIG_MAPS, since=event.resource_version)
        assert (await anext(again)).resource_version == "5"

    virtual_time.run(main())
