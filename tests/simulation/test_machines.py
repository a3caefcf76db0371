"""DaemonSet mode: a worker on every machine meant for one, and no job dies when machines come and go (NS-1 to NS-3).

That no job is lost is asserted at the end of every world; a crash at any call of such a story is in `test_crashes`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from penstock.api.objects import Json

from .loop import simulated
from .machines import Rack, per_machine
from .manifests import NODE_SET
from .world import Running, World, world

SECOND = f"{NODE_SET}-too"
GONE_WITHIN = 5.0
"""Seconds between the end of a worker's last job and its removal."""


@asynccontextmanager
async def racked(*names: str, conditions: tuple[str, ...] = ()) -> AsyncIterator[tuple[World, Rack, Running]]:
    """A cluster whose workers follow these machines, at rest. In the end no machine ever had two workers."""
    async with world() as here:
        rack = Rack(here)
        await rack.comes(*names)
        await here.apply(per_machine())
        operator = here.start(conditions=conditions)
        await here.ready()
        await asyncio.sleep(35)
        yield here, rack, operator
        assert not rack.doubled


def deleted(operator: Running) -> int:
    """How many workers the operator has deleted."""
    return operator.port.counted()["delete", "pods"]


@simulated
async def test_every_machine_of_the_pool_has_one_worker_and_no_other_machine_has() -> None:
    async with racked("rack-0", "rack-1", "rack-2") as (here, rack, operator):
        assert rack.workers().keys() == {"rack-0", "rack-1", "rack-2"}
        assert {str(pod.spec["nodeName"]) for pod in here.sight.workers()} == rack.workers().keys()
        assert here.slurm.nodes.keys() == rack.workers().keys()
        status = here.sight("NodeSet", NODE_SET).status
        assert [status[name] for name in ("desired", "replicas", "readyReplicas", "slurmIdle")] == [3, 3, 3, 3]
        assert operator.port.counted()["create", "pods"] == 3


@simulated
async def test_a_machine_that_comes_gets_its_worker_and_nobody_else_minds() -> None:
    async with racked("rack-0") as (here, rack, operator):
        before = rack.workers()
        await rack.comes("rack-1", "rack-2")
        await here.until(lambda: len(here.slurm.nodes) == 3, within=10)
        await here.ready()
        assert before.items() <= rack.workers().items()
        assert deleted(operator) == 0


@simulated
async def test_a_cordoned_machine_keeps_its_worker_and_its_jobs_and_gets_no_new_one() -> None:
    async with racked("rack-0", "rack-1") as (here, rack, operator):
        here.slurm.submit(2, 200)
        before = rack.workers()
        await rack.cordon("rack-1")
        await asyncio.sleep(300)
        assert rack.workers() == before
        assert here.slurm.nodes["rack-1"].reason == "penstock: its machine is cordoned"
        await here.ready()
        [pod] = [pod.metadata.name for pod in here.sight.workers() if pod.metadata.uid == before["rack-1"]]
        await here.delete("Pod", pod)
        await rack.holds("rack-0")
        await asyncio.sleep(120)
        assert rack.workers().keys() == {"rack-0"}
        assert here.sight("NodeSet", NODE_SET).status["desired"] == 1
        await rack.uncordon("rack-1")
        await rack.holds("rack-0", "rack-1", within=10)
        await here.ready()
        assert deleted(operator) == 0


