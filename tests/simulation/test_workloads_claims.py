"""Claims as directories of one machine: bound, protected, grown, removed, and never removed by mistake."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from penstock.cluster.errors import NotYet

from .loop import now, simulated
from .one_machine import NAMESPACE, RESOURCES, claim, deployment, pod, world


@simulated
async def test_a_claim_is_a_directory_before_it_is_bound(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.apply(claim(storageClassName="fast-nvme"))
        await here.settled()
        found = await here.get("PersistentVolumeClaim", "data")
        name = f"pvc-{found.metadata.uid}"
        assert found.spec["volumeName"] == name
        capacity = {"storage": "1Gi"}
        assert found.status == {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": capacity}
        volume = await here.get("PersistentVolume", name)
        assert volume.status == {"phase": "Bound"}
        path = here.workloads.path(NAMESPACE, "data")
        assert volume.spec["hostPath"]["path"] == str(path)
        assert [path.name] == here.directories()
        assert path.stat().st_mode & 0o777 == 0o777
        assert '"fast-nvme"' in (await here.events("StorageClassIgnored"))[0]
        since = now()
        await asyncio.sleep(3600)
        assert here.port.counted(since) == {}


def test_whoever_dies_while_a_directory_is_made_everybody_may_write_there_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, failing = Path.chmod, [True]

    def chmod(path: Path, mode: int) -> None:
        if failing:
            failing.clear()
            raise OSError("killed")
        real(path, mode)

    monkeypatch.setattr(Path, "chmod", chmod)

    @simulated
    async def story() -> None:
        async with world(tmp_path) as here:
            await here.apply(claim())
            await here.settled()
            assert not failing
            assert here.workloads.path(NAMESPACE, "data").stat().st_mode & 0o777 == 0o777
            assert len(here.directories()) == 1
            (tmp_path / NAMESPACE / ".half-made-x").mkdir()
            await here.crash()
            here.start()
            await here.settled()
            assert len(here.directories()) == 1, "what was never finished is nobody's"

    story()


@simulated
async def test_a_claim_that_is_not_bound_says_so_to_the_engine(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        with pytest.raises(NotYet, match='"data" not found'):
            here.workloads.path(NAMESPACE, "data")


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"storageClassName": ""}, "asks for a volume that somebody made before"),
        ({"volumeName": "mine"}, "leave volumeName out"),
        ({"volumeMode": "Block"}, "one machine has directories only"),
        ({"selector": {"matchLabels": {"a": "b"}}}, "cannot be selected"),
        ({"dataSource": {"kind": "VolumeSnapshot", "name": "s"}}, "cannot fill a volume"),
    ],
)
def test_what_one_machine_cannot_give_stays_pending_and_is_told(tmp_path: Path, spec: Any, words: str) -> None:
    @simulated
    async def story() -> None:
        async with world(tmp_path) as here:
            await here.apply(claim(**spec), pod("p", claims=("data",)))
            await here.settled()
            assert (await here.get("PersistentVolumeClaim", "data")).status == {"phase": "Pending"}
            assert words in (await here.events("ProvisioningFailed"))[0]
            assert "unbound immediate" in (await here.events("FailedScheduling"))[0]
            assert here.directories() == []

    story()


@simulated
async def test_a_claim_that_asks_for_more_has_more(tmp_path: Path) -> None:
    """ST-5."""
    async with world(tmp_path) as here:
        await here.apply(claim())
        await here.settled()
        await here.edit("PersistentVolumeClaim", "data", spec={"resources": {"requests": {"storage": "5Gi"}}})
        await here.settled()
        found = await here.get("PersistentVolumeClaim", "data")
        assert found.status["capacity"] == {"storage": "5Gi"}
        assert (await here.get("PersistentVolume", found.spec["volumeName"])).spec["capacity"] == {"storage": "5Gi"}


@simulated
async def test_a_claim_waits_for_its_pod_and_then_goes_with_its_directory(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.apply(claim(), pod("p", claims=("data",)))
        await here.settled()
        (here.workloads.path(NAMESPACE, "data") / "thesis").write_text("years of work")
        await here.delete("PersistentVolumeClaim", "data")
        await here.settled()
        assert (await here.get("PersistentVolumeClaim", "data")).metadata.deletion_timestamp is not None
        assert len(here.directories()) == 1
        await here.delete("Pod", "p")
        await here.settled()
        assert await here.names("PersistentVolumeClaim") + await here.names("PersistentVolume") == []
        assert here.files() == [".trash"]


@simulated
async def test_a_claim_of_the_same_name_begins_empty(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.apply(claim())
        await here.settled()
        old = here.workloads.path(NAMESPACE, "data")
        (old / "file").touch()
        await here.delete("PersistentVolumeClaim", "data")
        await asyncio.sleep(1)
        await here.apply(claim())
        await here.settled()
        new = here.workloads.path(NAMESPACE, "data")
        assert new != old
        assert [*new.iterdir()] == []
        assert here.directories() == [new.name]


@simulated
async def test_who_says_retain_keeps_the_files(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.apply(claim())
        await here.settled()
        name = (await here.get("PersistentVolumeClaim", "data")).spec["volumeName"]
        await here.edit("PersistentVolume", name, spec={"persistentVolumeReclaimPolicy": "Retain"})
        await here.delete("PersistentVolumeClaim", "data")
        await here.settled()
        assert (await here.get("PersistentVolume", name)).status == {"phase": "Released"}
        assert len(here.directories()) == 1


@simulated
async def test_a_claim_that_went_while_nobody_looked_is_cleaned_up_at_the_next_start(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.apply(claim())
        await here.settled()
        await here.crash()
        await here.edit("PersistentVolumeClaim", "data", metadata={"finalizers": None})
        await here.delete("PersistentVolumeClaim", "data")
        await here.apply(claim())
        [old] = here.directories()
        here.start()
        await here.settled()
        [new] = here.directories()
        assert old != new == here.workloads.path(NAMESPACE, "data").name
        assert len(await here.names("PersistentVolume")) == 1


@simulated
async def test_another_store_never_costs_the_files_of_the_first(tmp_path: Path) -> None:
    """What stands on disk and is not in the store belongs to somebody, until that store says otherwise."""
    async with world(tmp_path) as here:
        await here.apply(claim())
        await here.settled()
        before = here.directories()
    async with world(tmp_path) as there:
        await there.apply(claim("other"))
        await there.settled()
        assert set(before) < set(there.directories())


@simulated
async def test_what_was_thrown_away_halfway_is_thrown_away_wholly(tmp_path: Path) -> None:
    (tmp_path / ".trash/pvc-1/deep").mkdir(parents=True)
    async with world(tmp_path) as here:
        await here.settled()
        assert [*(tmp_path / ".trash").iterdir()] == []


@simulated
async def test_a_volume_that_lies_about_its_claim_reaches_nothing_else(tmp_path: Path) -> None:
    precious = tmp_path / "precious-uid"
    precious.mkdir()
    async with world(tmp_path / "claims") as here:
        claimed = {"namespace": "..", "name": "precious", "uid": "uid"}
        meta = {"name": "evil", "annotations": {"pv.kubernetes.io/provisioned-by": "penstock.io/directory"}}
        spec = {"persistentVolumeReclaimPolicy": "Delete", "claimRef": claimed}
        await here.apply({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": meta, "spec": spec})
        await asyncio.sleep(5)
        assert precious.is_dir()


@simulated
async def test_a_volume_that_somebody_deleted_is_noted_again(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.apply(claim())
        await here.settled()
        name = (await here.get("PersistentVolumeClaim", "data")).spec["volumeName"]
        await here.delete("PersistentVolume", name)
        await here.settled()
        assert await here.names("PersistentVolume") == [name]
        assert len(here.directories()) == 1


@simulated
async def test_a_namespace_takes_all_along(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": NAMESPACE}}
        elsewhere = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept", "namespace": "other"}}
        await here.apply(space, config, elsewhere, claim(), pod("p", claims=("data",)), deployment(replicas=2))
        await here.settled()
        assert (await here.get("Namespace", NAMESPACE)).status == {"phase": "Active"}
        here.engine.delays.stop = 5.0
        await here.delete("Namespace", NAMESPACE)
        await asyncio.sleep(3)
        assert (await here.get("Namespace", NAMESPACE)).status == {"phase": "Terminating"}
        await here.settled()
        for kind in ("Namespace", "Deployment", "ReplicaSet", "Pod", "PersistentVolumeClaim", "PersistentVolume"):
            assert await here.names(kind) == [], kind
        assert await here.names("ConfigMap") == ["kept"]
        assert here.directories() == []


@simulated
async def test_a_backup_waits_for_a_second_machine_and_says_so(tmp_path: Path) -> None:
    """Two that may not share a machine are looked at in the same moment, and still only one is given to it."""
    apart = {"labelSelector": {"matchLabels": {"app": "ctl"}}, "topologyKey": "kubernetes.io/hostname"}
    rule = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    async with world(tmp_path) as here:
        await here.workloads.ready.wait()
        await here.apply(*(pod(f"ctl-{n}", labels={"app": "ctl"}, affinity=rule) for n in range(3)))
        await here.settled()
        pods = (await here.all("Pod")).values()
        assert sorted(one.spec.get("nodeName", "") for one in pods) == ["", "", "here"]
        waiting = next(one for one in pods if not one.spec.get("nodeName"))
        [told] = waiting.status["conditions"]
        assert (told["type"], told["status"], told["reason"]) == ("PodScheduled", "False", "Unschedulable")
        assert told["message"] == "0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules."
        await here.delete("Pod", next(one.metadata.name for one in pods if one.spec.get("nodeName")))
        await here.settled()
        assert sorted(one.spec.get("nodeName", "") for one in (await here.all("Pod")).values()) == ["", "here"]


@simulated
async def test_a_cordon_lasts_over_a_restart_and_ends_with_uncordon(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.workloads.ready.wait()
        await here.store.patch(RESOURCES["Node"], "here", {"spec": {"unschedulable": True}})
        await here.crash()
        here.start()
        await here.apply(pod("p"))
        await here.settled()
        assert "unschedulable" in (await here.events("FailedScheduling"))[0]
        await here.store.patch(RESOURCES["Node"], "here", {"spec": {"unschedulable": None}})
        await here.settled()
        assert await here.ready() == ["p"]
