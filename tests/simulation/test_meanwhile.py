"""What happens while workers are counted, claims looked for, or Slurm has an order: it counts as well (NS-3, ST-3)."""

from __future__ import annotations

import asyncio
import itertools

from penstock.operator.slurm_links import SLURM
from penstock.render import labels

from .loop import now, simulated
from .manifests import NAMESPACE, NODE_SET
from .slurm_records import Job
from .test_life import with_claims
from .world import World, behind, cluster


@simulated
async def test_what_is_heard_of_slurm_while_workers_are_counted_saves_a_job() -> None:
    """Workers that take claims along are counted right before; another look may hear that one was given back."""
    async with cluster(with_claims("Retain", "Delete"), replicas=2) as (here, running):
        jobs, counts = list[Job](), itertools.count(1)

        async def given_back(verb: str, resource: str) -> None:
            if (verb, resource) != ("list", "pods"):
                return
            if next(counts) == 2:  # the count right before the deletion
                here.slurm.change(["compute-1"], {"state": ["UNDRAIN"], "extra": ""})
                jobs.extend(here.slurm.submit(1, 600, on="compute-1"))
                running.operator.queue.add((SLURM, NAMESPACE, "slurm"))
            await asyncio.sleep(0.5)

        running.port.delayed = given_back
        await here.scale(1)
        await here.until(lambda: jobs, within=20)
        await asyncio.sleep(30)
        assert here.slurm.lost == []
        assert jobs[0].runs


@simulated
async def test_no_worker_is_made_upon_a_claim_that_goes_with_the_one_before() -> None:
    """It would write into what is deleted, where the watch of claims is behind (ST-1, ST-3)."""
    async with behind("PersistentVolumeClaim", with_claims("Retain", "Delete"), replicas=2) as (here, port):
        before = _claims(here)
        await here.scale(1)
        await here.until(lambda: len(here.sight.workers()) == 1)
        await here.scale(2)
        await asyncio.sleep(30)
        assert len(here.sight.workers()) == 1, "nobody can tell yet whether its claim is there"
        port.shows.set()
        await here.until(lambda: len(here.sight.workers()) == 2)
        assert len(_claims(here)) == 2
        assert _claims(here) != before


@simulated
async def test_workers_of_the_other_scaling_mode_are_not_counted_for_those_that_are_wanted() -> None:
    """They leave, too: who takes its claim along must not be the last that is left when they are gone (ST-3)."""
    async with behind("Pod", with_claims("Retain", "Delete"), replicas=3) as (here, port):
        port.shows.set()
        here.slurm.submit(1, 100_000, on="compute-2")
        await here.edit("Pod", f"{NODE_SET}-2", metadata={"labels": {labels.SCALING_MODE: "DaemonSet"}})
        await here.until(lambda: here.slurm.nodes["compute-2"].drain)
        before = _claims(here)
        port.shows.clear()
        await here.delete("Pod", f"{NODE_SET}-0")
        await here.scale(1)
        await asyncio.sleep(20)
        assert f"{NODE_SET}-1" in {pod.metadata.name for pod in here.sight.workers()}
        assert _claims(here) == before


def _claims(here: World) -> set[str]:
    found = (one.metadata for one in here.sight.all("PersistentVolumeClaim"))
    return {one.uid for one in found if NODE_SET in one.name and one.deletion_timestamp is None}


@simulated
async def test_an_order_to_give_a_node_back_that_comes_late_costs_no_job() -> None:
    """A slurmrestd that stood still carries out what nobody waits for any more, when it goes on (NS-3)."""
    async with cluster(replicas=2) as (here, _):
        [job], _ = here.slurm.submit(1, 100, on="compute-1"), here.slurm.submit(1, 1000, on="compute-0")
        await asyncio.sleep(12)
        await here.scale(1)
        await here.until(lambda: here.slurm.nodes["compute-1"].drain)
        since = now() + 0.001
        here.slurmrestd.deaf = True
        await here.scale(2)
        await here.until(lambda: here.slurmrestd.asked(since, method="POST"))
        here.slurmrestd.deaf = False
        await here.scale(1)
        here.slurm.cancel(job.number)
        heard = now()
        await asyncio.sleep(3)
        here.slurm.change(["compute-1"], {"state": ["UNDRAIN"], "extra": ""})
        [later] = here.slurm.submit(1, 20, on="compute-1")
        await here.until(lambda: len(here.sight.workers()) == 1, within=120)
        assert later.end == "COMPLETED"
        assert now() - heard > 20