@pytest.mark.parametrize("key", ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"])
@simulated
async def test_a_machine_that_is_out_of_touch_keeps_its_worker(key: str) -> None:
    """Its kubelet is not heard; jobs may well run there."""
    async with racked("rack-0", "rack-1") as (_, rack, operator):
        before = rack.workers()
        await rack.taint("rack-1", key)
        await asyncio.sleep(300)
        assert rack.workers() == before
        assert deleted(operator) == 0


@pytest.mark.parametrize("how", ["another pool", "a taint"])
@simulated
async def test_a_machine_that_is_taken_away_keeps_its_worker_until_its_jobs_are_over(how: str) -> None:
    async with racked("rack-0", "rack-1") as (here, rack, operator):
        _, job = here.slurm.submit(2, 200)
        before = rack.workers()
        await (rack.moves(job.node, "others") if how == "another pool" else rack.taint(job.node, "example.org/repair"))
        await here.until(lambda: here.slurm.nodes[job.node].drain, within=5)
        await asyncio.sleep(100)
        assert rack.workers() == before
        assert "jobs still run on it" in here.sight.condition("NodeSet", NODE_SET, "Progressing")["message"]
        await here.until(lambda: job.ended is not None, within=120)
        await here.until(lambda: job.node not in rack.workers(), within=GONE_WITHIN)
        await here.ready()
        assert (len(rack.workers()), deleted(operator)) == (1, 1)


@pytest.mark.parametrize("after", [10.0, 120.0], ids=["while it drains", "after its worker went"])
@simulated
async def test_a_machine_that_is_given_back_is_used_again(after: float) -> None:
    async with racked("rack-0") as (here, rack, operator):
        here.slurm.submit(1, 60)
        before = rack.workers()
        await rack.moves("rack-0", "others")
        await asyncio.sleep(after)
        await rack.moves("rack-0", "workers")
        await rack.holds("rack-0")
        await here.until(lambda: not here.slurm.nodes["rack-0"].drain, within=40)
        await here.ready()
        assert (rack.workers() == before) == (deleted(operator) == 0) == (after < 60)
        [job] = here.slurm.submit(1, 10, on="rack-0")
        await here.until(lambda: job.ended is not None, within=80)


@pytest.mark.parametrize("trouble", ["away", "deaf"])
@simulated
async def test_while_slurm_does_not_answer_or_takes_no_orders_no_worker_goes(trouble: str) -> None:
    async with racked("rack-0", "rack-1") as (here, rack, operator):
        before = rack.workers()
        setattr(here.slurmrestd, trouble, True)
        await asyncio.sleep(40)
        await rack.moves("rack-1", "others")
        await asyncio.sleep(120)
        assert rack.workers() == before
        assert here.sight.condition("NodeSet", NODE_SET, "Degraded")["reason"] == "SlurmUnknown"
        setattr(here.slurmrestd, trouble, False)
        await rack.holds("rack-0", within=30)
        await here.ready()
        assert deleted(operator) == 1


@pytest.mark.parametrize("slurm", ["answers", "is away"])
@simulated
async def test_an_operator_that_begins_in_the_middle_of_a_drain_takes_no_worker_for_idle(slurm: str) -> None:
    async with racked("rack-0", "rack-1") as (here, rack, operator):
        here.slurm.submit(2, 300)
        before = rack.workers()
        await rack.moves("rack-1", "others")
        await here.until(lambda: here.slurm.nodes["rack-1"].drain, within=5)
        await operator.crash()
        here.slurmrestd.away = slurm == "is away"
        here.start()
        await asyncio.sleep(200)
        assert rack.workers() == before
        here.slurmrestd.away = False
        await rack.holds("rack-0", within=150)


@pytest.mark.parametrize("slurm", ["answers", "is away"])
@simulated
async def test_a_machine_that_dies_takes_its_worker_along_and_a_new_one_of_its_name_gets_another(slurm: str) -> None:
    """Jobs on other machines do not notice, whether or not Slurm says what became of the dead one."""
    async with racked("rack-0", "rack-1") as (here, rack, _):
        jobs = here.slurm.submit(2, 400)
        before = rack.workers()
        here.slurmrestd.away = slurm == "is away"
        await asyncio.sleep(40)
        await rack.goes("rack-1")
        await rack.holds("rack-0", within=60)
        await asyncio.sleep(60)
        assert rack.workers() == {"rack-0": before["rack-0"]}
        here.slurmrestd.away = False
        await rack.comes("rack-1")
        await rack.holds("rack-0", "rack-1", within=10)
        await here.until(lambda: here.slurm.nodes["rack-1"].pod == rack.workers()["rack-1"], within=10)
        await here.until(lambda: not here.slurm.nodes["rack-1"].drain, within=40)
        await here.ready()
        assert rack.workers()["rack-0"] == before["rack-0"]
        assert [job.ended is None for job in jobs if job.node == "rack-0"] == [True]


@simulated
async def test_what_a_machine_says_after_it_was_cordoned_is_in_slurms_reason_at_once() -> None:
    """The condition may come after the cordon, and nothing else changes then."""
    async with racked("rack-0", "rack-1", conditions=("GpuLost",)) as (here, rack, _):
        await rack.cordon("rack-0")
        await here.until(lambda: here.slurm.nodes["rack-0"].drain, within=5)
        await asyncio.sleep(60)
        await rack.ails("rack-0", "GpuLost", "GPU 3 fell off the bus")
        await here.until(lambda: "GpuLost" in here.slurm.nodes["rack-0"].reason, within=5)


@simulated
async def test_of_two_sets_that_want_a_machine_one_has_it_and_the_other_says_why() -> None:
    """Their nodes would have one name, the machine's, and Slurm would take each slurmd for the other."""
    async with world() as here:
        rack = Rack(here)
        await rack.comes("rack-0", "rack-1")
        await here.apply([*per_machine(), _second()])
        here.start()
        await rack.holds("rack-0", "rack-1")
        await asyncio.sleep(60)
        assert {pod.metadata.name.rpartition("-")[0] for pod in here.sight.workers()} == {NODE_SET}
        told = {one["type"]: one for one in here.sight("NodeSet", SECOND).status["conditions"]}["Degraded"]
        assert (told["status"], told["reason"]) == ("True", "NamesInTheWay")
        assert f'"rack-0" is a worker of NodeSet "{NODE_SET}"' in told["message"]
        await rack.moves("rack-1", "others")
        await here.delete("NodeSet", NODE_SET)
        await here.until(lambda: [pod.metadata.name.startswith(SECOND) for pod in here.sight.workers()] == [True])
        await here.ready()
        assert not rack.doubled


@simulated
async def test_a_set_that_is_deleted_makes_room_for_its_successor_machine_by_machine() -> None:
    """It keeps the names that it has, and no others, however long its last job runs."""
    async with racked("rack-0", "rack-1", "rack-2") as (here, _, _):
        (job,) = here.slurm.submit(1, 7200)
        await asyncio.sleep(2)
        await here.apply([_second()])
        await here.delete("NodeSet", NODE_SET)
        await here.until(lambda: _workers_of(here, SECOND) == 2, within=120)
        assert job.runs
        here.slurm.cancel(job.number)
        await here.until(lambda: _workers_of(here, SECOND) == 3, within=120)


def _second() -> Json:
    """Another NodeSet for the same machines."""
    first = next(one for one in per_machine() if one["kind"] == "NodeSet")
    return {**first, "metadata": {**first["metadata"], "name": SECOND}}


def _workers_of(here: World, name: str) -> int:
    return sum(pod.metadata.name.startswith(f"{name}-") for pod in here.sight.workers())
