"""Watches that break, expire and lag: the operator ends where it should, and does nothing wrong on the way."""

from __future__ import annotations

import asyncio
import random

import pytest

from penstock.operator.resources import PODS

from .loop import simulate, simulated
from .manifests import NAMESPACE, NODE_SET, sample
from .port import Port
from .world import World, cluster, world

SEEDS = range(4)


async def _to_and_fro(here: World, port: Port) -> None:
    await here.apply(sample())
    here.start(port)
    await here.ready()
    for replicas in (8, 3, 6, 2):
        here.slurm.submit(2, 20)
        await here.scale(replicas)
        await here.edit("Controller", "slurm", spec={"extraConf": f"MaxJobCount={1000 + replicas}"})
        await here.until(lambda: len(here.sight.workers()) == replicas, within=240, what=str(replicas))  # noqa: B023
        await here.ready(within=240)
    assert "MaxJobCount=1002" in here.sight("ConfigMap", "slurm-config").data["slurm.conf"]
    await asyncio.sleep(65)
    status = here.sight("NodeSet", NODE_SET).status
    assert (status["replicas"], status["readyReplicas"], status["slurmIdle"]) == (2, 2, 2)


@pytest.mark.parametrize("seed", SEEDS)
def test_watches_that_are_cut_and_expire(seed: int) -> None:
    """A short memory of the server, and lines that hold for a few events only."""

    async def main() -> None:
        async with world(history=1) as here:
            port = Port(here.store)
            port.latency = 0.1
            port.cut_after = lambda: random.randrange(6)  # noqa: S311 - chance, not secrecy
            await _to_and_fro(here, port)
            lists = sum(call.verb == "list" for call in port.calls)
            assert len(port.watches) > 50, f"seed {seed}: lines hardly ever broke"
            assert lists > 22, f"seed {seed}: history was hardly ever lost"

    simulate(main(), seed=seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_watches_that_lag(seed: int) -> None:
    """Events come up to a second late, each resource at its own pace."""

    async def main() -> None:
        async with world() as here:
            port = Port(here.store)
            port.latency = 0.5
            await _to_and_fro(here, port)

    simulate(main(), seed=seed)


def test_a_drained_worker_stays_while_the_cluster_is_not_heard() -> None:
    """Slurm answers, but what the operator knows of Kubernetes is minutes old."""

    async def main() -> None:
        async with cluster(replicas=6) as (here, running):
            here.slurm.submit(6, 200)
            await here.scale(2)
            await here.until(lambda: sum(node.drain for node in here.slurm.nodes.values()) == 4, within=10)
            running.port.hears.clear()
            await asyncio.sleep(400)
            assert len(here.sight.workers()) == 6
            running.port.hears.set()
            await here.until(lambda: len(here.sight.workers()) == 2, within=120)

    simulate(main())


def test_on_knowledge_that_is_too_old_nobody_acts() -> None:
    async def main() -> None:
        async with world() as here:
            port = Port(here.store)
            await here.apply(sample())
            running = here.start(port)
            await here.ready()
            port.hears.clear()
            await asyncio.sleep(200)
            assert "nothing was heard" in running.operator.trouble
            written = len(port.writes())
            await here.scale(6)
            await asyncio.sleep(100)
            assert len(port.writes()) == written
            port.hears.set()
            await here.until(lambda: len(here.sight.workers()) == 6, within=120)
            assert running.operator.trouble == ""

    simulate(main())


@simulated
async def test_a_worker_that_came_and_went_unseen_is_made_again() -> None:
    """The watch was silent meanwhile, and what it lists in the end is what it had shown before."""
    async with cluster(replicas=1, history=40) as (here, operator):
        port, name = operator.port, f"{NODE_SET}-1"

        async def gone() -> None:
            await here.store.delete(PODS, name, namespace=NAMESPACE, grace_seconds=0)
            stranger = {"metadata": {"name": "x", "namespace": NAMESPACE}, "spec": {"containers": []}}
            for _ in range(30):  # until the history does not reach back to it
                await here.store.create(PODS, stranger, manager="kubectl")
                await here.store.delete(PODS, "x", namespace=NAMESPACE, grace_seconds=0)
            await asyncio.sleep(1)
            port.down = True
            port.hears.set()
            await asyncio.sleep(0.3)
            port.down = False

        def made(verb: str, resource: str) -> None:
            if (verb, resource) == ("create", "pods"):
                port.after_write = lambda _verb, _resource: None
                here.spawn(gone())

        def before(verb: str, resource: str) -> None:
            if (verb, resource) == ("create", "pods"):
                port.hears.clear()

        port.before_write = before
        port.after_write = made
        await here.scale(2)
        await here.until(lambda: port.after_write is not made, within=30)
        port.before_write = lambda _verb, _resource: None
        await here.until(lambda: len(here.sight.workers()) == 2, within=120)
