"""NodeSets grow and shrink, and no job dies of it (the world itself looks after that: see `world`)."""

from __future__ import annotations

import asyncio

import pytest

from penstock.operator.nodeset.drains import MARK

from .loop import now, simulated
from .manifests import NODE_SET
from .slurm_records import Job
from .world import World, cluster

GONE_WITHIN = 3.0
"""Seconds between the end of a worker's last job and its removal."""


@simulated
async def test_out_and_in_and_out_again_with_jobs_running() -> None:
    async with cluster(replicas=0) as (here, _):
        await _rest(here, 0)
        await here.scale(50)
        await _rest(here, 50)
        here.slurm.submit(50, 60)
        await here.scale(10)
        await asyncio.sleep(30)
        assert _status(here, "replicas", "slurmDrain") == (50, 40)
        assert "jobs still run on it" in here.sight.condition("NodeSet", NODE_SET, "Progressing")["message"]
        await here.until(lambda: len(here.sight.workers()) == 10, within=60)
        await _rest(here, 10)
        assert sorted(_ordinals(here)) == list(range(10))
        await here.scale(50)
        await _rest(here, 50)
        assert not any(node.drain for node in here.slurm.nodes.values())


@simulated
async def test_a_worker_goes_soon_after_its_last_job() -> None:
    async with cluster(replicas=6) as (here, _):
        jobs = here.slurm.submit(6, 40)
        for number, job in enumerate(jobs):
            job.seconds = 40 + 10.0 * number
        gone: dict[str, float] = {}
        here.kubernetes.on_leaving.append(lambda pod: gone.update({pod.spec["hostname"]: now()}))
        await here.scale(0)
        await here.until(lambda: not here.sight.workers(), within=200)
        ended = {job.node: job.ended or 0.0 for job in jobs}
        assert gone.keys() == ended.keys()
        assert all(0 <= gone[node] - ended[node] <= GONE_WITHIN for node in gone), (gone, ended)


@simulated
async def test_idle_workers_leave_before_busy_ones() -> None:
    async with cluster(replicas=6) as (here, _):
        for node in ("compute-3", "compute-5"):
            here.slurm.submit(1, 300, on=node)
        await asyncio.sleep(40)
        await here.scale(2)
        await here.until(lambda: len(here.sight.workers()) == 2, within=20)
        assert sorted(_ordinals(here)) == [3, 5]


@simulated
async def test_scaling_back_out_during_the_drain_gives_nodes_back() -> None:
    async with cluster(replicas=6) as (here, operator):
        pods = {pod.metadata.uid for pod in here.sight.workers()}
        here.slurm.submit(6, 600)
        await here.scale(2)
        await here.until(lambda: sum(node.drain for node in here.slurm.nodes.values()) == 4, within=5)
        await here.scale(6)
        await here.until(lambda: not any(node.drain for node in here.slurm.nodes.values()), within=5)
        await _rest(here, 6)
        assert {pod.metadata.uid for pod in here.sight.workers()} == pods
        assert all(not node.extra and not node.reason for node in here.slurm.nodes.values())
        assert ("delete", "pods") not in operator.port.counted()


@pytest.mark.parametrize("trouble", ["away", "slow", "replies lost"])
@simulated
async def test_while_slurm_does_not_answer_nothing_goes(trouble: str) -> None:
    async with cluster(replicas=6) as (here, _):
        here.slurm.submit(3, 30)
        here.slurmrestd.away, here.slurmrestd.slow = trouble == "away", 25.0 if trouble == "slow" else 0.0
        here.slurmrestd.lost_replies = 3 if trouble == "replies lost" else 0
        await asyncio.sleep(35)
        await here.scale(2)
        if trouble != "replies lost":
            await asyncio.sleep(120)
            assert len(here.sight.workers()) == 6
            told = here.sight.condition("NodeSet", NODE_SET, "Degraded")
            assert (told["status"], told["reason"]) == ("True", "SlurmUnknown")
            assert "no answer" in told["message"]
        here.slurmrestd.away, here.slurmrestd.slow = False, 0.0
        await here.until(lambda: len(here.sight.workers()) == 2, within=60)
        await _rest(here, 2)


