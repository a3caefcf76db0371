"""The model of Slurm: a slurmd registers a moment before its worker is ready, or after, and not when it has ended."""

from __future__ import annotations

import asyncio

from penstock.cluster.resources import Whole

from .loop import simulated
from .slurm import node_name
from .world import World, cluster


@simulated
async def test_some_workers_register_before_they_are_ready_and_some_after() -> None:
    async with cluster(replicas=1) as (here, _):
        early = dict[str, bool]()
        here.kubernetes.on_ready.append(lambda pod: early.update({node_name(pod): node_name(pod) in here.slurm.nodes}))
        await here.scale(20)
        await here.until(lambda: len(here.slurm.nodes) == 20, within=30)
        assert set(early.values()) == {True, False}


@simulated
async def test_a_worker_that_is_deleted_before_it_registers_never_does() -> None:
    async with cluster(replicas=1) as (here, operator):
        gone = list[str]()
        here.kubernetes.on_started.append(lambda pod: _delete(here, pod, gone))
        await here.scale(20)
        await here.until(lambda: len(gone) == 19, within=30)
        await operator.crash()
        await asyncio.sleep(5)
        assert {node.pod for node in here.slurm.nodes.values()}.isdisjoint(gone)


def _delete(here: World, pod: Whole, gone: list[str]) -> None:
    if len(gone) < 19:
        gone.append(pod.metadata.uid)
        here.spawn(here.delete("Pod", pod.metadata.name))
