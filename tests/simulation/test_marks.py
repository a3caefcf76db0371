"""The whole operator: pods of workers say what Slurm says of their nodes, and because of whom (NS-4, NS-6, NS-7)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from penstock.operator.nodeset.marks import DRAINED_BY, STATE, WALLS_BROKEN
from penstock.render import labels

from .loop import now, simulated
from .manifests import NODE_SET
from .slurmrestd import Request
from .world import World, cluster

SEEN_WITHIN = 35.0
"""Seconds: at rest Slurm is asked every half minute."""
ASKED_AGAIN = 60.0
"""Seconds after which Slurm is asked again about jobs that were suspended."""


@simulated
async def test_workers_say_what_slurm_says_and_nothing_is_written_at_rest() -> None:
    async with cluster(replicas=3) as (here, operator):
        await here.until(lambda: [*states(here)] == [["Idle"]] * 3, within=SEEN_WITHIN)
        before = operator.port.counted()
        await asyncio.sleep(600)
        assert operator.port.counted() == before


@simulated
async def test_a_busy_worker_is_protected_as_long_as_it_is_busy() -> None:
    async with cluster(replicas=2) as (here, _):
        here.slurm.submit(1, 100, on="compute-1")
        await here.until(lambda: protected(here) == ["compute-1"], within=SEEN_WITHIN)
        await here.until(lambda: not here.slurm.running, within=120)
        await here.until(lambda: not protected(here), within=SEEN_WITHIN)


@simulated
async def test_a_worker_whose_job_is_suspended_stays_protected() -> None:
    """Its node says that it is idle, and an eviction would end the job all the same (NS-7)."""
    async with cluster(replicas=2) as (here, _):
        [job] = here.slurm.submit(1, 9000, on="compute-1")
        await here.until(lambda: protected(here) == ["compute-1"], within=SEEN_WITHIN)
        here.slurm.suspend(job)
        await here.until(lambda: [*states(here)] == [["Idle"]] * 2, within=SEEN_WITHIN, what="what Slurm says")
        await asyncio.sleep(600)
        assert protected(here) == ["compute-1"]
        here.slurm.suspend(job, suspended=False)
        await asyncio.sleep(SEEN_WITHIN)
        assert protected(here) == ["compute-1"]
        here.slurm.suspend(job)
        await asyncio.sleep(SEEN_WITHIN)
        # Its node was idle before and is idle after: nothing happens that would bring anybody here.
        here.slurm.cancel(job.number)
        await here.until(lambda: not protected(here), within=ASKED_AGAIN + 5)


@simulated
async def test_slurm_is_asked_once_about_all_workers_that_became_idle() -> None:
    """And about nobody at rest, nor while jobs run."""
    async with cluster(replicas=20) as (here, _):
        here.slurm.submit(20, 100)
        await here.until(lambda: len(protected(here)) == 20, within=SEEN_WITHIN)
        await here.until(lambda: not here.slurm.running, within=120)
        assert not questions(here)
        await here.until(lambda: not protected(here), within=SEEN_WITHIN)
        assert len(questions(here)) == 1
        await asyncio.sleep(600)
        assert len(questions(here)) == 1


@simulated
async def test_suspended_jobs_are_asked_for_once_a_minute_however_often_pods_are_marked() -> None:
    """One question for all of them, as long as they stay suspended."""
    async with cluster(replicas=20) as (here, _):
        jobs = here.slurm.submit(12, 9000)
        await here.until(lambda: len(protected(here)) == 12, within=SEEN_WITHIN)
        for job in jobs:
            here.slurm.suspend(job)
        await asyncio.sleep(2 * ASKED_AGAIN)
        since = now()
        for second in range(600):
            await here.edit("NodeSet", NODE_SET, metadata={"annotations": {"note": f"{second}"}})
            await asyncio.sleep(1)
        assert len(protected(here)) == 12
        assert 9 <= len(questions(here, since)) <= 11
        here.slurm.cancel(jobs[0].number)
        await here.until(lambda: len(protected(here)) == 11, within=ASKED_AGAIN + SEEN_WITHIN)


@simulated
async def test_a_worker_keeps_its_protection_while_slurm_does_not_tell_of_its_jobs() -> None:
    """What is not known is not safe; it is asked again by itself, and not at every mark."""
    async with cluster(replicas=2) as (here, _):
        here.slurm.submit(1, 30, on="compute-1")
        await here.until(lambda: protected(here) == ["compute-1"], within=SEEN_WITHIN)
        here.slurmrestd.deaf = True
        await here.until(lambda: not here.slurm.running, within=60)
        await asyncio.sleep(SEEN_WITHIN)
        since = now()
        for second in range(60):
            await here.edit("NodeSet", NODE_SET, metadata={"annotations": {"note": f"{second}"}})
            await asyncio.sleep(1)
        assert protected(here) == ["compute-1"]
        assert 1 <= len(questions(here, since)) <= 7
        here.slurmrestd.deaf = False
        await here.until(lambda: not protected(here), within=SEEN_WITHIN)


@simulated
async def test_a_drain_that_a_person_made_in_slurm_shows_on_the_pod_and_goes_with_it() -> None:
    """A restart of everything changes nothing about it."""
    async with cluster(replicas=2) as (here, operator):
        here.slurm.change(["compute-1"], {"state": ["DRAIN"], "reason": "bad memory"})
        wanted = {"compute-1": "slurm: slurm: bad memory"}
        await here.until(lambda: drains(here) == wanted, within=SEEN_WITHIN)
        await here.until(lambda: [*states(here)] == [["Idle"], ["Drain", "Idle"]], within=SEEN_WITHIN)
        await operator.crash()
        here.start()
        await asyncio.sleep(120)
        assert drains(here) == wanted
        here.slurm.change(["compute-1"], {"state": ["UNDRAIN"]})
        await here.until(lambda: not drains(here), within=SEEN_WITHIN)


@simulated
async def test_a_node_that_drains_itself_for_its_walls_is_told_of_and_left_to_itself() -> None:
    """On its pod and on its NodeSet, once, until the node gives itself back (GW-5)."""
    async with cluster(replicas=2) as (here, operator):
        found = "rights: MKNOD is missing"
        here.slurm.change(["compute-1"], {"state": ["DRAIN"], "reason": f"penstock-walls: {found}"})
        await here.until(lambda: broken(here) == {"compute-1": found}, within=SEEN_WITHIN)
        await here.until(lambda: here.sight.is_true("NodeSet", NODE_SET, "Degraded"), within=SEEN_WITHIN)
        told = here.sight.condition("NodeSet", NODE_SET, "Degraded")
        assert told["reason"] == "WallsBroken"
        assert told["message"].endswith(f": {found}")
        before = operator.port.counted()
        await asyncio.sleep(600)
        assert operator.port.counted() == before
        assert here.slurm.nodes["compute-1"].drain
        here.slurm.change(["compute-1"], {"state": ["UNDRAIN"]})
        await here.until(lambda: not broken(here) and here.sight.all_settled(), within=SEEN_WITHIN)


@simulated
async def test_a_cordoned_pod_and_a_leaving_one_say_why_they_drain() -> None:
    async with cluster(replicas=3) as (here, _):
        here.slurm.submit(3, 200)
        cordon = {"annotations": {"slinky.slurm.net/pod-cordon": "true"}}
        pods = {pod.metadata.labels[labels.POD_HOSTNAME]: pod.metadata.name for pod in here.sight.workers()}
        await here.edit("Pod", pods["compute-0"], metadata=cordon)
        await here.until(lambda: drains(here) == {"compute-0": "pod"}, within=SEEN_WITHIN)
        await here.scale(1)
        # Who is cordoned leaves first.
        wanted = dict.fromkeys(("compute-0", "compute-2"), "penstock: scale-in")
        await here.until(lambda: drains(here) == wanted, within=SEEN_WITHIN)


def states(here: World) -> Iterator[list[str]]:
    """What each worker says of its node's state."""
    for pod in sorted(here.sight.workers(), key=lambda pod: pod.metadata.name):
        types = (one["type"] for one in pod.status.get("conditions") or [])
        yield sorted(one.removeprefix(STATE) for one in types if one.startswith(STATE))


def broken(here: World) -> dict[str, str]:
    """What was found on nodes whose walls do not hold."""
    return {
        pod.metadata.labels[labels.POD_HOSTNAME]: one["message"]
        for pod in here.sight.workers()
        for one in pod.status.get("conditions") or []
        if one["type"] == WALLS_BROKEN and one["status"] == "True"
    }


def drains(here: World) -> dict[str, str]:
    """Because of whom nodes drain."""
    return {
        pod.metadata.labels[labels.POD_HOSTNAME]: pod.metadata.annotations[DRAINED_BY]
        for pod in here.sight.workers()
        if DRAINED_BY in pod.metadata.annotations
    }


def protected(here: World) -> list[str]:
    """The workers that nobody may evict."""
    return [
        pod.metadata.labels[labels.POD_HOSTNAME]
        for pod in here.sight.workers()
        if pod.metadata.labels.get(labels.POD_PROTECT) == "true"
    ]


def questions(here: World, since: float = 0.0) -> list[Request]:
    """Those about the jobs of nodes."""
    return [one for one in here.slurmrestd.asked(since, method="DELETE") if one.path.endswith("/jobs/")]