@simulated
async def test_an_order_that_slurm_did_not_take_is_given_again() -> None:
    """Nothing changes in Slurm by it, so nothing there would tell us to look once more."""
    async with cluster(replicas=6) as (here, _):
        here.slurmrestd.deaf = True
        await here.scale(2)
        await asyncio.sleep(60)
        assert len(here.sight.workers()) == 6
        here.slurmrestd.deaf = False
        await here.until(lambda: len(here.sight.workers()) == 2, within=10)
        await _rest(here, 2)


@simulated
async def test_a_slurm_that_goes_away_in_the_middle_of_a_drain_stops_it() -> None:
    async with cluster(replicas=6) as (here, _):
        here.slurm.submit(6, 30)
        await here.scale(2)
        await here.until(lambda: any(node.drain for node in here.slurm.nodes.values()), within=5)
        here.slurmrestd.away = True
        await asyncio.sleep(300)
        assert len(here.sight.workers()) == 6
        assert here.sight.condition("NodeSet", NODE_SET, "Degraded")["reason"] == "SlurmUnknown"
        here.slurmrestd.away = False
        await here.until(lambda: len(here.sight.workers()) == 2, within=20)
        await _rest(here, 2)


@simulated
async def test_what_somebody_else_drained_stays_drained() -> None:
    async with cluster(replicas=4) as (here, _):
        here.slurm.change(["compute-1"], {"state": ["DRAIN"], "reason": "admin: bad disk"})
        here.slurm.submit(4, 100)
        await asyncio.sleep(31)
        await here.scale(1)
        await asyncio.sleep(10)
        here.slurm.change(["compute-2"], {"state": ["DRAIN"], "reason": "admin: this one too"})
        await asyncio.sleep(2)
        await here.scale(4)
        await asyncio.sleep(120)
        await _rest(here, 4)
        drained = {node.name: node.reason for node in here.slurm.nodes.values() if node.drain}
        assert drained.keys() <= {"compute-1", "compute-2"}
        assert "compute-2" in drained


@pytest.mark.parametrize("when", ["after Slurm was last heard", "while it is asked once more"])
@simulated
async def test_a_drain_that_somebody_takes_over_right_before_we_give_the_node_back_stays(when: str) -> None:
    """What the operator decides by says that the drain is its own; when it gives the order it is not (NS-4)."""
    async with cluster(replicas=4) as (here, operator):
        here.slurm.submit(4, 100)
        await here.scale(2)
        await here.until(lambda: here.slurm.nodes["compute-3"].drain, within=10)
        await asyncio.sleep(3)
        mine = "admin: this one is mine"

        def take_over() -> None:
            here.slurm.change(["compute-3"], {"state": ["DRAIN"], "reason": mine})
            here.slurmrestd.before = here.slurmrestd.after = lambda: None

        def heard() -> None:
            take_over()
            here.spawn(here.scale(4))

        def decided() -> None:
            # Only who is about to give an order asks for all nodes, changed or not.
            if here.slurmrestd.asking and here.slurmrestd.asking.path.endswith("/nodes/"):
                take_over()

        if when == "after Slurm was last heard":
            here.slurmrestd.after = heard
            here.slurm.touch()
        else:
            here.slurmrestd.before = decided
            await here.scale(4)
        await here.until(lambda: not here.slurm.nodes["compute-2"].drain, within=5, what="ours is given back")
        await asyncio.sleep(20)
        node = here.slurm.nodes["compute-3"]
        assert (node.drain, node.reason) == (True, mine)
        assert ("delete", "pods") not in operator.port.counted()


