"""A cluster that is deleted as a whole, or in the wrong order: Slurm stays until the last job has ended (NS-3)."""

from __future__ import annotations

import asyncio

import pytest
from msgspec import structs

from penstock.cluster.port import Propagation
from penstock.operator.departure import TOGETHER, of_controller
from penstock.operator.finalizer import CONTROLLER as CONTROLLER_HELD

from .desk import desk
from .loop import clock, simulated
from .manifests import JWT_KEY, NAMESPACE, NODE_SET, RESOURCES, SLURM_KEY
from .test_deletion import with_a_window
from .world import World, behind, cluster

CONTROLLER, ACCOUNTING, REST_API, SET = ALL = [
    ("Controller", "slurm"), ("Accounting", "slurm"), ("RestApi", "slurm"), ("NodeSet", NODE_SET),
]  # fmt: skip
SECRETS = [("Secret", JWT_KEY), ("Secret", SLURM_KEY)]


def left(here: World, *objects: tuple[str, str]) -> list[tuple[str, str]]:
    """Those of some objects that are still there."""
    return [one for one in objects if here.sight.get(*one)]


def keep_key(here: World) -> None:
    """Daemons have their keys, whatever becomes of the Secrets that they had them from."""
    key = here.sight.secret(JWT_KEY)["jwt.key"]
    here.slurmrestd.key = lambda: key


@pytest.mark.parametrize(
    "order",
    [[*SECRETS, *ALL], [*ALL[::-1], *SECRETS], [REST_API, *ALL[:2], SET]],
    ids=["file", "back", "RestApi first"],
)
@simulated
async def test_who_deletes_a_whole_cluster_has_its_jobs_waited_for(order: list[tuple[str, str]]) -> None:
    """`kubectl delete -f cluster.yaml`, in whatever order, its keys included: Slurm has to say who may go."""
    async with cluster(replicas=2) as (here, _):
        keep_key(here)
        jobs = here.slurm.submit(1, 300)
        await asyncio.sleep(12)
        for one in order:
            await here.delete(*one)
            await asyncio.sleep(0.5)
        await here.until(lambda: len(here.sight.workers()) == 1)
        await asyncio.sleep(60)
        for one in (CONTROLLER, REST_API):
            told = here.sight.condition(*one, "Progressing")
            assert (told["reason"], told["message"]) == ("NodeSetsLeft", f"goes when NodeSets {NODE_SET} are gone")
        assert here.sight.condition(*ACCOUNTING, "Progressing")["reason"] == "ControllersLeft"
        assert all(job.runs for job in jobs)
        await here.until(lambda: not left(here, *ALL), within=400)
        assert [job.end for job in jobs] == ["COMPLETED"]


@simulated
async def test_a_cluster_without_jobs_is_gone_in_seconds() -> None:
    async with cluster(replicas=2) as (here, _):
        for one in ALL:
            await here.delete(*one)
        assert await here.until(lambda: not left(here, *ALL)) < 2 * TOGETHER


@simulated
async def test_a_controller_that_is_deleted_alone_stays_and_says_for_whom() -> None:
    """Slurm would be gone, with the jobs that wait; and its NodeSets could not be deleted in peace any more."""
    async with cluster(replicas=2) as (here, _):
        jobs = here.slurm.submit(2, 300)
        await here.delete(*CONTROLLER)
        await asyncio.sleep(400)
        told = here.sight.condition(*CONTROLLER, "Progressing")
        assert (told["reason"], f"; delete {NODE_SET}, too" in told["message"]) == ("NodeSetsLeft", True)
        assert [job.end for job in jobs] == ["COMPLETED"] * 2
        assert len(here.sight.workers()) == 2
        await here.delete(*SET)
        await here.until(lambda: not left(here, CONTROLLER, SET))


