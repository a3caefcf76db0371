"""Nobody's slurm.conf names a living worker that registers by itself, whatever the operator has not been shown (TR-4).

Its slurmd would end, and all of its jobs with it. How a worker registers its pod says; one that an older operator made
does not, and when its revision is gone, too, nobody knows. That no job is lost `world` itself sees to.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from penstock.api.objects import Json
from penstock.cluster.port import Propagation
from penstock.operator import static_nodes
from penstock.operator.caches import Caches
from penstock.operator.nodeset.revision import HASH
from penstock.operator.resources import CUSTOMS
from penstock.render.inventory import Cluster
from penstock.render.labels import MANAGED_BY, REGISTRATION
from penstock.slurm import hostlist

from .loop import now, simulated
from .manifests import NAMESPACE, NODE_SET, sample
from .slurm_records import Job
from .test_static_nodes import all_known, configurations, documents, lines, workers
from .world import Running, World, behind, cluster

STATIC = {"registration": "Static"}
LISTS = ("list", "pods")


def named(here: World) -> set[str]:
    """The nodes in slurm.conf."""
    return {name for nodes in lines(here) for name in hostlist.expand(nodes)}


async def made_earlier(here: World) -> None:
    """Have all workers as an older operator made them, which did not tell how they register."""
    for pod in here.sight.workers():
        await here.edit("Pod", pod.metadata.name, metadata={"labels": {REGISTRATION: None}})


async def forgotten(here: World) -> None:
    """Have somebody delete what workers were made from."""
    for one in here.sight.all("ControllerRevision"):
        await here.delete("ControllerRevision", one.metadata.name)


async def all_static(here: World, jobs: list[Job], *, within: float = 600.0) -> None:
    """Wait until the jobs have ended as they should, and static workers have followed."""
    await here.until(lambda: all(job.ended for job in jobs), within=within, what="the jobs have ended")
    await here.until(lambda: workers(here) and named(here) >= workers(here), within=300, what="all are named")
    await here.until(lambda: all_known(here) and all(one.static for one in here.slurm.nodes.values()), within=300)
    assert {job.end for job in jobs} == {"COMPLETED"}


@asynccontextmanager
async def orphaned(bodies: list[Json]) -> AsyncIterator[tuple[World, Running, list[Job]]]:
    """A cluster with three busy workers whose set was deleted without them."""
    async with cluster(bodies, replicas=3) as (here, operator):
        jobs = here.slurm.submit(3, 300)
        await here.store.delete(CUSTOMS["NodeSet"], NODE_SET, namespace=NAMESPACE, propagation=Propagation.ORPHAN)
        await here.until(lambda: here.sight.get("NodeSet", NODE_SET) is None, within=60)
        await asyncio.sleep(20)
        yield here, operator, jobs


@simulated
async def test_workers_that_a_late_watch_does_not_show_are_not_named() -> None:
    """They came, and took jobs, before their set became static; the operator hears of them long after."""
    async with behind("Pod", sample()) as (here, port):
        await here.scale(3)
        await here.until(lambda: here.slurm.nodes.keys() >= {"compute-0", "compute-1", "compute-2"}, within=30)
        jobs = here.slurm.submit(3, 300)
        await here.edit("NodeSet", NODE_SET, spec=STATIC)
        await asyncio.sleep(60)
        assert all(job.runs for job in jobs)
        assert not named(here) & workers(here)
        port.shows.set()
        await all_static(here, jobs)


@pytest.mark.parametrize("tell", [True, False], ids=["they tell", "they do not tell"])
@simulated
async def test_workers_whose_revision_a_late_watch_does_not_show_are_not_named(tell: bool) -> None:
    async with behind("ControllerRevision", sample()) as (here, port):
        await here.edit("NodeSet", NODE_SET, spec={"template": {"metadata": {"labels": {"a": "b"}}}})
        await asyncio.sleep(60)
        if not tell:
            await made_earlier(here)
        jobs = here.slurm.submit(1, 300)
        await here.edit("NodeSet", NODE_SET, spec=STATIC)
        await asyncio.sleep(60)
        assert all(job.runs for job in jobs)
        port.shows.set()
        await all_static(here, jobs)


@pytest.mark.parametrize("tell", [True, False], ids=["they tell", "they do not tell"])
@simulated
async def test_workers_whose_revisions_somebody_deleted_are_not_named(tell: bool) -> None:
    """Both are replaced when their jobs have ended, and their nodes are named then. Until then nobody is asked."""
    async with cluster(replicas=2) as (here, operator):
        if not tell:
            await made_earlier(here)
        jobs = here.slurm.submit(2, 300)
        await here.edit("NodeSet", NODE_SET, spec={"template": {"metadata": {"labels": {"a": "b"}}}})
        await asyncio.sleep(10)
        await forgotten(here)
        await here.edit("NodeSet", NODE_SET, spec=STATIC)
        began = now()
        await asyncio.sleep(60)
        assert all(job.runs for job in jobs)
        assert not named(here)
        assert operator.port.counted(began)[LISTS] <= 1
        await all_static(here, jobs)


@simulated
async def test_static_workers_of_whom_nobody_knows_keep_their_nodes() -> None:
    """They do not tell, and their revision is gone: slurm.conf has them, so it does until they go."""
    async with cluster(documents(), replicas=3) as (here, _):
        jobs = here.slurm.submit(3, 300)
        await made_earlier(here)
        await here.edit("NodeSet", NODE_SET, spec={"template": {"metadata": {"labels": {"a": "b"}}}})
        await forgotten(here)
        seen = configurations(here)
        await here.scale(1)
        await asyncio.sleep(100)
        assert all(job.runs for job in jobs)
        assert all({name for one in each for name in hostlist.expand(one)} >= workers(here) for each in seen)
        await all_static(here, jobs)
        await here.until(lambda: len(named(here)) == len(workers(here)) == 1, within=120)


@pytest.mark.parametrize("tell", [True, False], ids=["they tell", "they do not tell"])
@simulated
async def test_orphans_are_not_named_by_a_static_set_of_their_name(tell: bool) -> None:
    """`kubectl delete --cascade=orphan`, and the set is applied anew as a static one: its workers are as they were."""
    async with orphaned(sample()) as (here, _, jobs):
        if not tell:
            await made_earlier(here)
        await here.apply(body for body in documents(replicas=3) if body["kind"] == "NodeSet")
        await asyncio.sleep(60)
        assert all(job.runs for job in jobs)
        assert not named(here)
        await all_static(here, jobs)


@simulated
async def test_orphans_are_not_named_by_a_static_set_of_another_name() -> None:
    """Its workers are called as theirs are; nobody takes those over, and their nodes are theirs until they go."""
    async with orphaned(sample()) as (here, _, jobs):
        [made] = [body for body in documents(replicas=5) if body["kind"] == "NodeSet"]
        made["metadata"]["name"] = "other"
        made["spec"].setdefault("template", {}).setdefault("spec", {})["hostname"] = "compute-"
        await here.apply([made])
        await asyncio.sleep(60)
        assert all(job.runs for job in jobs)
        assert named(here) == {"compute-3", "compute-4"}


@simulated
async def test_workers_of_slinkys_are_not_named_by_a_set_that_is_static_at_once() -> None:
    """They carry a hash of its reckoning, and register by themselves, all of them; they get the newest hash of ours."""
    async with cluster(replicas=2) as (here, operator):
        jobs = here.slurm.submit(2, 300)
        await operator.crash()
        await made_earlier(here)
        theirs = {"labels": {MANAGED_BY: None, HASH: "6f7d8c9b"}}
        for pod in here.sight.workers():
            await here.edit("Pod", pod.metadata.name, metadata=theirs)
        for one in here.sight.all("ControllerRevision"):
            await here.edit("ControllerRevision", one.metadata.name, metadata=theirs)
        await here.edit("NodeSet", NODE_SET, spec=STATIC)
        here.start()
        await asyncio.sleep(60)
        assert all(job.runs for job in jobs)
        assert {pod.metadata.labels[REGISTRATION] for pod in here.sight.workers()} == {"Dynamic"}
        assert not named(here)


@simulated
async def test_a_worker_that_lost_its_labels_is_not_told_how_it_was_made() -> None:
    """It is found again by its name, and gets labels of the set of today; but it was made by that of yesterday."""
    async with cluster(replicas=2) as (here, _):
        jobs = here.slurm.submit(2, 300)
        for pod in here.sight.workers():
            await here.edit("Pod", pod.metadata.name, metadata={"labels": None})
        await here.edit("NodeSet", NODE_SET, spec=STATIC)
        await asyncio.sleep(60)
        assert all(job.runs for job in jobs)
        assert not named(here)
        assert len(workers(here)) == 2


@simulated
async def test_a_set_of_dynamic_workers_beside_it_keeps_nobody_looking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their nodes are nobody else's, so there is nothing to wait for."""
    made = documents()
    [other] = [body for body in sample() if body["kind"] == "NodeSet"]
    other["metadata"]["name"], other["spec"]["template"] = "other", {"spec": {"hostname": "other-"}}
    async with cluster([*made, other]) as (here, _):
        look, found = static_nodes.with_workers, list[frozenset[str]]()

        def noted(caches: Caches, of: Cluster) -> Cluster:
            found.append(look(caches, of).dynamic_nodes)
            return look(caches, of)

        monkeypatch.setattr(static_nodes, "with_workers", noted)
        await here.edit("Controller", "slurm", metadata={"annotations": {"a": "b"}})
        await asyncio.sleep(60)
        assert found
        assert not frozenset().union(*found)


@simulated
async def test_workers_are_listed_when_nodes_come_or_go_and_never_at_rest() -> None:
    async with cluster(documents(), replicas=3) as (here, operator):
        began = now()
        await asyncio.sleep(300)
        assert operator.port.counted(began)[LISTS] == 0
        await here.scale(5)
        await here.ready()
        await asyncio.sleep(60)
        assert 1 <= operator.port.counted(began)[LISTS] <= 2
