"""A watch tells everything once, ends when it is time, and keeps nothing for who does not listen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest

from penstock.cluster.errors import Expired, Unreachable
from penstock.cluster.kube import KubeCluster, Limits, local
from penstock.cluster.port import EventType
from penstock.cluster.store import Store
from penstock.machine.api import NoContainers, serve

from .machine import CONFIG_MAPS, PODS, Machine, config_map, pod, run

HERE = "/api/v1/namespaces/slurm/configmaps"


async def lines(machine: Machine, **query: str) -> list[Any]:
    """All lines of a watch that ends."""
    url = f"http://machine{HERE}"
    async with machine.session.get(url, params={"watch": "1", **query}) as answer:
        assert (answer.status, answer.content_type) == (200, "application/json")
        return [msgspec.json.decode(line) async for line in answer.content]


def test_it_ends_when_it_is_time() -> None:
    async def test(machine: Machine) -> None:
        await machine.store.create(CONFIG_MAPS, config_map("a"))
        (only,) = await lines(machine, timeoutSeconds="1")
        assert (only["type"], only["object"]["metadata"]["name"]) == ("ADDED", "a")

    run(test)


def test_who_asks_for_all_there_is_is_told_where_that_ends() -> None:
    """`sendInitialEvents`, which the informers of newer clients use instead of a list."""

    async def test(machine: Machine) -> None:
        await machine.store.create(CONFIG_MAPS, config_map("a"))
        await machine.store.create(CONFIG_MAPS, config_map("b"))
        found = await lines(
            machine,
            timeoutSeconds="1",
            sendInitialEvents="true",
            allowWatchBookmarks="true",
            resourceVersionMatch="NotOlderThan",
        )
        assert [line["type"] for line in found] == ["ADDED", "ADDED", "BOOKMARK"]
        metadata = found[-1]["object"]["metadata"]
        assert metadata["annotations"] == {"k8s.io/initial-events-end": "true"}
        assert metadata["resourceVersion"] == found[1]["object"]["metadata"]["resourceVersion"]

    run(test)


@pytest.mark.parametrize("asked", [True, False])
def test_bookmarks_come_to_who_asked_for_them(asked: bool) -> None:
    async def test(machine: Machine) -> None:
        since = (await machine.store.list(CONFIG_MAPS)).resource_version
        for number in range(100):
            await machine.store.create(CONFIG_MAPS, config_map(f"hidden-{number}"))
        query = {"allowWatchBookmarks": "true"} if asked else {}
        found = await lines(machine, timeoutSeconds="1", labelSelector="shown", resourceVersion=since, **query)
        assert [line["type"] for line in found] == ["BOOKMARK"] * asked

    run(test)


def test_history_that_is_gone_is_told_as_an_error_in_the_stream() -> None:
    async def test(machine: Machine) -> None:
        for number in range(10):
            await machine.store.create(CONFIG_MAPS, config_map(f"c{number}"))
        (only,) = await lines(machine, timeoutSeconds="9", resourceVersion="2")
        assert (only["type"], only["object"]["code"], only["object"]["reason"]) == ("ERROR", 410, "Expired")

    run(test, history=5)


def test_who_is_too_slow_has_to_list_again() -> None:
    """What nobody reads is kept by nobody: the store forgets, and says so."""

    async def test(machine: Machine) -> None:
        since = (await machine.store.list(CONFIG_MAPS)).resource_version
        async with aclosing(machine.cluster.watch(CONFIG_MAPS, since=since)) as events:
            await anext(events)
            # More than all buffers on the way take: the sockets' and those of the client.
            for number in range(60):
                await machine.store.create(CONFIG_MAPS, config_map(f"c{number}", x="x" * 200_000))
            seen: list[object] = []
            with pytest.raises(Expired):
                await _read_on(events, seen)
        assert 0 < len(seen) < 60

    run(test, history=5)


async def _read_on(events: AsyncGenerator[object, None], seen: list[object]) -> None:
    async for event in events:
        seen.append(event)  # noqa: PERF401 - what was seen counts, however it ends


def test_who_leaves_is_not_waited_for() -> None:
    async def test(machine: Machine) -> None:
        async with aclosing(machine.cluster.watch(PODS, since="")) as events:
            async for event in events:
                if event.type is EventType.ADDED:
                    break
        # The end of its answer is the end of its reader in the store.
        while machine.store._shelf("pods")._readers:  # noqa: ASYNC110, SLF001 - nobody tells of a reader that left
            await asyncio.sleep(0.01)

    run(test)


def test_a_server_that_goes_ends_its_watches_in_order() -> None:
    """Not as a broken link: who watches can ask again at once, and knows how far it came."""

    async def main() -> None:
        with TemporaryDirectory(prefix="penstock-") as directory:
            path, began = Path(directory) / "s", asyncio.Event()
            async with Store() as store, KubeCluster(local(path)) as cluster:
                async with serve(store, NoContainers(), path=path):
                    watching = asyncio.create_task(_watched(cluster, began))
                    await began.wait()
                    leaves = asyncio.get_running_loop().time()
                assert asyncio.get_running_loop().time() - leaves < 2
                assert await watching == [EventType.BOOKMARK]

    asyncio.run(main())


async def _watched(cluster: KubeCluster, began: asyncio.Event) -> list[EventType]:
    """What a watch tells until it ends by itself."""
    found: list[EventType] = []
    async with aclosing(cluster.watch(PODS, since="")) as events:
        async for event in events:
            found.append(event.type)
            began.set()
    return found


def test_after_a_new_start_the_same_client_goes_on() -> None:
    async def main() -> None:
        with TemporaryDirectory(prefix="penstock-") as directory:
            path = Path(directory) / "s"
            limits = Limits(patience=0.1)
            async with Store() as store, KubeCluster(local(path), limits) as cluster:
                for name in ("a", "b"):
                    async with serve(store, NoContainers(), path=path):
                        await cluster.create(PODS, pod(name))
                with pytest.raises(Unreachable):
                    await cluster.get(PODS, "a", "slurm")

    asyncio.run(main())
