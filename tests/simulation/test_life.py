"""The life of a NodeSet between birth and scale-in: updates, cordons, claims, its end; and no job dies of it."""

from __future__ import annotations

import asyncio

import pytest

from penstock.api.objects import Json
from penstock.operator.finalizer import FINALIZER
from penstock.operator.nodeset.act import act
from penstock.operator.nodeset.snapshot import ON_DELETION
from penstock.operator.nodeset.steps import Plan, Remove, Tend
from penstock.operator.resources import Claim, Pod

from .desk import Desk, desk
from .loop import simulated
from .manifests import NAMESPACE, NODE_SET, RESOURCES, Seen, sample
from .world import World, cluster

CORDON = "nodeset.slinky.slurm.net/pod-cordon"


@simulated
async def test_an_update_under_load_replaces_every_worker_and_no_job_dies() -> None:
    async with cluster(replicas=6) as (here, _):
        before = {pod.metadata.uid for pod in here.sight.workers()}
        jobs = here.slurm.submit(30, 20)
        await here.edit("NodeSet", NODE_SET, spec=template("new"))
        fewest = 6
        while {pod.metadata.uid for pod in here.sight.workers()} & before:
            fewest = min(fewest, sum(not pod.metadata.deletion_timestamp for pod in here.sight.workers()))
            await asyncio.sleep(0.5)
        assert fewest >= 4, "a quarter of six may be missing, rounded up"
        await here.ready()
        assert here.sight("NodeSet", NODE_SET).status["updatedReplicas"] == 6
        await here.until(lambda: all(job.ended for job in jobs), within=300)
        assert not any(node.drain for node in here.slurm.nodes.values())


@simulated
async def test_an_update_that_is_taken_back_while_jobs_run_replaces_nobody() -> None:
    async with cluster(replicas=4) as (here, operator):
        before = {pod.metadata.uid for pod in here.sight.workers()}
        here.slurm.submit(4, 200)
        await here.edit("NodeSet", NODE_SET, spec=template("new"))
        await here.until(lambda: any(node.drain for node in here.slurm.nodes.values()), within=5)
        await here.edit("NodeSet", NODE_SET, spec=template(None))
        await here.until(lambda: not any(node.drain for node in here.slurm.nodes.values()), within=5)
        await asyncio.sleep(300)
        assert {pod.metadata.uid for pod in here.sight.workers()} == before
        assert ("delete", "pods") not in operator.port.counted()


@simulated
async def test_who_cordons_a_worker_drains_its_node_and_who_uncordons_it_gives_it_back() -> None:
    async with cluster(replicas=3) as (here, operator):
        await annotate(here, f"{NODE_SET}-1", "true")
        await here.until(lambda: here.slurm.nodes["compute-1"].drain, within=3)
        operator.end()
        here.start()
        await asyncio.sleep(120)
        assert [node.name for node in here.slurm.nodes.values() if node.drain] == ["compute-1"]
        await annotate(here, f"{NODE_SET}-1", None)
        await here.until(lambda: not here.slurm.nodes["compute-1"].drain, within=3)
        assert len(here.sight.workers()) == 3


@simulated
async def test_a_cordoned_machine_drains_its_workers_and_they_stay() -> None:
    async with cluster(replicas=3) as (here, _):
        before = {pod.metadata.uid for pod in here.sight.workers()}
        here.slurm.submit(3, 60)
        machine = next(iter(here.sight.workers())).spec["nodeName"]
        await here.store.patch(RESOURCES["Node"], machine, {"spec": {"unschedulable": True}}, manager="kubectl")
        there = {pod.spec["hostname"] for pod in here.sight.workers() if pod.spec["nodeName"] == machine}
        await here.until(lambda: {one.name for one in here.slurm.nodes.values() if one.drain} == there, within=3)
        await asyncio.sleep(120)
        assert {pod.metadata.uid for pod in here.sight.workers()} == before
        await here.store.patch(RESOURCES["Node"], machine, {"spec": {"unschedulable": False}}, manager="kubectl")
        await here.until(lambda: not any(node.drain for node in here.slurm.nodes.values()), within=3)


@simulated
async def test_a_deleted_set_stays_until_its_jobs_are_over() -> None:
    async with cluster(replicas=3) as (here, _):
        assert FINALIZER in here.sight("NodeSet", NODE_SET).metadata.finalizers
        jobs = here.slurm.submit(2, 90)
        await here.delete("NodeSet", NODE_SET)
        await here.until(lambda: len(here.sight.workers()) == 2, within=10)
        told = here.sight.condition("NodeSet", NODE_SET, "Progressing")
        assert "jobs still run on it" in told["message"]
        await here.until(lambda: here.sight.get("NodeSet", NODE_SET) is None, within=120)
        assert all(job.ended for job in jobs)
        assert here.sight.workers() == []