@pytest.mark.parametrize("alone", [REST_API, ACCOUNTING], ids=lambda one: one[0])
@simulated
async def test_who_is_deleted_alone_goes(alone: tuple[str, str]) -> None:
    """Somebody may want another one in its place."""
    async with cluster(replicas=2) as (here, _):
        await here.delete(*alone)
        assert await here.until(lambda: not left(here, alone)) >= TOGETHER
        assert len(here.sight.workers()) == 2


@simulated
async def test_a_controller_stays_for_a_node_set_that_no_watch_has_shown() -> None:
    """Somebody makes one while somebody else deletes, and it may have jobs before it is heard of."""
    async with behind("NodeSet", replicas=1) as (here, port):
        spec = here.sight(*SET).spec
        port.shows.set()
        await here.delete(*SET)
        await here.until(lambda: not left(here, SET))
        await asyncio.sleep(1)
        port.shows.clear()
        await here.store.create(
            RESOURCES["NodeSet"], {"metadata": {"name": "late", "namespace": NAMESPACE}, "spec": spec}
        )
        await here.delete(*CONTROLLER)
        await asyncio.sleep(60)
        assert left(here, CONTROLLER) == [CONTROLLER]


@simulated
async def test_a_controller_that_cannot_be_read_goes_when_nobody_refers_to_it() -> None:
    async with cluster(replicas=1) as (here, _):
        await here.delete(*SET)
        await here.until(lambda: not left(here, SET))
        await asyncio.sleep(5)
        await here.edit(*CONTROLLER, spec={"extraConf": "Prolog=\x00bad"})
        await here.delete(*CONTROLLER)
        await here.until(lambda: not left(here, CONTROLLER))


@pytest.mark.parametrize("kubernetes", ["orphan", "foregroundDeletion"])
@simulated
async def test_while_kubernetes_takes_a_controller_apart_nothing_is_made_for_it(kubernetes: str) -> None:
    """Whoever is left without it goes on, and is not taken back; what is deleted before it is made again afterwards."""
    async with desk() as at:
        item = at.context.caches.find(("Controller", NAMESPACE, "slurm"))
        assert item is not None
        meta = item.metadata
        mark = {"deletion_timestamp": clock().isoformat(), "finalizers": (*meta.finalizers, kubernetes)}
        stay = await of_controller(at.context, structs.replace(item, metadata=structs.replace(meta, **mark)))
        assert not stay.makes
        assert meta.finalizers == (CONTROLLER_HELD,)
        held = CONTROLLER_HELD in at.here.sight(*CONTROLLER).metadata.finalizers
        assert held == (kubernetes == "foregroundDeletion")


@simulated
async def test_who_waits_for_jobs_has_slurmctld_again_that_was_deleted_before_its_controller() -> None:
    """`kubectl delete --cascade=foreground`: Kubernetes deletes it first, and its state stays."""
    async with cluster(replicas=2) as (here, _):
        jobs = here.slurm.submit(1, 300)
        await asyncio.sleep(12)
        for kind, name in (CONTROLLER, REST_API):
            await here.store.delete(RESOURCES[kind], name, namespace=NAMESPACE, propagation=Propagation.FOREGROUND)
        await here.delete(*SET)
        await here.until(lambda: not left(here, CONTROLLER, REST_API, SET), within=400)
        assert [job.end for job in jobs] == ["COMPLETED"]


@simulated
async def test_a_namespace_that_is_deleted_is_not_held_up() -> None:
    """All pods go at once, and nothing can be made any more: nobody is left to wait for."""
    async with cluster(replicas=2) as (here, operator):
        await with_a_window(here)
        words = "namespaces is being terminated"
        operator.port.failing |= {(verb, "statefulsets.apps"): words for verb in ("apply", "create")}
        operator.port.failing |= {(verb, "deployments.apps"): words for verb in ("apply", "create")}
        for kind in ("StatefulSet", "Deployment", "Pod", "Controller", "RestApi", "NodeSet"):
            for one in here.sight.all(kind):
                await here.delete(kind, one.metadata.name)
        await here.until(lambda: not left(here, CONTROLLER, REST_API, SET), within=300)
