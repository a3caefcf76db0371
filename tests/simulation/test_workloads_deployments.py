"""Deployments on one machine, in virtual time."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from penstock.cluster.resources import Whole
from penstock.engine.workloads.children import Children
from penstock.engine.workloads.context import Context
from penstock.engine.workloads.kinds import REPLICA_SETS

from .loop import clock, now, simulated
from .one_machine import NAMESPACE, RESOURCES, World, deployment, world

REVISION = "deployment.kubernetes.io/revision"


async def new_image(here: World, image: str) -> None:
    """Change the template."""
    spec = {"template": {"spec": {"containers": [{"name": "main", "image": image}]}}}
    await here.edit("Deployment", "api", spec=spec)


async def the_images(here: World) -> set[str]:
    """The images of all pods."""
    return {one.spec["containers"][0]["image"] for one in (await here.all("Pod")).values()}


def condition(item: Whole, kind: str) -> Any:
    """A condition of an object."""
    return next(one for one in item.status["conditions"] if one["type"] == kind)


@simulated
async def test_a_deployment_has_pods_through_a_replica_set(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.apply(deployment(replicas=2))
        await here.settled()
        item, [(name, one)] = await here.get("Deployment", "api"), (await here.all("ReplicaSet")).items()
        digest = one.metadata.labels["pod-template-hash"]
        assert name == f"api-{digest}"
        assert one.spec["selector"] == {"matchLabels": {"app": "api", "pod-template-hash": digest}}
        assert one.metadata.owner_references[0].uid == item.metadata.uid
        for pod_name, pod in (await here.all("Pod")).items():
            assert pod_name.startswith(f"{name}-")
            assert pod.metadata.labels == {"app": "api", "pod-template-hash": digest}
            assert pod.metadata.owner_references[0].uid == one.metadata.uid
        assert item.metadata.annotations[REVISION] == "1"
        assert {part: item.status[part] for part in item.status if part != "conditions"} == {
            "observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2,
        }  # fmt: skip
        assert condition(item, "Available")["status"] == "True"
        assert condition(item, "Progressing")["reason"] == "NewReplicaSetAvailable"


@simulated
async def test_at_rest_nothing_is_written(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.apply(deployment())
        await here.settled()
        since = now()
        await asyncio.sleep(3600)
        assert here.port.counted(since) == {}


@pytest.mark.parametrize(
    ("strategy", "most", "least"),
    [
        ({}, 5, 3),
        ({"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}, 4, 3),
        ({"rollingUpdate": {"maxSurge": "50%", "maxUnavailable": 0}}, 6, 4),
        ({"type": "Recreate"}, 4, 0),
    ],
)
def test_a_rollout_stays_within_its_bounds(tmp_path: Path, strategy: Any, most: int, least: int) -> None:
    @simulated
    async def story() -> None:
        async with world(tmp_path) as here:
            await here.apply(deployment(replicas=4, strategy=strategy))
            await here.settled()
            here.engine.watch_bounds()
            await new_image(here, "two")
            await here.settled()
            assert (here.engine.most, here.engine.least) == (most, least)
            assert await the_images(here) == {"two"}
            assert len(await here.ready()) == 4

    story()


@simulated
async def test_recreate_begins_only_when_the_last_old_pod_is_gone(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.apply(deployment(replicas=2, strategy={"type": "Recreate"}))
        await here.settled()
        here.engine.delays.stop = 20.0
        await new_image(here, "two")
        await asyncio.sleep(15)
        assert await the_images(here) == {"one"}
        await here.settled(quiet=25)
        assert await the_images(here) == {"two"}


@simulated
async def test_a_template_that_does_not_come_up_leaves_the_old_pods_alone_and_is_told(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.apply(deployment(replicas=3, progressDeadlineSeconds=60))
        await here.settled()
        here.engine.broken = lambda pod: pod.spec["containers"][0]["image"] == "bad"
        await new_image(here, "bad")
        await asyncio.sleep(90)
        assert len(await here.ready()) == 3
        item = await here.get("Deployment", "api")
        assert condition(item, "Available")["status"] == "True"
        assert condition(item, "Progressing")["reason"] == "ProgressDeadlineExceeded"
        await new_image(here, "one")
        await here.settled()
        assert await the_images(here) == {"one"}
        item = await here.get("Deployment", "api")
        assert item.metadata.annotations[REVISION] == "3"
        assert condition(item, "Progressing")["reason"] == "NewReplicaSetAvailable"


@simulated
async def test_history_is_kept_as_long_as_asked(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.apply(deployment(replicas=1, revisionHistoryLimit=1))
        for image in ("two", "three", "four"):
            await here.settled()
            await new_image(here, image)
        await here.settled()
        kept = sorted(one.metadata.annotations[REVISION] for one in (await here.all("ReplicaSet")).values())
        assert kept == ["3", "4"]


@simulated
async def test_scaling_is_not_a_rollout(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.apply(deployment(replicas=1))
        await here.settled()
        for size in (5, 2, 0, 3):
            await here.store.scale(RESOURCES["Deployment"], "api", size, namespace=NAMESPACE)
            await here.settled()
            assert len(await here.ready()) == len(await here.names()) == size
        assert len(await here.names("ReplicaSet")) == 1


@simulated
async def test_paused_it_scales_but_does_not_roll(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.apply(deployment(replicas=1))
        await here.settled()
        await here.edit("Deployment", "api", spec={"paused": True, "replicas": 2})
        await new_image(here, "two")
        await here.settled()
        assert (await the_images(here), len(await here.ready())) == ({"one"}, 2)
        await here.edit("Deployment", "api", spec={"paused": False})
        await here.settled()
        assert await the_images(here) == {"two"}
        assert condition(await here.get("Deployment", "api"), "Progressing")["reason"] == "NewReplicaSetAvailable"


@simulated
async def test_pods_that_are_deleted_or_fail_come_back(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.apply(deployment(replicas=3))
        await here.settled()
        first, second, _ = (await here.all("Pod")).values()
        await here.delete("Pod", first.metadata.name)
        await here.engine.says(second, "Failed")
        await here.settled(quiet=15)
        assert len(await here.ready()) == len(await here.names()) == 3


@simulated
async def test_a_pod_that_was_deleted_counts_as_leaving_before_the_watch_says_so(tmp_path: Path) -> None:
    """Or a second look, at other news, would delete one more."""
    async with world(tmp_path) as here:
        await here.apply(deployment(replicas=2))
        await here.settled()
        caches = here.workloads.caches
        context = Context(cluster=here.port, caches=caches, events=here.workloads.events, now=clock)
        children, [owner] = Children(context, REPLICA_SETS), caches.replica_sets.all()
        first, second = children.of(owner)
        here.port.hears.clear()
        await children.delete(owner, first, "a test")
        assert [pod.leaving for pod in children.of(owner)] == [True, False]
        assert not any(pod.leaving for pod in caches.pods.all()), "the watch was meant to be behind"
        here.port.hears.set()
        await here.settled()
        assert second in children.of(owner)


@simulated
async def test_deleting_it_deletes_all(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.apply(deployment())
        await here.settled()
        await here.delete("Deployment", "api")
        await here.settled()
        assert await here.names("ReplicaSet") + await here.names("Pod") == []
