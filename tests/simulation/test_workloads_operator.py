"""The operator over our own controllers of workloads, in place of the model of Kubernetes' that other stories use."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from penstock.engine.workloads.runtime import Workloads

from . import kubernetes
from .loop import clock, now, simulated
from .manifests import NODE_SET, sample
from .port import Port
from .world import World, world


class _Nothing:
    """No model of workloads."""

    def __init__(self, *_: object) -> None: ...

    async def run(self) -> None:
        """Leave it to the real ones."""


@pytest.fixture(autouse=True)
def _no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubernetes, "Workloads", _Nothing)


@asynccontextmanager
async def on_one_machine(root: Path) -> AsyncIterator[tuple[World, Port]]:
    """A world whose only machine is the one that our controllers register."""
    async with world(machines=0) as here:
        port = Port(here.store, who="workloads")
        workloads = Workloads(port, claims_root=root, machine_name="here", now=clock)
        task = asyncio.create_task(workloads.run())
        try:
            yield here, port
        finally:
            task.cancel()
            await asyncio.wait([task])


def _directories(root: Path) -> list[str]:
    return sorted(one.name for one in root.glob("*/*"))


@simulated
async def test_the_sample_cluster_comes_up_and_rests(tmp_path: Path) -> None:
    """ONE-1: the same manifests and the same operator, on one machine."""
    async with on_one_machine(tmp_path) as (here, port):
        await here.apply(sample())
        operator = here.start()
        await here.ready()
        assert {pod.spec["nodeName"] for pod in here.sight.all("Pod")} == {"here"}
        [directory] = _directories(tmp_path)
        assert directory.startswith("statesave-slurm-controller-0-")
        await asyncio.sleep(60)
        since = now()
        await asyncio.sleep(600)
        assert [*port.writes(since), *operator.port.writes(since)] == []


@simulated
async def test_workers_come_and_go(tmp_path: Path) -> None:
    async with on_one_machine(tmp_path) as (here, _):
        await here.apply(sample())
        here.start()
        await here.ready()
        for size in (5, 1, 3):
            await here.scale(size, NODE_SET)
            await here.until(lambda size=size: len(here.sight.workers()) == size, within=300)  # type: ignore[misc]
        await here.ready()
