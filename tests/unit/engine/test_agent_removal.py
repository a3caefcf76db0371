"""Nothing of a pod stays when it is gone, however often the machine refuses to let go of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.virtual_time import run, until

from penstock.engine.addresses import Addresses
from penstock.engine.network import NetworkError
from penstock.engine.podspec import PODS
from penstock.engine.sandbox import Sandbox

from .played_agent import NAMESPACE, Machine, PlayedNetwork, machine
from .pods import Given, pod


@pytest.fixture(autouse=True)
def without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Virtual time stands still for threads: what would be done by one is done at once."""

    async def at_once(work: Callable[..., Any], *words: Any, **said: Any) -> Any:
        return work(*words, **said)

    monkeypatch.setattr(asyncio, "to_thread", at_once)


async def gone_by_force(it: Machine, *, refusals: int) -> str:
    """Have a pod that the store forgets at once, while the machine refuses to let go of it; its uid."""
    uid = await it.pod("p")
    await until(lambda: uid in it.network.cables)
    it.network.refusals = refusals
    await it.store.delete(PODS, "p", namespace=NAMESPACE, grace_seconds=0)
    await until(lambda: bool(it.network.tries))
    return uid


@pytest.mark.parametrize("refusals", [1, 5])
def test_a_pod_deleted_by_force_goes_in_the_end(tmp_path: Path, refusals: int) -> None:
    """Nobody asks for it any more, so nobody else would try again."""

    async def story() -> None:
        async with machine(tmp_path) as it:
            uid = await gone_by_force(it, refusals=refusals)
            await until(lambda: not it.layout.pod(uid).exists() and uid not in it.network.cables, within=600)
            await until(lambda: not it.agent.tasks)

    run(story())


def test_a_pod_of_the_same_name_does_not_wait_for_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with machine(tmp_path) as it:
            old = await gone_by_force(it, refusals=5)
            new = await it.pod("p")
            await until(lambda: new in it.network.cables, within=1)
            await until(lambda: old not in it.network.cables, within=600)
            await until(lambda: [*it.agent.tasks] == [new])
            assert new in it.network.cables

    run(story())


def test_who_is_refused_again_and_again_asks_less_and_less_often(tmp_path: Path) -> None:
    async def story() -> None:
        async with machine(tmp_path) as it:
            await gone_by_force(it, refusals=1000)
            await asyncio.sleep(3600)
            pauses = [after - before for before, after in pairwise(it.network.tries)]
            assert max(pauses[:3]) < 30 <= min(pauses[-3:])

    run(story())


def test_a_leftover_that_cannot_be_removed_keeps_nobody_from_beginning(tmp_path: Path) -> None:
    """An agent that ended with it would be started, and end, for ever."""

    async def story() -> None:
        async with machine(tmp_path, begins=False) as it:
            leftover = it.layout.pod("of-nobody")
            leftover.mkdir()
            it.network.refusals = 3
            it.begin.set()
            uid = await it.pod("p")
            await until(lambda: uid in it.network.cables, within=10)
            await until(lambda: not leftover.exists(), within=600)

    run(story())


def test_its_address_is_free_when_it_is_gone_and_not_before(tmp_path: Path) -> None:
    """An address that is given anew would meet the old cable; one that is never given back is lost."""

    async def story() -> None:
        network, it = PlayedNetwork(), pod("p")
        addresses, nobody = Addresses(network.subnet), Path()
        sandbox = Sandbox(
            it, tmp_path / "p", network=network, addresses=addresses, sources=Given(),
            claims=lambda _namespace, _name: nobody, group="of-nobody",
        )  # fmt: skip
        await sandbox.make(it)
        network.refusals = 1
        with pytest.raises(NetworkError):
            await sandbox.remove()
        assert len(addresses.in_use) == 1
        await sandbox.remove()
        assert not addresses.in_use

    run(story())