@simulated
async def test_a_deleted_set_does_not_wait_for_jobs_that_may_be_cancelled() -> None:
    async with cluster(replicas=2) as (here, _):
        here.slurm.submit(2, 9000)
        await here.edit("NodeSet", NODE_SET, metadata={"annotations": {ON_DELETION: "Cancel"}})
        await here.delete("NodeSet", NODE_SET)
        await here.until(lambda: here.sight.get("NodeSet", NODE_SET) is None, within=30)


@pytest.mark.parametrize("action", ["Requeue", "Cancel", "Wait"])
@simulated
async def test_a_bounded_drain(action: str) -> None:
    """NS-8: jobs are warned, and then requeued or cancelled; or waited for, for ever."""
    async with cluster(replicas=2) as (here, _):
        jobs = here.slurm.submit(2, 900)
        await here.edit("NodeSet", NODE_SET, spec={"drain": {"timeout": "100s", "onTimeout": action}})
        await here.scale(1)
        await asyncio.sleep(90)
        assert len(here.sight.workers()) == 2
        assert here.sight.events("JobsWarned") if action != "Wait" else not here.sight.events("JobsWarned")
        await asyncio.sleep(60)
        assert len(here.sight.workers()) == (2 if action == "Wait" else 1)
        stays = {"Wait": 2, "Cancel": 1, "Requeue": 1}[action]
        assert len(here.slurm.running) == stays
        assert sum(job.ended is None for job in jobs) == (1 if action == "Cancel" else 2)


@simulated
async def test_a_set_whose_controller_is_gone_goes_too() -> None:
    async with cluster(replicas=2) as (here, _):
        await here.delete("Controller", "slurm")
        await asyncio.sleep(2)
        await here.delete("NodeSet", NODE_SET)
        await here.until(lambda: here.sight.get("NodeSet", NODE_SET) is None, within=20)


@pytest.mark.parametrize("deleted", ["Retain", "Delete"])
@pytest.mark.parametrize("scaled", ["Retain", "Delete"])
@simulated
async def test_the_retention_matrix(deleted: str, scaled: str) -> None:
    """ST-3: scale-in, a pod that somebody deletes, an update, the end of the set."""
    async with cluster(with_claims(deleted, scaled), replicas=4) as (here, _):
        assert _claims(here) == {0, 1, 2, 3}
        here.slurm.submit(1, 100, on="compute-3")
        await here.scale(3)
        await asyncio.sleep(60)
        kept = {0, 1, 2, 3} if scaled == "Retain" else {0, 1, 3}
        assert _claims(here) == kept
        await here.delete("Pod", f"{NODE_SET}-1")
        await here.edit("NodeSet", NODE_SET, spec=template("new"))
        await asyncio.sleep(200)
        await here.ready()
        assert _claims(here) >= kept - {3}
        await here.scale(3)
        await here.delete("NodeSet", NODE_SET)
        await here.until(lambda: here.sight.get("NodeSet", NODE_SET) is None, within=60)
        await asyncio.sleep(5)
        assert bool(_claims(here)) == (deleted == "Retain")


@simulated
async def test_a_changed_policy_counts_for_claims_that_are_there() -> None:
    async with cluster(with_claims("Retain", "Retain"), replicas=2) as (here, _):
        assert owners(here) == [[], []]
        policy = {"whenDeleted": "Delete", "whenScaled": "Retain"}
        await here.edit("NodeSet", NODE_SET, spec={"persistentVolumeClaimRetentionPolicy": policy})
        await here.until(lambda: owners(here) == [["NodeSet"], ["NodeSet"]], within=3)


@simulated
async def test_claims_grow_with_their_template() -> None:
    async with cluster(with_claims("Retain", "Retain"), replicas=2) as (here, _):
        claim = {**_TEMPLATE, "spec": {**_TEMPLATE["spec"], "resources": {"requests": {"storage": "5Gi"}}}}
        await here.edit("NodeSet", NODE_SET, spec={"volumeClaimTemplates": [claim]})
        await here.until(lambda: _sizes(here) == {"5Gi"}, within=3)


