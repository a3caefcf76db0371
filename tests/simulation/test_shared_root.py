"""The shared root is filled before anybody uses it, and filled anew only while nobody does (TR-3)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from penstock.api.objects import Json
from penstock.cluster.port import Cluster
from penstock.cluster.wrapper import Read, Write
from penstock.operator.resources import CUSTOMS, JOBS
from penstock.operator.shared_root import FILLED

from .loop import clock, simulated
from .manifests import NAMESPACE, NODE_SET, Seen, sample
from .port import Fault, Port
from .world import World, world

LOGIN = "slurm-login"
USERS = {"slurmd", "login"}
APP = "app.kubernetes.io/name"


def documents(**root: object) -> list[Json]:
    """The sample, with a shared root."""
    made = sample()
    [controller] = [body for body in made if body["kind"] == "Controller"]
    controller["spec"]["sharedRoot"] = {"image": "first:1", **root}
    return made


def jobs(here: World) -> list[Seen]:
    """The Jobs that fill it, or did."""
    return [one for one in here.sight.all("Job") if not one.metadata.deletion_timestamp]


def users(here: World) -> set[str]:
    """Pods that have the root, or will in a moment."""
    return {one.metadata.name for one in here.sight.all("Pod") if one.metadata.labels.get(APP) in USERS}


def told(here: World) -> Json:
    """What the Controller says of it."""
    return here.sight.condition("Controller", "slurm", FILLED)


async def end(here: World, kind: str = "Complete") -> None:
    """The one Job that runs ends."""
    [job] = [one for one in jobs(here) if not one.spec.get("suspend")]
    status = {"status": {"conditions": [{"type": kind, "status": "True", "lastTransitionTime": clock().isoformat()}]}}
    await here.store.patch(
        JOBS, job.metadata.name, status, namespace=NAMESPACE, subresource="status", manager="kubernetes"
    )


async def started(here: World) -> None:
    """Wait until a Job has been let go."""
    await here.until(lambda: [one for one in jobs(here) if not one.spec.get("suspend")], what="a Job fills it")


async def empty(here: World) -> None:
    """Have no pod that has the root."""
    await here.scale(0)
    await here.store.scale(CUSTOMS["LoginSet"], LOGIN, 0, namespace=NAMESPACE)
    await here.until(lambda: not users(here), what="all who use it are gone")


@asynccontextmanager
async def idle() -> AsyncIterator[World]:
    """A world in which no Job ends by itself."""
    async with world() as here:
        here.kubernetes.delays.job = None
        yield here


@asynccontextmanager
async def filled(**root: object) -> AsyncIterator[World]:
    """A cluster whose root has been filled."""
    async with idle() as here:
        await here.apply(documents(**root))
        here.start()
        await started(here)
        await end(here)
        await here.ready()
        yield here


@simulated
async def test_nobody_is_made_before_it_is_filled() -> None:
    async with idle() as here:
        await here.apply(documents())
        here.start()
        await started(here)
        await asyncio.sleep(300)
        assert users(here) == set()
        assert (told(here)["status"], told(here)["reason"]) == ("False", "Filling")
        assert FILLED in here.sight.condition("NodeSet", NODE_SET, "Degraded")["message"]
        assert FILLED in here.sight.condition("LoginSet", LOGIN, "Degraded")["message"]
        await end(here)
        await here.ready()
        assert len(users(here)) == 3
        assert (told(here)["status"], told(here)["reason"]) == ("True", "Filled")
        assert here.sight("Controller", "slurm").status["sharedRoot"] == {"image": "first:1"}


@simulated
async def test_a_root_that_nobody_knows_to_be_filled_keeps_nobody_from_leaving() -> None:
    """The Controller was restored without its status: people are told to scale to 0, and can."""
    async with filled() as here:
        [job] = jobs(here)
        await here.store.delete(JOBS, job.metadata.name, namespace=NAMESPACE)
        forgotten = {"status": {"sharedRoot": None}}
        await here.store.patch(
            CUSTOMS["Controller"], "slurm", forgotten, namespace=NAMESPACE, subresource="status", manager="restore"
        )
        await here.until(lambda: told(here)["reason"] == "InUse", what="it is said what to do")
        await empty(here)
        await started(here)


@simulated
async def test_a_job_that_was_swept_away_is_not_made_again() -> None:
    async with filled() as here:
        [job] = jobs(here)
        await here.delete("Job", job.metadata.name)
        await asyncio.sleep(300)
        assert jobs(here) == []
        await here.scale(5)
        await here.ready()
        assert len(users(here)) == 6


@simulated
async def test_another_image_waits_for_the_last_one_who_uses_the_root() -> None:
    async with filled() as here:
        before = users(here)
        await here.edit("Controller", "slurm", spec={"sharedRoot": {"image": "second:2"}})
        await here.until(lambda: told(here)["reason"] == "InUse")
        assert "first:1" in told(here)["message"]
        assert "Scale the NodeSets and LoginSets to 0" in told(here)["message"]
        await asyncio.sleep(120)
        await here.scale(3)
        await here.ready()
        assert users(here) > before, "until then everything goes on as it was"
        assert all(one.spec["template"]["spec"]["containers"][0]["image"] == "first:1" for one in jobs(here))
        await empty(here)
        await started(here)
        await here.scale(2)
        await asyncio.sleep(100)
        assert users(here) == set()
        await end(here)
        await here.until(lambda: len(users(here)) == 2, what="workers come back")
        assert here.sight("Controller", "slurm").status["sharedRoot"] == {"image": "second:2"}


@simulated
async def test_a_pod_that_slips_in_keeps_the_job_from_beginning() -> None:
    """Somebody else makes it, at the very moment: the Job is taken back, and nothing has changed in the root."""
    async with filled() as here:
        await empty(here)
        slipped: Json = {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": "slipped-in", "namespace": NAMESPACE,
                "labels": {"slinky.slurm.net/shared-root": "slurm-shared-root"},
            },
            "spec": {"containers": [{"name": "a", "image": "a"}]},
        }  # fmt: skip
        await here.apply([slipped])
        await here.edit("Controller", "slurm", spec={"sharedRoot": {"image": "second:2"}})
        await asyncio.sleep(60)
        assert told(here)["reason"] == "InUse"
        assert "slipped-in" in told(here)["message"]
        assert [one for one in jobs(here) if not one.spec.get("suspend") and "second" in str(one.spec)] == []
        await here.delete("Pod", "slipped-in")
        await started(here)


@simulated
async def test_a_job_that_gave_up_is_told_and_tried_again_when_it_is_deleted() -> None:
    async with idle() as here:
        await here.apply(documents())
        here.start()
        await started(here)
        await end(here, "Failed")
        await here.until(lambda: told(here)["reason"] == "Failed")
        [failed] = jobs(here)
        assert failed.metadata.name in told(here)["message"]
        await asyncio.sleep(100)
        assert users(here) == set()
        await here.delete("Job", failed.metadata.name)
        await started(here)
        await end(here)
        await here.ready()


@simulated
async def test_workers_from_before_there_was_a_root_go_on_without_it() -> None:
    """The plugin would refuse their steps: it is loaded when the last of them has been replaced."""
    async with idle() as here:
        await here.apply(sample())
        here.start()
        await here.ready()
        [job] = here.slurm.submit(1, 500, on="compute-0")
        await here.edit("Controller", "slurm", spec={"sharedRoot": {"image": "first:1"}})
        await started(here)
        await end(here)
        plugged = _plugged(here)
        await asyncio.sleep(60)
        assert not plugged()
        restarted = {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "now"}}}}
        await here.edit("NodeSet", NODE_SET, spec=restarted)
        await asyncio.sleep(200)
        assert (job.ended, plugged()) == (None, False)
        await here.until(plugged, within=500, what="the plugin is loaded")
        assert job.ended is not None


def _plugged(here: World) -> Callable[[], bool]:
    return lambda: any("plugstack.conf" in one.data for one in here.sight.all("ConfigMap"))


class Struck(Port):
    """The first call of a kind goes wrong."""

    def __init__(self, store: Cluster, call: str, fault: Fault) -> None:
        super().__init__(store)
        self.call, self.fault, self.struck = call, fault, False

    def _noted(self, verb: Read | Write, resource: str) -> AbstractAsyncContextManager[None]:
        if f"{verb} {resource}" == self.call and not self.struck:
            self.struck = True
            self.faults[len(self.calls)] = self.fault
        return super()._noted(verb, resource)


@pytest.mark.parametrize("fault", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.LOST_AFTER, Fault.CONFLICT])
@pytest.mark.parametrize("call", ["create jobs.batch", "patch jobs.batch", "apply_status controllers.slinky.slurm.net"])
@simulated
async def test_whoever_dies_in_between_is_followed_by_one_who_goes_on(call: str, fault: Fault) -> None:
    async with idle() as here:
        await here.apply(documents())
        port = Struck(here.store, call, fault)
        first = here.start(port)
        await asyncio.sleep(30)
        if first.task.done():
            here.start()
        await started(here)
        assert users(here) == set()
        await end(here)
        await here.ready()
        assert port.struck
        assert len(jobs(here)) == 1