@simulated
async def test_a_node_that_gets_a_job_at_the_last_moment_keeps_its_worker() -> None:
    """Between Slurm's "drained" and the removal an administrator gives the node back, and a job begins."""
    async with cluster(replicas=4) as (here, _):
        taken: list[Job] = []

        def give_back() -> None:
            node = here.slurm.nodes["compute-3"]
            if node.drain and not taken:
                here.slurm.change(["compute-3"], {"state": ["UNDRAIN"], "extra": ""})
                taken.extend(here.slurm.submit(1, 60, on="compute-3"))

        here.slurmrestd.after = give_back
        await here.scale(3)
        await here.until(lambda: len(here.sight.workers()) == 3, within=90)
        assert len(taken) == 1


@simulated
async def test_no_worker_is_asked_for_twice_while_the_watch_is_behind() -> None:
    async with cluster() as (here, operator):
        operator.port.latency = 0.5
        before = operator.port.counted()["create", "pods"]
        await here.scale(40)
        await here.until(lambda: len(here.sight.workers()) == 40, within=60)
        await here.ready()
        assert operator.port.counted()["create", "pods"] - before == 38


@simulated
async def test_a_worker_without_a_machine_goes_at_once() -> None:
    async with cluster(replicas=2) as (here, _):
        here.slurm.submit(2, 1000)
        here.kubernetes.full = True
        await here.scale(5)
        await here.until(lambda: len(here.sight.workers()) == 5, within=5)
        await asyncio.sleep(5)
        assert "no room" in here.sight.condition("NodeSet", NODE_SET, "Degraded")["message"]
        await here.scale(2)
        await here.until(lambda: len(here.sight.workers()) == 2, within=GONE_WITHIN)
        assert sorted(_ordinals(here)) == [0, 1]


@simulated
async def test_workers_come_back_under_their_names_and_are_used_again() -> None:
    """A drain of ours outlives the pod in Slurm; the next worker of that name must not inherit it."""
    async with cluster(replicas=3) as (here, _):
        await here.scale(1)
        await here.until(lambda: len(here.sight.workers()) == 1, within=20)
        assert here.slurm.nodes["compute-2"].extra == MARK
        await here.scale(3)
        await _rest(here, 3)
        await here.until(lambda: not any(node.drain for node in here.slurm.nodes.values()), within=35)
        jobs = here.slurm.submit(3, 10)
        await asyncio.sleep(1)
        assert sorted(job.node for job in jobs) == ["compute-0", "compute-1", "compute-2"]


async def _rest(here: World, count: int) -> None:
    """Wait for rest, and check that the status is right."""
    await here.ready()
    await asyncio.sleep(31)
    assert _status(here, "replicas", "desired", "readyReplicas", "availableReplicas", "unavailableReplicas") == (
        count, count, count, count, 0,
    )  # fmt: skip
    assert _status(here, "updatedReplicas") == (count,)
    status = here.sight("NodeSet", NODE_SET).status
    assert status["slurmIdle"] + status["slurmAllocated"] == count, status


def _status(here: World, *names: str) -> tuple[int, ...]:
    status = here.sight("NodeSet", NODE_SET).status
    return tuple(status[name] for name in names)


def _ordinals(here: World) -> list[int]:
    return [int(pod.metadata.name.rpartition("-")[2]) for pod in here.sight.workers()]


@simulated
async def test_a_worker_with_a_suspended_job_stays_until_it_is_over() -> None:
    """Slurm says that such a node is drained and idle."""
    async with cluster(replicas=3) as (here, _):
        [job] = here.slurm.submit(1, 200, on="compute-2")
        here.slurm.suspend(job)
        await asyncio.sleep(40)
        await here.scale(0)
        await here.until(lambda: len(here.sight.workers()) == 1, within=20)
        await asyncio.sleep(60)
        assert job.runs
        told = here.sight.condition("NodeSet", NODE_SET, "Degraded")
        assert told["reason"] == "JobsSuspended"
        assert "compute-2: jobs are suspended there" in told["message"]
        here.slurm.suspend(job, suspended=False)
        await here.until(lambda: not here.sight.workers(), within=200)
        assert job.end == "COMPLETED"
