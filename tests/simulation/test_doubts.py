"""A slurmd or slurmctld has died: nodes on which Slurm counts jobs are asked once more when its doubt has run out.

What Slurm makes of it is held to the real Slurm by `tests/real_slurm/test_doubts.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.api.objects import Json
from penstock.operator.resources import PODS

from .loop import now, simulated
from .manifests import NAMESPACE
from .slurm_records import Job, Node
from .world import World, cluster

DOUBT = 22.0
"""Seconds: Slurm's own 20, and two to be sure."""
SOON = 3.0
"""Seconds for a look or two."""
Asked = list[tuple[float, str]]
"""When each node was asked."""


@contextmanager
def listening(here: World) -> Iterator[Asked]:
    """What is asked meanwhile; nothing else may be changed."""
    asked: Asked = []

    def note(node: Node, body: Json, _who: str) -> None:
        assert body["state"] == ["UNDRAIN"]
        asked.append((now(), node.name))

    here.slurm.on_change = note
    yield asked
    here.slurm.on_change = lambda *_: None


async def died(here: World, pod: str, times: int = 1) -> float:
    """The daemon of a pod has died and been started again; when that was."""
    container = "slurmctld" if "controller" in pod else "slurmd"
    status = {"containerStatuses": [{"name": container, "restartCount": times}]}
    await here.store.patch(PODS, pod, {"status": status}, namespace=NAMESPACE, subresource="status", manager="kubelet")
    return now()


def worker(here: World, job: Job) -> str:
    """The pod in which a job runs."""
    uid = here.slurm.nodes[job.node].pod
    return next(pod.metadata.name for pod in here.kubernetes.pods.all() if pod.metadata.uid == uid)


async def running(here: World, seconds: float = 5000) -> Job:
    """A job that runs."""
    job = here.slurm.submit(1, seconds)[0]
    await here.until(lambda: job.began)
    return job


@simulated
async def test_a_node_whose_slurmd_has_died_is_asked_once_when_the_doubt_is_over() -> None:
    async with cluster() as (here, _):
        job = await running(here)
        with listening(here) as asked:
            at = await died(here, worker(here, job))
            await asyncio.sleep(1000)
        assert [name for _, name in asked] == [job.node]
        assert DOUBT <= asked[0][0] - at <= DOUBT + SOON
        here.slurm.cancel(job.number)


@simulated
async def test_a_node_without_jobs_is_not_asked() -> None:
    """Nor is one whose jobs have ended meanwhile, not even when others have come: there is no doubt about those."""
    async with cluster() as (here, _):
        job = await running(here, seconds=2)
        pods = [pod.metadata.name for pod in here.kubernetes.pods.all() if "worker" in pod.metadata.name]
        with listening(here) as asked:
            for pod in pods:
                await died(here, pod)
            await here.until(lambda: job.ended is not None)
            await asyncio.sleep(35)
            others = here.slurm.submit(2, 300)
            await asyncio.sleep(200)
        assert all(one.runs for one in others)
        assert asked == []
        for one in others:
            here.slurm.cancel(one.number)


@simulated
async def test_when_slurmctld_has_died_all_nodes_with_jobs_are_asked() -> None:
    async with cluster(replicas=4) as (here, _):
        jobs = [await running(here) for _ in range(3)]
        with listening(here) as asked:
            at = await died(here, "slurm-controller-0")
            await asyncio.sleep(1000)
        assert sorted(name for _, name in asked) == sorted(job.node for job in jobs)
        assert all(DOUBT <= when - at <= DOUBT + SOON for when, _ in asked)
        for job in jobs:
            here.slurm.cancel(job.number)


@simulated
async def test_the_time_runs_while_slurm_answers() -> None:
    """A slurmctld that takes long to come back has just begun to doubt when it does."""
    async with cluster() as (here, _):
        job = await running(here)
        with listening(here) as asked:
            here.slurmrestd.away = True
            await died(here, "slurm-controller-0")
            await asyncio.sleep(60)
            here.slurmrestd.away, back = False, now()
            await asyncio.sleep(100)
        assert [name for _, name in asked] == [job.node]
        assert DOUBT <= asked[0][0] - back <= DOUBT + 5 + SOON
        here.slurm.cancel(job.number)


@simulated
async def test_a_persons_drain_is_never_lost_by_it() -> None:
    """The node is asked when they have given it back."""
    async with cluster() as (here, _):
        job = await running(here)
        node = here.slurm.nodes[job.node]
        await died(here, worker(here, job))
        here.slurm.change([node.name], {"state": ["DRAIN"], "reason": "look at its fan"})
        await asyncio.sleep(300)
        assert (node.drain, node.reason) == (True, "look at its fan")
        here.slurm.change([node.name], {"state": ["UNDRAIN"]})
        with listening(here) as asked:
            await asyncio.sleep(100)
        assert [name for _, name in asked] == [node.name]
        here.slurm.cancel(job.number)


@simulated
async def test_a_drain_of_the_last_moment_is_seen() -> None:
    """Between the poll and the order: the nodes are read once more, right before."""
    async with cluster() as (here, _):
        job = await running(here)
        node, polls = here.slurm.nodes[job.node], 0
        at = await died(here, worker(here, job))

        def drain() -> None:
            nonlocal polls
            polls += now() >= at + DOUBT
            if polls == 2:
                here.slurmrestd.before = lambda: None
                here.slurm.change([node.name], {"state": ["DRAIN"], "reason": "mine"})

        here.slurmrestd.before = drain
        await asyncio.sleep(200)
        assert (node.drain, node.reason) == (True, "mine")
        here.slurm.cancel(job.number)


@simulated
async def test_an_operator_that_comes_later_asks_too() -> None:
    """The one before may have been killed while it waited."""
    async with cluster() as (here, operator):
        job = await running(here)
        with listening(here) as asked:
            await died(here, worker(here, job))
            await asyncio.sleep(10)
            await operator.crash()
            here.start()
            await asyncio.sleep(100)
        assert [name for _, name in asked] == [job.node]
        here.slurm.cancel(job.number)


@simulated
async def test_what_slurm_does_not_hear_is_said_again() -> None:
    async with cluster() as (here, _):
        job = await running(here)
        with listening(here) as asked:
            await died(here, worker(here, job))
            here.slurmrestd.deaf = True
            await asyncio.sleep(60)
            assert asked == []
            here.slurmrestd.deaf = False
            await asyncio.sleep(20)
        assert {name for _, name in asked} == {job.node}
        here.slurm.cancel(job.number)
