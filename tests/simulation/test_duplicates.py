"""slurmctld was killed and started a job twice: the operator releases the job, gives its node back, and says so.

What Slurm shows of it is held to the real Slurm by `tests/real_slurm/test_duplicates.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from penstock.operator.duplicates import GIVEN_BACK
from penstock.operator.runtime import Operator, Settings

from .loop import now, simulated
from .slurm_records import REFUSED, Job, Node
from .world import World, cluster

HEALED = 35.0 + 5.0
"""Seconds: the next question to Slurm, and some looks."""
HELD_BY_USER, HELD_BY_ADMIN = ("JobHeldUser", ""), ("JobHeldAdmin", REFUSED[1])


async def running(here: World, seconds: float = 60) -> tuple[Job, Node]:
    """A job that runs on a node."""
    job = here.slurm.submit(1, seconds)[0]
    await here.until(lambda: job.began)
    return job, here.slurm.nodes[job.node]


@simulated
async def test_the_job_is_released_and_its_node_given_back() -> None:
    async with cluster() as (here, _):
        job, node = await running(here)
        here.slurm.started_twice(job)
        await here.until(lambda: not node.drain and not job.held, within=HEALED)
        await here.until(lambda: job.ended is not None, within=200)
        assert len(here.sight.events("JobsReleased")) == len(here.sight.events("NodesGivenBack")) == 1
        assert f"started them again: {job.number}. That was refused on {node.name};" in here.sight.events()[-2]
        assert here.sight.events()[-1].startswith(f'{node.name}: drained by Slurm ("Duplicate jobid"), because')
        [event] = [one for one in here.sight.all("Event") if one.reason == "NodesGivenBack"]
        assert event.metadata.name.startswith("slurm.")  # of the Controller, so that `kubectl describe` shows it


@simulated
async def test_several_jobs_on_several_nodes_are_all_found() -> None:
    async with cluster(replicas=4) as (here, _):
        pairs = [await running(here) for _ in range(4)]
        for job, _ in pairs:
            here.slurm.started_twice(job)
        await here.until(lambda: not any(node.drain for _, node in pairs), within=HEALED)
        assert not any(job.held for job, _ in pairs)


@simulated
async def test_a_node_waits_until_the_first_run_has_ended() -> None:
    """A job that minds no signal takes half a minute to end; started before that, it would be refused again."""
    async with cluster() as (here, _):
        job, node = await running(here)
        here.slurm.started_twice(job, ends_in=90)
        await asyncio.sleep(85)
        assert node.drain
        assert job.held == REFUSED
        await here.until(lambda: not node.drain and not job.held, within=10)


@simulated
async def test_a_job_is_found_though_slurm_puts_it_back_a_moment_after_the_drain() -> None:
    """Asked in between, Slurm says that the job runs: nobody would look at it."""
    async with cluster() as (here, _):
        job, node = await running(here)

        def drain() -> None:
            here.slurmrestd.before = lambda: None
            here.slurm.change([node.name], {"state": ["DRAIN"], "reason": "Duplicate jobid"})
            asyncio.get_running_loop().call_later(0.5, here.slurm.put_back, job)

        here.slurmrestd.before = drain
        await here.until(lambda: job.held, within=HEALED)
        await here.until(lambda: not job.held and not node.drain, within=5)


@pytest.mark.parametrize("words", ["look at its fan", "Duplicate jobid"])
@simulated
async def test_a_persons_drain_is_never_touched(words: str) -> None:
    """Not even one in Slurm's own words: Slurm's is that of its user."""
    async with cluster() as (here, _):
        node = next(iter(here.slurm.nodes.values()))
        here.slurm.change([node.name], {"state": ["DRAIN"], "reason": words})
        node.by = "root" if words == "Duplicate jobid" else node.by
        since = now()
        await asyncio.sleep(400)
        assert (node.drain, node.reason) == (True, words)
        assert not here.slurmrestd.asked(since, method="POST")


@simulated
async def test_a_drain_that_somebody_made_their_own_stays() -> None:
    """Between the last poll and the order: the node is read once more, right before."""
    async with cluster() as (here, _):
        job, node = await running(here)
        here.slurm.started_twice(job)
        here.slurm.on_release = lambda: here.slurm.change([node.name], {"state": ["DRAIN"], "reason": "mine"})
        await here.until(lambda: not job.held, within=HEALED)
        await asyncio.sleep(120)
        assert (node.drain, node.reason) == (True, "mine")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda job: setattr(job, "held", HELD_BY_USER),
        lambda job: setattr(job, "held", HELD_BY_ADMIN),
        lambda job: setattr(job, "tried", job.tried - 200),
        lambda job: setattr(job, "tried", job.tried + 20),
    ],
    ids=["by its user", "by an administrator besides", "for a start long before", "for a start after that"],
)
@simulated
async def test_a_job_that_is_held_for_anything_else_stays_so(spoil: Callable[[Job], None]) -> None:
    async with cluster() as (here, _):
        job, node = await running(here)
        here.slurm.started_twice(job)
        spoil(job)
        held = job.held
        await here.until(lambda: not node.drain, within=HEALED)
        await asyncio.sleep(120)
        assert job.held == held
        assert not here.sight.events("JobsReleased")
        job.held, job.ended = None, now()


@simulated
async def test_without_such_a_node_no_job_is_ever_asked_for() -> None:
    async with cluster() as (here, _):
        held = here.slurm.submit(3, 10, on="nowhere")
        for job in held:
            job.held = REFUSED
        await asyncio.sleep(1000)
        assert not [one.path for one in here.slurmrestd.asked() if "/job" in one.path]
        assert all(job.held for job in held)


@simulated
async def test_in_a_long_queue_waiting_jobs_are_read_once_each_and_never_all_at_once() -> None:
    async with cluster() as (here, _):
        others = here.slurm.submit(900, 10, on="nowhere")
        done = here.slurm.submit(50, 0.01)
        job, node = await running(here)
        assert all(one.ended is not None for one in done)
        here.slurm.started_twice(job)
        since = now()
        await here.until(lambda: not node.drain, within=HEALED)
        asked = [one.path.rpartition("/v0.0.45/")[2] for one in here.slurmrestd.asked(since, method="GET")]
        jobs = [path for path in asked if path.startswith("job")]
        assert sorted(jobs) == sorted(["jobs/state/", *(f"job/{one.number}" for one in [*others, job])])
        assert not job.held


@simulated
async def test_a_killed_operator_leaves_nothing_half_done() -> None:
    """It dies when the job is released and the node is not given back."""
    async with cluster() as (here, operator):
        job, node = await running(here)
        here.slurm.started_twice(job)
        here.slurm.on_release = operator.end
        await here.until(lambda: not job.held, within=HEALED)
        await asyncio.wait([operator.task])
        assert node.drain
        here.start()
        await here.until(lambda: not node.drain, within=HEALED)
        await here.until(lambda: job.ended is not None, within=200)


@pytest.mark.parametrize("trouble", ["away", "replies lost"])
@simulated
async def test_a_slurmrestd_that_fails_in_the_middle_is_asked_again(trouble: str) -> None:
    async with cluster() as (here, _):
        job, node = await running(here)
        here.slurm.started_twice(job)
        if trouble == "away":
            here.slurm.on_release = lambda: setattr(here.slurmrestd, "away", True)
            await here.until(lambda: here.slurmrestd.away, within=HEALED)
            await asyncio.sleep(60)
            here.slurm.on_release, here.slurmrestd.away = lambda: None, False
        else:
            here.slurmrestd.lost_replies = 2
        await here.until(lambda: not node.drain and not job.held, within=HEALED)


@simulated
async def test_a_rehearsal_only_tells() -> None:
    async with cluster() as (here, operator):
        await operator.stop()
        job, node = await running(here)
        here.slurm.started_twice(job)
        told: list[str] = []
        rehearsal = Operator(
            here.store, Settings(), now=here.operators_clock, connect=here.slurmrestd.connect, rehearsal=told.append,
            locate=lambda rest_api: f"http://{rest_api.metadata.name}:6820",
        )  # fmt: skip
        since = now()
        await rehearsal.rehearse(told.append)
        assert f"release Slurm job {job.number}" in told
        assert f"update Slurm nodes {node.name}: {{'state': ['UNDRAIN'], 'reason': '{GIVEN_BACK}'}}" in told
        assert not here.slurmrestd.asked(since, method="POST")
        assert node.drain
        job.held, job.ended = None, now()
