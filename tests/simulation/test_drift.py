"""What somebody changes of ours is put back, what they delete is made again, what is theirs stays."""

from __future__ import annotations

import asyncio
import base64

import pytest

from penstock.api.objects import Json

from .loop import now, simulated
from .manifests import NODE_SET, Seen
from .world import cluster

SOON = 2.0
"""Seconds in which a change is put back."""
OURS: list[tuple[str, str, Json]] = [
    ("ConfigMap", "slurm-config", {"data": {"slurm.conf": "ClusterName=mine\n"}}),
    ("ConfigMap", "slurm-login-ssh-config", {"data": {"sshd_config": "PermitRootLogin yes\n"}}),
    ("Deployment", "slurm-login", {"spec": {"replicas": 3}}),
    ("Deployment", "slurm-restapi", {"spec": {"replicas": 0}}),
    ("PodDisruptionBudget", "slurm-workers-pdb-slurm", {"spec": {"maxUnavailable": 5}}),
    ("Secret", "slurm-accounting", {"data": {"slurmdbd.conf": base64.b64encode(b"DbdHost=me").decode()}}),
    ("Service", "slurm-accounting", {"spec": {"selector": {"app": "else"}}}),
    ("Service", "slurm-controller", {"spec": {"selector": {"app": "else"}}}),
    ("Service", "slurm-controller-internal", {"spec": {"clusterIP": "10.0.0.1"}}),
    ("Service", "slurm-login", {"spec": {"ports": None}}),
    ("Service", "slurm-restapi", {"metadata": {"labels": {"app.kubernetes.io/name": "else"}}}),
    ("Service", "slurm-workers-slurm", {"spec": {"publishNotReadyAddresses": False}}),
    ("StatefulSet", "slurm-accounting", {"spec": {"replicas": 2}}),
    ("StatefulSet", "slurm-controller", {"spec": {"template": {"spec": {"containers": []}}}}),
]
"""Every object that the operator applies, with a change to it that nobody should make."""


@pytest.mark.parametrize(
    ("kind", "name", "patch"),
    [pytest.param(*one, id=f"{one[0]}-{one[1]}") for one in OURS],
)
@simulated
async def test_what_somebody_changes_is_put_back_and_what_they_add_stays(kind: str, name: str, patch: Json) -> None:
    async with cluster() as (here, _):
        theirs = {"labels": {"example.org/team": "ours"}, "annotations": {"example.org/note": "mind"}}
        before = here.sight(kind, name)
        await here.edit(kind, name, metadata=theirs)
        await asyncio.sleep(SOON)
        await here.edit(kind, name, **patch)
        assert here.sight(kind, name).metadata != before.metadata
        await asyncio.sleep(SOON)
        after = here.sight(kind, name)
        assert _wish(after) == _wish(before)
        assert after.metadata.labels == before.metadata.labels | theirs["labels"]
        assert after.metadata.annotations == before.metadata.annotations | theirs["annotations"]
        await here.ready()


@simulated
async def test_an_entry_that_somebody_adds_to_a_config_map_stays() -> None:
    async with cluster() as (here, _):
        await here.edit("ConfigMap", "slurm-config", data={"theirs.conf": "a = b\n", "slurm.conf": "spoilt"})
        await asyncio.sleep(SOON)
        data = here.sight("ConfigMap", "slurm-config").data
        assert data["theirs.conf"] == "a = b\n"
        assert data["slurm.conf"].startswith("#") or "ClusterName=" in data["slurm.conf"]


@pytest.mark.parametrize(
    ("kind", "name"),
    [*((kind, name) for kind, name, _ in OURS), ("Secret", "admin-jwt-slurm"), ("Secret", "slurm-login-ssh-host-keys")],
)
@simulated
async def test_what_somebody_deletes_is_made_again(kind: str, name: str) -> None:
    async with cluster() as (here, _):
        before = here.sight(kind, name)
        await here.delete(kind, name)
        await here.until(lambda: _is_new(here.sight.get(kind, name), before), within=SOON, what=f"{kind} {name}")
        again = here.sight(kind, name)
        assert again.metadata.labels == before.metadata.labels
        assert [one.name for one in again.metadata.owner_references] == [
            one.name for one in before.metadata.owner_references
        ]
        if name not in {"admin-jwt-slurm", "slurm-login-ssh-host-keys"}:
            assert _wish(again) == _wish(before)
        await here.ready()


@simulated
async def test_a_worker_that_somebody_deletes_is_made_again() -> None:
    async with cluster() as (here, _):
        before = here.sight("Pod", f"{NODE_SET}-1")
        await here.delete("Pod", f"{NODE_SET}-1")
        await here.until(lambda: _is_new(here.sight.get("Pod", f"{NODE_SET}-1"), before), within=5)
        await here.ready()
        await here.until(lambda: here.sight("NodeSet", NODE_SET).status["slurmIdle"] == 2, within=40)


@simulated
async def test_putting_back_ends_where_two_managers_disagree_only_in_metadata_of_their_own() -> None:
    """Somebody who writes every second what is theirs does not make us write."""
    async with cluster() as (here, operator):
        await here.edit("StatefulSet", "slurm-controller", metadata={"annotations": {"example.org/at": "0"}})
        await asyncio.sleep(SOON)
        since = now()
        for number in range(20):
            await here.edit(
                "StatefulSet", "slurm-controller", metadata={"annotations": {"example.org/at": str(number)}}
            )
            await asyncio.sleep(1)
        assert operator.port.writes(since) == []


def _wish(item: Seen) -> tuple[Json, Json]:
    return item.spec, item.data


def _is_new(item: Seen | None, before: Seen) -> bool:
    return item is not None and item.metadata.uid != before.metadata.uid
