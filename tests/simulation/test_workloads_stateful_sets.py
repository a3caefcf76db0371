"""StatefulSets on one machine, in virtual time."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from penstock.cluster.port import Propagation
from penstock.cluster.resources import Whole

from .loop import now, simulated
from .one_machine import NAMESPACE, RESOURCES, World, claim_template, pod, stateful_set, world

NEW = {"template": {"spec": {"containers": [{"name": "main", "image": "two"}]}}}


def images(pods: dict[str, Whole]) -> dict[str, str]:
    """The image of each pod."""
    return {name: one.spec["containers"][0]["image"] for name, one in pods.items()}


@simulated
async def test_pods_come_in_order_with_their_identity_and_claims(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.apply(stateful_set(replicas=2, volumeClaimTemplates=[claim_template()]))
        await here.settled()
        pods = await here.all("Pod")
        assert sorted(pods) == ["web-0", "web-1"]
        one, status = pods["web-1"], (await here.get("StatefulSet", "web")).status
        assert one.metadata.labels == {
            "app": "web", "statefulset.kubernetes.io/pod-name": "web-1", "apps.kubernetes.io/pod-index": "1",
            "controller-revision-hash": status["updateRevision"],
        }  # fmt: skip
        assert (one.spec["hostname"], one.spec["subdomain"]) == ("web-1", "web")
        assert one.spec["volumes"][0] == {"name": "data", "persistentVolumeClaim": {"claimName": "data-web-1"}}
        assert pods["web-0"].metadata.creation_timestamp < one.metadata.creation_timestamp
        assert {name: status[name] for name in status if "evision" not in name} == {
            "observedGeneration": 1, "replicas": 2, "readyReplicas": 2, "currentReplicas": 2, "updatedReplicas": 2,
            "availableReplicas": 2, "collisionCount": 0,
        }  # fmt: skip


@simulated
async def test_at_rest_nothing_is_written(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.apply(stateful_set(volumeClaimTemplates=[claim_template()]))
        await here.settled()
        since = now()
        await asyncio.sleep(3600)
        assert here.port.counted(since) == {}


@simulated
async def test_an_update_goes_from_the_top_one_at_a_time(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.apply(stateful_set(replicas=3, revisionHistoryLimit=0))
        await here.settled()
        here.engine.watch_bounds()
        await here.edit("StatefulSet", "web", spec=NEW)
        await here.settled()
        assert here.engine.least == 2
        assert set(images(await here.all("Pod")).values()) == {"two"}
        made = {name: one.metadata.creation_timestamp for name, one in (await here.all("Pod")).items()}
        assert made["web-2"] < made["web-1"] < made["web-0"]
        assert len(await here.names("ControllerRevision")) == 1


@simulated
async def test_below_the_partition_the_old_template_stays_even_for_a_pod_that_is_made_anew(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.apply(stateful_set(replicas=3, updateStrategy={"rollingUpdate": {"partition": 2}}))
        await here.settled()
        await here.edit("StatefulSet", "web", spec=NEW)
        await here.settled()
        await here.delete("Pod", "web-0")
        await here.settled()
        assert images(await here.all("Pod")) == {"web-0": "one", "web-1": "one", "web-2": "two"}
        status = (await here.get("StatefulSet", "web")).status
        assert (status["currentReplicas"], status["updatedReplicas"]) == (2, 1)
        await here.edit("StatefulSet", "web", spec={"updateStrategy": {"rollingUpdate": {"partition": 0}}})
        await here.settled()
        assert set(images(await here.all("Pod")).values()) == {"two"}


@simulated
async def test_on_delete_waits_for_somebody_to_delete(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.apply(stateful_set(replicas=2, updateStrategy={"type": "OnDelete"}))
        await here.settled()
        await here.edit("StatefulSet", "web", spec=NEW)
        await here.delete("Pod", "web-1")
        await here.settled()
        assert images(await here.all("Pod")) == {"web-0": "one", "web-1": "two"}


@simulated
async def test_a_pod_that_failed_is_replaced_but_not_in_a_hurry(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.apply(stateful_set(replicas=1))
        await here.settled()
        for _ in range(3):
            old = await here.get("Pod", "web-0")
            await here.engine.says(old, "Failed")
            await here.settled(quiet=12)
            assert await here.ready() == ["web-0"]
            assert (await here.get("Pod", "web-0")).metadata.uid != old.metadata.uid


@pytest.mark.parametrize("scaled", ["Retain", "Delete"])
@pytest.mark.parametrize("deleted", ["Retain", "Delete"])
def test_claims_are_kept_and_removed_by_the_matrix(tmp_path: Path, scaled: str, deleted: str) -> None:
    """ST-3, for StatefulSets: and a pod that goes for another reason never takes its claim along."""

    @simulated
    async def story() -> None:
        async with world(tmp_path) as here:
            policy = {"whenScaled": scaled, "whenDeleted": deleted}
            await here.apply(
                stateful_set(
                    volumeClaimTemplates=[claim_template()], persistentVolumeClaimRetentionPolicy=policy, replicas=3
                )
            )
            await here.settled()
            before = {name: one.metadata.uid for name, one in (await here.all("PersistentVolumeClaim")).items()}
            await here.delete("Pod", "web-1")
            await here.settled()
            after = {name: one.metadata.uid for name, one in (await here.all("PersistentVolumeClaim")).items()}
            assert before == after
            await here.edit("StatefulSet", "web", spec={"replicas": 1})
            await here.settled()
            kept = ["data-web-0"] if scaled == "Delete" else ["data-web-0", "data-web-1", "data-web-2"]
            assert await here.names("PersistentVolumeClaim") == kept
            await here.delete("StatefulSet", "web")
            await here.settled()
            kept = [] if deleted == "Delete" else kept
            assert await here.names("PersistentVolumeClaim") == kept
            assert len(here.directories()) == len(kept)

    story()


@simulated
async def test_a_policy_that_changes_later_counts(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.apply(stateful_set(volumeClaimTemplates=[claim_template()], replicas=1))
        await here.settled()
        policy = {"whenScaled": "Retain", "whenDeleted": "Delete"}
        await here.edit("StatefulSet", "web", spec={"persistentVolumeClaimRetentionPolicy": policy})
        await here.settled()
        await here.delete("StatefulSet", "web")
        await here.settled()
        assert await here.names("PersistentVolumeClaim") == []


@simulated
async def test_pods_that_were_left_behind_are_adopted(tmp_path: Path) -> None:
    """The recipe for a template that cannot be changed: delete without the pods, apply anew."""
    async with world(tmp_path) as here:
        await here.apply(stateful_set(replicas=2))
        await here.settled()
        before = {name: one.metadata.uid for name, one in (await here.all("Pod")).items()}
        await here.store.delete(
            RESOURCES["StatefulSet"], "web", namespace=NAMESPACE, propagation=Propagation.ORPHAN
        )  # fmt: skip
        await here.settled()
        await here.apply(stateful_set(replicas=2))
        await here.settled()
        after = await here.all("Pod")
        assert {name: one.metadata.uid for name, one in after.items()} == before
        owner = (await here.get("StatefulSet", "web")).metadata.uid
        assert {one.metadata.owner_references[0].uid for one in after.values()} == {owner}


@simulated
async def test_a_name_that_somebody_else_has_is_told(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.apply(pod("web-0", labels={"app": "else"}))
        await here.apply(stateful_set(replicas=1))
        await asyncio.sleep(30)
        assert "is there already and belongs to nobody" in (await here.events("FailedCreate"))[0]
        await here.delete("Pod", "web-0")
        await here.settled(quiet=60)
        assert (await here.get("Pod", "web-0")).metadata.labels["app"] == "web"


@simulated
async def test_a_claim_on_its_way_out_is_waited_for(tmp_path: Path) -> None:
    """ST-1: a pod never gets a claim that is about to vanish under it."""
    async with world(tmp_path) as here:
        policy = {"whenScaled": "Delete", "whenDeleted": "Retain"}
        await here.apply(
            stateful_set(
                volumeClaimTemplates=[claim_template()], persistentVolumeClaimRetentionPolicy=policy, replicas=2
            )
        )
        await here.settled()
        old = (await here.get("PersistentVolumeClaim", "data-web-1")).metadata.uid
        await _scaled(here, 1)
        await asyncio.sleep(0.1)
        await _scaled(here, 2)
        await here.settled()
        assert await here.ready() == ["web-0", "web-1"]
        assert (await here.get("PersistentVolumeClaim", "data-web-1")).metadata.uid != old


async def _scaled(here: World, replicas: int) -> None:
    await here.store.scale(RESOURCES["StatefulSet"], "web", replicas, namespace=NAMESPACE)
