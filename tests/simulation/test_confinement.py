"""One configuration serves all workers: Slurm uses cgroups when the last worker is gone that cannot."""

from __future__ import annotations

import asyncio

from penstock.api.objects import Json

from .loop import simulated
from .manifests import sample
from .world import World, cluster

SET = "slurm-worker-compute"
SOON = 60.0


def documents() -> list[Json]:
    """The sample with workers that are not privileged."""
    made = sample()
    [node_set] = [body for body in made if body["kind"] == "NodeSet"]
    node_set["spec"]["slurmd"] = {**node_set["spec"].get("slurmd", {}), "securityContext": {"privileged": False}}
    return made


def uses_cgroups(here: World) -> bool:
    """What slurmctld's configuration says."""
    [files] = [one.data for one in here.sight.all("ConfigMap") if "cgroup.conf" in one.data]
    assert ("proctrack/linuxproc" in files["slurm.conf"]) == ("disabled" in files["cgroup.conf"])
    return "disabled" not in files["cgroup.conf"]


@simulated
async def test_cgroups_wait_for_the_last_worker_that_cannot_use_them() -> None:
    """A slurmd that is told to use cgroups, and cannot, ends, and all of its jobs with it."""
    async with cluster(documents()) as (here, _):
        assert not uses_cgroups(here)
        [job] = here.slurm.submit(1, 300, on="compute-0")
        await here.edit("NodeSet", SET, spec={"slurmd": {"securityContext": {"privileged": True}}})
        await asyncio.sleep(200)
        assert (job.ended, uses_cgroups(here)) == (None, False)
        await here.until(lambda: job.ended is not None, within=200, what="the job has ended")
        await here.until(lambda: uses_cgroups(here), within=SOON, what="cgroups are used")


@simulated
async def test_workers_that_are_pinned_to_what_they_were_count_too() -> None:
    """They will be made again as they were."""
    async with cluster(documents()) as (here, _):
        await here.edit("NodeSet", SET, metadata={"annotations": {"nodeset.slinky.slurm.net/revision": "1"}})
        await here.edit("NodeSet", SET, spec={"replicas": 0, "slurmd": {"securityContext": {"privileged": True}}})
        await asyncio.sleep(200)
        assert not uses_cgroups(here)
        await here.edit("NodeSet", SET, metadata={"annotations": {"nodeset.slinky.slurm.net/revision": None}})
        await here.until(lambda: uses_cgroups(here), within=SOON, what="cgroups are used")
