"""A NodeSet that is deleted, and what it leaves: nobody's job dies of it, and whoever waits says for what."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from msgspec import structs

from penstock.cluster.port import Propagation
from penstock.operator.finalizer import FINALIZER, RESERVATION
from penstock.operator.nodeset.reconcile import NodeSets
from penstock.operator.nodeset.snapshot import GIVEN_UP_AFTER, ON_DELETION
from penstock.operator.nodeset.steps import Plan
from penstock.operator.resources import CUSTOMS
from penstock.render import labels

from .desk import desk
from .loop import clock, simulated
from .manifests import NAMESPACE, NODE_SET
from .test_life import with_claims
from .world import World, behind, cluster


def uids(here: World, kind: str) -> dict[str, str]:
    """Those of the NodeSet's objects of a kind, that nobody deletes, by name."""
    found = (one.metadata for one in here.sight.all(kind))
    return {one.name: one.uid for one in found if NODE_SET in one.name and one.deletion_timestamp is None}


def is_gone(here: World) -> bool:
    return here.sight.get("NodeSet", NODE_SET) is None


@pytest.mark.parametrize("when_deleted", ["Retain", "Delete"])
@simulated
async def test_workers_and_claims_outlive_a_set_that_is_deleted_without_them(when_deleted: str) -> None:
    """`kubectl delete --cascade=orphan`: what was taken from the set is not given back to it (ST-3)."""
    async with cluster(with_claims(when_deleted, "Retain"), replicas=2) as (here, _):
        here.slurm.submit(2, 300)
        await asyncio.sleep(12)
        pods, claims = uids(here, "Pod"), uids(here, "PersistentVolumeClaim")
        await here.store.delete(CUSTOMS["NodeSet"], NODE_SET, namespace=NAMESPACE, propagation=Propagation.ORPHAN)
        await here.until(lambda: is_gone(here))
        await asyncio.sleep(60)
        assert len(claims) == 2
        assert (uids(here, "Pod"), uids(here, "PersistentVolumeClaim")) == (pods, claims)
        assert not any(node.drain for node in here.slurm.nodes.values())


@simulated
async def test_nobody_is_drained_while_kubernetes_takes_workers_from_their_set() -> None:
    """It takes one after the other, and until all are taken the set is deleted and has workers (NS-3)."""
    async with desk(replicas=3) as at:
        at.here.slurm.submit(1, 300, on="compute-0")
        meta = at.item.metadata
        mark = {"deletion_timestamp": clock().isoformat(), "finalizers": (*meta.finalizers, "orphan")}
        going = structs.replace(at.item, metadata=structs.replace(meta, **mark))
        before, sets = uids(at.here, "Pod"), NodeSets(at.context)
        await sets.reconcile(at.context, going, at.node_set)
        assert uids(at.here, "Pod") == before
        assert not any(node.drain for node in at.here.slurm.nodes.values())
        assert (await sets.preview(at.context, going, at.node_set)).plan == Plan()


@simulated
async def test_workers_that_were_taken_from_their_set_unseen_are_not_drained_and_the_set_goes() -> None:
    """The watch of pods may be behind that of sets, and then nothing shows any more that they were taken (NS-3)."""
    async with behind("Pod", replicas=2) as (here, port):
        port.shows.set()
        here.slurm.submit(2, 100_000)
        await asyncio.sleep(12)
        port.shows.clear()
        await here.store.delete(CUSTOMS["NodeSet"], NODE_SET, namespace=NAMESPACE, propagation=Propagation.ORPHAN)
        await asyncio.sleep(5)
        port.shows.set()
        await here.until(lambda: is_gone(here))
        assert not any(node.drain for node in here.slurm.nodes.values())


async def with_a_window(here: World) -> None:
    start = (clock() + timedelta(seconds=6000)).replace(microsecond=0)
    update = {"type": "ScheduledUpdate", "scheduledUpdate": {"startTime": start.isoformat(), "duration": "30m"}}
    await here.edit("NodeSet", NODE_SET, spec={"updateStrategy": update})
    await here.until(lambda: RESERVATION in here.sight("NodeSet", NODE_SET).metadata.finalizers)
    await here.until(lambda: here.slurm.windows)


@simulated
async def test_a_set_whose_window_a_silent_slurm_does_not_drop_says_so_and_goes_when_it_speaks() -> None:
    """It has no workers any more of which something could be told, and must not look as if all were well (NS-5)."""
    async with cluster(replicas=1) as (here, _):
        await with_a_window(here)
        here.slurmrestd.away = True
        await asyncio.sleep(15)
        await here.delete("NodeSet", NODE_SET)
        await here.delete("Pod", f"{NODE_SET}-0")
        await asyncio.sleep(600)
        told = here.sight.condition("NodeSet", NODE_SET, "Degraded")
        assert (told["status"], told["reason"]) == ("True", "SlurmUnknown")
        assert "cannot be deleted" in told["message"]
        assert ON_DELETION in told["message"]
        here.slurmrestd.away = False
        await here.until(lambda: is_gone(here))
        assert not here.slurm.windows


@simulated
async def test_who_deletes_a_set_with_its_jobs_does_not_wait_for_its_window_either() -> None:
    async with cluster(replicas=2) as (here, _):
        await with_a_window(here)
        here.slurmrestd.away = True
        await asyncio.sleep(15)
        await here.edit("NodeSet", NODE_SET, metadata={"annotations": {ON_DELETION: "Cancel"}})
        await here.delete("NodeSet", NODE_SET)
        await here.until(lambda: is_gone(here), within=2 * GIVEN_UP_AFTER)
        [note] = here.sight.events("WindowNotDropped")
        assert note.endswith("; delete the reservation by hand")


@simulated
async def test_a_worker_that_lost_its_labels_does_not_go_with_its_set() -> None:
    """Who takes a worker out of its Service by its labels takes it out of everybody's sight, but not its job (NS-3)."""
    async with cluster(replicas=2) as (here, _):
        jobs = here.slurm.submit(2, 300)
        await asyncio.sleep(12)
        await here.delete("NodeSet", NODE_SET)
        await asyncio.sleep(5)
        for name in uids(here, "Pod"):
            await here.edit("Pod", name, metadata={"labels": {labels.NAME: None}})
        await asyncio.sleep(60)
        assert FINALIZER in here.sight("NodeSet", NODE_SET).metadata.finalizers
        assert all(job.runs for job in jobs)
        await here.until(lambda: is_gone(here), within=600)
        assert [job.end for job in jobs] == ["COMPLETED", "COMPLETED"]
