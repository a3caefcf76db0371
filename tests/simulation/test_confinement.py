"""One configuration serves all workers: Slurm uses cgroups when the last worker is gone that cannot."""

from __future__ import annotations

import asyncio

import pytest

from penstock.api.objects import Json
from penstock.cluster.port import Propagation
from penstock.operator.resources import CUSTOMS

from .loop import now, simulated
from .manifests import NAMESPACE, sample
from .port import Behind
from .world import World, cluster, world

SET = "slurm-worker-compute"
SOON = 60.0
LISTS = ("list", "pods")
PRIVILEGED = {"slurmd": {"securityContext": {"privileged": True}}}


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
        await here.edit("NodeSet", SET, spec=PRIVILEGED)
        await asyncio.sleep(200)
        assert (job.ended, uses_cgroups(here)) == (None, False)
        await here.until(lambda: job.ended is not None, within=200, what="the job has ended")
        await here.until(lambda: uses_cgroups(here), within=SOON, what="cgroups are used")


@simulated
async def test_workers_that_are_pinned_to_what_they_were_count_too() -> None:
    """They will be made again as they were."""
    async with cluster(documents()) as (here, _):
        await here.edit("NodeSet", SET, metadata={"annotations": {"nodeset.slinky.slurm.net/revision": "1"}})
        await here.edit("NodeSet", SET, spec={"replicas": 0, **PRIVILEGED})
        await asyncio.sleep(200)
        assert not uses_cgroups(here)
        await here.edit("NodeSet", SET, metadata={"annotations": {"nodeset.slinky.slurm.net/revision": None}})
        await here.until(lambda: uses_cgroups(here), within=SOON, what="cgroups are used")


@simulated
async def test_workers_that_outlive_their_set_count_too() -> None:
    """`kubectl delete --cascade=orphan`: they run on, and read the same configuration, until somebody deletes them."""
    async with cluster(documents(), replicas=2) as (here, _):
        jobs = here.slurm.submit(2, 300)
        await here.store.delete(CUSTOMS["NodeSet"], SET, namespace=NAMESPACE, propagation=Propagation.ORPHAN)
        await here.until(lambda: here.sight.get("NodeSet", SET) is None, within=60)
        await asyncio.sleep(100)
        assert (all(job.runs for job in jobs), uses_cgroups(here)) == (True, False)
        await here.until(lambda: all(job.ended for job in jobs), within=400)
        for pod in here.sight.workers():
            await here.delete("Pod", pod.metadata.name)
        await here.until(lambda: uses_cgroups(here), within=2 * SOON, what="cgroups are used")


@pytest.mark.parametrize("kind", ["Pod", "ControllerRevision"])
@simulated
async def test_workers_that_a_late_watch_does_not_show_count_too(kind: str) -> None:
    """Neither they nor what they were made from; then it is as if they could not."""
    async with world() as here:
        made = documents()
        [node_set] = [body for body in made if body["kind"] == "NodeSet"]
        await here.apply(body for body in made if body is not node_set)
        port = Behind(here.store, kind)
        here.start(port)
        await asyncio.sleep(60)
        port.shows.clear()
        await here.apply([node_set])
        await here.scale(2)
        await here.until(lambda: here.slurm.nodes.keys() >= {"compute-0", "compute-1"}, within=90)
        jobs = here.slurm.submit(2, 300)
        await here.until(lambda: not uses_cgroups(here), within=SOON)
        await here.edit("NodeSet", SET, spec=PRIVILEGED)
        await asyncio.sleep(100)
        assert (all(job.runs for job in jobs), uses_cgroups(here)) == (True, False)
        port.shows.set()
        await here.until(lambda: all(job.ended for job in jobs), within=400)
        await here.until(lambda: uses_cgroups(here), within=2 * SOON, what="cgroups are used")


@simulated
async def test_workers_whose_revisions_somebody_deleted_count_too() -> None:
    """They are seen, so nobody asks for them."""
    async with cluster(documents(), replicas=2) as (here, operator):
        jobs, began = here.slurm.submit(2, 300), now()
        await here.edit("NodeSet", SET, spec=PRIVILEGED)
        await asyncio.sleep(10)
        for one in here.sight.all("ControllerRevision"):
            await here.delete("ControllerRevision", one.metadata.name)
        await asyncio.sleep(100)
        assert (all(job.runs for job in jobs), uses_cgroups(here)) == (True, False)
        assert operator.port.counted(began)[LISTS] <= 1
        await here.until(lambda: uses_cgroups(here), within=400, what="cgroups are used")
        assert {job.end for job in jobs} == {"COMPLETED"}


@simulated
async def test_workers_that_lost_their_labels_count_too() -> None:
    """They are found by their names, and get the hash of today; but they were made yesterday."""
    async with cluster(documents(), replicas=2) as (here, _):
        jobs = here.slurm.submit(2, 300)
        for pod in here.sight.workers():
            await here.edit("Pod", pod.metadata.name, metadata={"labels": None})
        await here.edit("NodeSet", SET, spec=PRIVILEGED)
        await asyncio.sleep(100)
        assert (all(job.runs for job in jobs), uses_cgroups(here)) == (True, False)


@simulated
async def test_where_cgroups_are_used_nobody_asks_for_workers() -> None:
    """Only before they are switched on."""
    async with cluster() as (here, operator):
        assert uses_cgroups(here)
        began = now()
        await here.scale(5)
        await here.edit("NodeSet", SET, spec={"template": {"metadata": {"labels": {"a": "b"}}}})
        await asyncio.sleep(300)
        assert operator.port.counted(began)[LISTS] == 0