_TEMPLATE: Json = {
    "metadata": {"name": "scratch"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


@pytest.mark.parametrize("goes", [True, False])
@simulated
async def test_a_claim_is_not_taken_from_a_worker_that_is_gone_by_now(goes: bool) -> None:
    """What we know may be a moment old: the worker that stays after all may have gone with its claim."""
    async with desk(with_claims("Retain", "Delete"), replicas=1) as at:
        pod, handed = await _handed_over(at)
        errand = await at.errand()
        if goes:
            await at.here.delete("Pod", pod.metadata.name)
        await act(errand, Plan(tend=[Tend(handed, owners=[])]))
        left = at.here.sight("PersistentVolumeClaim", handed.metadata.name)
        assert [one.name for one in left.metadata.owner_references] == ([pod.metadata.name] if goes else [])


@pytest.mark.parametrize("back", [True, False])
@simulated
async def test_a_worker_does_not_go_without_a_claim_that_it_only_seems_to_have(back: bool) -> None:
    """We may have taken it back a moment ago, and not see that yet: it would stay behind for ever (seed 59220)."""
    async with desk(with_claims("Retain", "Delete"), replicas=1) as at:
        await at.here.edit("NodeSet", NODE_SET, spec={"replicas": 0})
        pod, handed = await _handed_over(at)
        errand = await at.errand()
        if back:
            await at.here.edit("PersistentVolumeClaim", handed.metadata.name, metadata={"ownerReferences": []})
        await act(errand, Plan(remove=[Remove(pod, "a test", claims=[handed], drained=False)]))
        assert (at.here.sight("Pod", pod.metadata.name).metadata.deletion_timestamp is None) == back


@simulated
async def test_no_more_claims_go_than_there_are_workers_too_many_whatever_the_watch_shows() -> None:
    """Somebody deleted another worker a moment ago: without it one of these is needed (seed 165657)."""
    async with desk(with_claims("Retain", "Delete"), replicas=3) as at:
        await at.here.edit("NodeSet", NODE_SET, spec={"replicas": 1})
        await asyncio.sleep(1)
        errand, caches = await at.errand(), at.context.caches
        pods = [pod for number in (2, 1) if (pod := caches.pods.get(f"{NODE_SET}-{number}", NAMESPACE))]
        claims = [claim for pod in pods if (claim := caches.claims.get(f"scratch-{pod.metadata.name}", NAMESPACE))]
        await at.here.delete("Pod", f"{NODE_SET}-0")
        going = [Remove(pod, "a test", claims=[claim], drained=False) for pod, claim in zip(pods, claims, strict=True)]
        await act(errand, Plan(remove=going))
        left = [at.here.sight("Pod", pod.metadata.name).metadata.deletion_timestamp is None for pod in pods]
        kept = [
            not at.here.sight("PersistentVolumeClaim", one.metadata.name).metadata.owner_references for one in claims
        ]
        assert (left, kept) == ([False, True], [False, True])


async def _handed_over(at: Desk) -> tuple[Pod, Claim]:
    """The only worker, and its claim, which is to go with it; as the watch shows them."""
    [name] = [pod.metadata.name for pod in at.here.sight.workers()]
    pod, claim = at.context.caches.pods.get(name, NAMESPACE), f"scratch-{name}"
    assert pod is not None
    owner = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": pod.metadata.uid}
    await at.here.edit("PersistentVolumeClaim", claim, metadata={"ownerReferences": [owner]})
    await asyncio.sleep(1)
    handed = at.context.caches.claims.get(claim, NAMESPACE)
    assert handed is not None
    return pod, handed


def with_claims(deleted: str, scaled: str) -> list[Json]:
    documents = sample()
    for body in documents:
        if body["kind"] == "NodeSet":
            body["spec"]["volumeClaimTemplates"] = [_TEMPLATE]
            body["spec"]["persistentVolumeClaimRetentionPolicy"] = {"whenDeleted": deleted, "whenScaled": scaled}
    return documents


def template(mark: str | None) -> Json:
    """An edit that makes a new template, or takes it back."""
    return {"extraConf": mark and f"Weight={len(mark)}"}


async def annotate(here: World, pod: str, text: str | None) -> None:
    patch = {"metadata": {"annotations": {CORDON: text}}}
    await here.store.patch(RESOURCES["Pod"], pod, patch, namespace=NAMESPACE, manager="kubectl-annotate")


def _claims(here: World) -> set[int]:
    return {int(claim.metadata.name.rpartition("-")[2]) for claim in _all(here)}


def owners(here: World) -> list[list[str]]:
    return [[owner.kind for owner in claim.metadata.owner_references] for claim in _all(here)]


def _sizes(here: World) -> set[str]:
    return {claim.spec["resources"]["requests"]["storage"] for claim in _all(here)}


def _all(here: World) -> list[Seen]:
    claims = here.sight.all("PersistentVolumeClaim")
    return [claim for claim in claims if claim.metadata.name.startswith("scratch-")]
