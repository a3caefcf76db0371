"""New keys while jobs run: a JWT key rolls slurmdbd first and slurmctld after it; a slurm key rolls slurmdbd alone.

That no two daemons ever misunderstand each other, and that no job is lost, is asserted at the end of every world.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import pytest

from penstock.cluster.wrapper import WRITES, Read, Write
from penstock.operator.resources import PODS
from penstock.render import labels
from penstock.slurm.keyring import FILE, Key, Ring, Written

from .loop import clock, now, simulated
from .manifests import JWT_KEY, NAMESPACE, NODE_SET, SLURM_KEY, secret
from .port import Fault, Port
from .world import World, cluster

OLD, NEW, NEWER = (
    "a-key-that-slurm-daemons-share-among-them", "a-new-key-that-slurm-daemons-share-among-them",
    "the-newest-key-that-slurm-daemons-share-among-them",
)  # fmt: skip
RING = f"{SLURM_KEY}-ring"
WHOLE = 600.0
"""Seconds in which a rotation is over: two steps that everybody must have read, and a third."""


def ring(signing: str, *others: str) -> Ring:
    return Ring(Key(signing.encode()), frozenset(Key(one.encode()) for one in others))


def written(here: World) -> Ring:
    return Written.read(here.sight.secret(RING)[FILE]).ring


def pods(here: World, *apps: str) -> set[str]:
    return {one.metadata.uid for one in here.sight.all("Pod") if one.metadata.labels.get(labels.NAME) in apps}


async def wish(here: World, key: str) -> None:
    await here.apply([secret(SLURM_KEY, **{"slurm.key": key})])


async def rings_until(here: World, last: Ring, *, within: float = WHOLE) -> list[Ring]:
    """The rings that are written on the way to one."""
    seen, began = [written(here)], now()
    while seen[-1] != last:
        assert now() - began < within, here.sight.story()
        await asyncio.sleep(0.5)
        if written(here) != seen[-1]:
            seen.append(written(here))
    return seen


async def reach(here: World, names: Iterable[str], *, ready: bool) -> None:
    """Machines go away, or come back: kubelet or its stand-in tells whether their pods are ready."""
    for name in names:
        (here.keys.away.discard if ready else here.keys.away.add)(name)
        since = clock().strftime("%Y-%m-%dT%H:%M:%SZ")
        conditions = [{"type": "Ready", "status": str(ready), "lastTransitionTime": since}]
        status = {"status": {"phase": "Running", "conditions": conditions}}
        await here.store.patch(PODS, name, status, namespace=NAMESPACE, subresource="status", manager="kubelet")


@simulated
async def test_a_new_slurm_key_is_taken_in_steps_and_nobody_but_slurmdbd_restarts() -> None:
    async with cluster() as (here, _):
        here.slurm.submit(2, 3600)
        assert written(here) == ring(OLD)
        others, slurmdbd = pods(here, "slurmctld", "slurmd", "login", "slurmrestd"), pods(here, "slurmdbd")
        await wish(here, NEW)
        began = now()
        assert await rings_until(here, ring(NEW)) == [ring(OLD), ring(OLD, NEW), ring(NEW, OLD), ring(NEW)]
        assert 300 < now() - began < 330
        await asyncio.sleep(200)
        await here.ready()
        assert here.keys.held() == {ring(NEW)}
        assert pods(here, "slurmctld", "slurmd", "login", "slurmrestd") == others
        assert not pods(here, "slurmdbd") & slurmdbd
        assert len(here.slurm.running) == 2


@simulated
async def test_what_goes_on_is_told() -> None:
    async with cluster() as (here, _):
        await wish(here, NEW)
        await asyncio.sleep(60)
        told = here.sight.condition("Controller", "slurm", "Progressing")
        assert (told["status"], told["reason"]) == ("True", "KeyRotation")
        assert "step 1 of 3" in told["message"]
        assert here.sight.condition("Controller", "slurm", "Ready")["status"] == "True"
        await rings_until(here, ring(NEW))
        await here.ready()
        steps = [one for one in here.sight.events("KeyRotation") if "step" in one]
        assert [step.split("step ")[1][0] for step in steps] == ["1", "2", "3"]
        assert all(NEW not in one and OLD not in one for one in here.sight.events())


@pytest.mark.parametrize("after", [5, 100, 200, 310], ids=lambda seconds: f"after {seconds} s")
@pytest.mark.parametrize("wanted", [OLD, NEWER], ids=["back", "another"])
@simulated
async def test_a_change_of_mind_ends_well(after: float, wanted: str) -> None:
    async with cluster() as (here, _):
        await wish(here, NEW)
        await asyncio.sleep(after)
        await wish(here, wanted)
        await asyncio.sleep(2)
        await rings_until(here, ring(wanted), within=2 * WHOLE)
        await asyncio.sleep(200)
        await here.ready()
        assert here.keys.held() == {ring(wanted)}


@simulated
async def test_the_secret_may_be_deleted_and_made_anew() -> None:
    """People do; the ring still knows the key that everybody holds."""
    async with cluster() as (here, _):
        await here.delete("Secret", SLURM_KEY)
        await asyncio.sleep(5)
        assert written(here) == ring(OLD)
        await wish(here, NEW)
        assert len(await rings_until(here, ring(NEW))) == 4


@simulated
async def test_who_is_away_is_waited_for_and_told_again() -> None:
    async with cluster() as (here, _):
        worker = f"{NODE_SET}-1"
        await reach(here, [worker], ready=False)
        await wish(here, NEW)
        await asyncio.sleep(WHOLE)
        assert written(here) == ring(OLD, NEW)
        told = here.sight.condition("Controller", "slurm", "Progressing")
        assert f"waits for {worker}, not ready" in told["message"]
        await reach(here, [worker], ready=True)
        assert await rings_until(here, ring(NEW), within=WHOLE) == [ring(OLD, NEW), ring(NEW, OLD), ring(NEW)]
        assert any("once more" in one for one in here.sight.events("KeyRotation"))
        await asyncio.sleep(200)
        assert here.keys.held() == {ring(NEW)}


@simulated
async def test_a_worker_that_comes_in_the_middle_hurts_nobody() -> None:
    async with cluster() as (here, _):
        await wish(here, NEW)
        for replicas in (3, 4, 5):
            await asyncio.sleep(70)
            await here.scale(replicas)
        await rings_until(here, ring(NEW), within=2 * WHOLE)


class Unlucky(Port):
    """Every second time that a Secret is written, something happens."""

    def __init__(self, here: World, fault: Fault) -> None:
        super().__init__(here.store)
        self._fault = fault

    @asynccontextmanager
    async def _noted(self, verb: Read | Write, resource: str) -> AsyncIterator[None]:
        if verb in WRITES and resource == "secrets" and random.random() < 0.5:  # noqa: S311 - chance, not secrecy
            self.next_of[verb] = self._fault
        async with super()._noted(verb, resource):
            yield


@pytest.mark.parametrize("fault", Fault, ids=lambda fault: fault.name)
@simulated
async def test_whatever_happens_to_a_step_the_next_operator_goes_on(fault: Fault) -> None:
    async with cluster() as (here, first):
        await first.crash()
        await wish(here, NEW)
        began, running = now(), here.start(Unlucky(here, fault))
        while written(here) != ring(NEW):
            assert now() - began < 2 * WHOLE
            await asyncio.sleep(1)
            if running.task.done():
                running = here.start(Unlucky(here, fault))
        # Who wrote the last step may die of it, or of the next Secret: somebody has to tell the pods.
        await running.crash()
        here.start()
        await asyncio.sleep(200)
        assert here.keys.held() == {ring(NEW)}


@simulated
async def test_a_ring_that_is_lost_is_made_anew() -> None:
    async with cluster() as (here, _):
        await here.delete("Secret", RING)
        await asyncio.sleep(5)
        assert written(here) == ring(OLD)
        await here.edit("Secret", RING, data={FILE: "bm8gcmluZw=="})
        await asyncio.sleep(5)
        assert written(here) == ring(OLD)


@simulated
async def test_a_key_that_slurm_would_die_of_is_refused() -> None:
    async with cluster() as (here, _):
        await wish(here, "short")
        await asyncio.sleep(5)
        told = here.sight.condition("Controller", "slurm", "Degraded")
        assert (told["status"], told["reason"]) == ("True", "KeyRefused")
        assert "short" not in told["message"].replace("too short", "")
        assert written(here) == ring(OLD)
        await wish(here, OLD)
        await here.ready()


@simulated
async def test_a_new_jwt_key_goes_to_slurmdbd_first() -> None:
    async with cluster() as (here, _):
        here.kubernetes.delays.start = 20.0
        here.slurm.submit(2, 600)
        workers = here.sight.workers()
        digest = labels.key_digest(NEW.encode())
        given: dict[str, float] = {}
        await here.apply([secret(JWT_KEY, **{"jwt.key": NEW})])
        rolled = 0.0
        for _ in range(2400):
            await asyncio.sleep(0.05)
            for daemon in ("slurm-accounting", "slurm-controller"):
                if _hash(here, daemon) == digest:
                    given.setdefault(daemon, now())
            rolled = rolled or (now() if _has_rolled(here, "slurm-accounting", digest) else 0.0)
            if "slurm-controller" in given:
                break
            assert (
                "slurm-accounting" not in given
                or "waits until slurmdbd" in here.sight.condition("Controller", "slurm", "Degraded")["message"]
                or now() - given["slurm-accounting"] < 1
            )
        assert given["slurm-accounting"] < rolled <= given["slurm-controller"] + 0.05
        assert given["slurm-controller"] - rolled < 2
        await here.ready()
        assert {pod.metadata.uid for pod in here.sight.workers()} == {pod.metadata.uid for pod in workers}
        assert len(here.slurm.running) == 2
        restapi = here.sight("Deployment", "slurm-restapi").spec["template"]["metadata"]["annotations"]
        assert restapi[labels.JWT_KEY_HASH] == digest


def _hash(here: World, name: str) -> str | None:
    annotations: dict[str, str] = here.sight("StatefulSet", name).spec["template"]["metadata"]["annotations"]
    return annotations.get(labels.JWT_KEY_HASH)


def _has_rolled(here: World, name: str, digest: str | None) -> bool:
    pod, workload = here.sight.get("Pod", f"{name}-0"), here.sight("StatefulSet", name)
    new = pod is not None and pod.metadata.annotations.get(labels.JWT_KEY_HASH) == digest
    return new and workload.status.get("readyReplicas") == 1 == workload.status.get("updatedReplicas")
