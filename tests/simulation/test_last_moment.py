"""The last moment before a worker goes: what was true a second ago may not be, and one refusal stops nobody else."""

from __future__ import annotations

import asyncio

from penstock.operator.nodeset.removing import WITH_CLAIMS

from .desk import desk
from .loop import now, simulated
from .manifests import NODE_SET
from .test_life import with_claims
from .world import World, cluster


@simulated
async def test_all_nodes_at_this_moment_are_just_that_whoever_asked_meanwhile() -> None:
    """A Slurm whose clock was set back says to who asks for changes that there are none, and sooner."""
    async with desk(replicas=2) as at:
        slurm, rest = at.context.slurm, at.here.slurmrestd
        await slurm.ask(at.controller)
        await asyncio.sleep(2)
        at.here.slurm.change(["compute-1"], {"state": ["DRAIN"], "reason": "bad disk"})
        at.here.slurm.updated -= 3600
        rest.slow = 2.0
        asked = asyncio.create_task(slurm.nodes_now(at.controller))
        await asyncio.sleep(0.5)
        rest.slow = 0.0
        await slurm.ask(at.controller)
        assert (await asked).nodes["compute-1"].reason == "bad disk"


@simulated
async def test_a_worker_that_registers_right_after_slurm_did_not_know_it_keeps_its_first_job() -> None:
    """Who scales out and in again takes nobody away that may register in that moment (NS-3)."""
    async with cluster(replicas=1) as (here, _):
        await here.scale(2)
        await here.until(lambda: _begins(here, f"{NODE_SET}-1"), within=30)
        registered = list[int]()

        def register() -> None:
            if not registered and _begins(here, f"{NODE_SET}-1"):
                here.slurm.register(here.sight("Pod", f"{NODE_SET}-1"))
                registered.append(here.slurm.submit(1, 60, on="compute-1")[0].number)

        here.slurmrestd.after = register
        await here.scale(1)
        await here.until(lambda: len(here.sight.workers()) == 1, within=200)
        assert [here.slurm.jobs[number].end for number in registered] == ["COMPLETED"]


def _begins(here: World, name: str) -> bool:
    pod = here.sight.get("Pod", name)
    return pod is not None and pod.status.get("phase") == "Running"


@simulated
async def test_a_slow_word_about_all_nodes_is_asked_for_anew_about_each() -> None:
    """It is as old as the question, not as its arrival: a node may have been given back since (NS-3)."""
    async with cluster(replicas=2) as (here, _):
        rest, slurm = here.slurmrestd, here.slurm
        told = list[float]()

        def back() -> None:
            node = slurm.nodes["compute-1"]
            if node.drain and node.pod:
                slurm.change(["compute-1"], {"state": ["UNDRAIN"]})
                slurm.submit(1, 60, on="compute-1")

        def given_back() -> None:
            if slurm.nodes["compute-1"].drain and rest.asking and rest.asking.path.endswith("/nodes/") and not told:
                told.append(now())
                asyncio.get_running_loop().call_later(4, back)

        rest.after, rest.transfer = given_back, 8.0
        await here.scale(1)
        await here.until(lambda: len(here.sight.workers()) == 1, within=300)
        assert told
        assert not slurm.lost


@simulated
async def test_thousands_of_claims_are_given_away_once_each() -> None:
    """With the workers that go next, not again and again with all that are left (ST-3)."""
    async with cluster(with_claims("Retain", "Delete"), replicas=300) as (here, operator):
        operator.port.latency = 0.2
        began = now()
        await here.scale(0)
        await here.until(lambda: not here.sight.workers(), within=300)
        counted = operator.port.counted(began)
        assert counted["patch", "persistentvolumeclaims"] <= 300 + WITH_CLAIMS
        assert counted["delete", "pods"] == 300


@simulated
async def test_what_cannot_be_deleted_is_tried_later_and_later_though_slurm_has_news_all_the_time() -> None:
    """Its last look before a deletion is no news to the one who looks."""
    async with cluster(replicas=3) as (here, operator):
        operator.port.undeletable = frozenset(pod.metadata.name for pod in here.sight.workers())
        await here.scale(2)
        for _ in range(6000):
            here.slurm.nodes["compute-0"].at += 1
            here.slurm.touch()
            await asyncio.sleep(0.1)
        assert len(here.slurmrestd.asked(now() - 60)) <= 60
        operator.port.undeletable = frozenset()
        await here.until(lambda: len(here.sight.workers()) == 2, within=400)


@simulated
async def test_one_worker_that_cannot_be_deleted_keeps_no_other() -> None:
    async with cluster(replicas=4) as (here, operator):
        operator.port.undeletable = frozenset({f"{NODE_SET}-3"})
        await here.scale(0)
        await here.until(lambda: [one.metadata.name for one in here.sight.workers()] == [f"{NODE_SET}-3"], within=60)
        told = here.sight.condition("NodeSet", NODE_SET, "Degraded")
        assert "does not let it go" in told["message"]
        operator.port.undeletable = frozenset()
        await here.until(lambda: not here.sight.workers(), within=400)


@simulated
async def test_jobs_are_ended_only_if_that_is_still_wished_when_slurm_has_taken_its_time() -> None:
    """Who scales out again a moment before the end of drain.timeout keeps the jobs (NS-8)."""
    async with cluster(replicas=2) as (here, _):
        await here.edit("NodeSet", NODE_SET, spec={"drain": {"timeout": "20s", "onTimeout": "Cancel"}})
        jobs = here.slurm.submit(2, 600)
        await asyncio.sleep(5)
        await here.scale(1)
        began = now()
        await asyncio.sleep(15)
        here.slurmrestd.slow = 2.0

        def again() -> None:
            if now() > began + 21:
                here.slurmrestd.after = lambda: None
                here.spawn(here.scale(2))

        here.slurmrestd.after = again
        await asyncio.sleep(60)
        assert all(job.runs for job in jobs)
