"""The same manifests, given to our controllers and to Kubernetes' own, come to the same pods, owners and statuses.

Ours run in virtual time over the store; theirs are real, with fake nodes. Hashes are replaced by the number of the
revision that they stand for, and what is made by chance by a word; times and uids are left out.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.cluster.resources import Lean, Resource
from penstock.engine.workloads import kinds
from tests.simulation import one_machine
from tests.simulation.loop import simulate
from tests.simulation.one_machine import claim_template, deployment, stateful_set

from .control_plane import ControlPlane
from .operator_world import World

Json = dict[str, Any]
Step = list[Json]
"""What is applied, one after the other without waiting."""
_PATIENCE = 60.0
"""Seconds in which a real cluster has to come to it."""
_RESOURCES: dict[str, tuple[Resource[Any], str]] = {
    "Pod": (kinds.PODS, "api/v1"),
    "PersistentVolumeClaim": (kinds.CLAIMS, "api/v1"),
    "StatefulSet": (kinds.STATEFUL_SETS, "apis/apps/v1"),
    "Deployment": (kinds.DEPLOYMENTS, "apis/apps/v1"),
    "ReplicaSet": (kinds.REPLICA_SETS, "apis/apps/v1"),
    "ControllerRevision": (kinds.REVISIONS, "apis/apps/v1"),
}
_REVISION = "deployment.kubernetes.io/revision"
_CLASS = "by-hand"
_OF_ONE_BEFORE = re.compile(r'(ReplicaSet \\"anew-)<\d+>')
"""With Recreate Kubernetes sometimes has the new pods ready before it tells of the new ReplicaSet, and goes on to speak
of the one before. How often is a matter of chance; that it has progressed is not."""


class Seen(Lean, frozen=True):
    """An object of either side."""

    spec: Json = msgspec.field(default_factory=dict)
    status: Json = msgspec.field(default_factory=dict)
    revision: int = 0


Objects = dict[str, list[Seen]]


def _set(image: str, **more: Any) -> Json:
    template = claim_template()
    template["spec"]["storageClassName"] = _CLASS
    return stateful_set("web", image=image, volumeClaimTemplates=[template], **more)


def _two(image: str, *, replicas: int = 3, partition: int = 0) -> Step:
    rolls = {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}
    policy = {"whenScaled": "Delete", "whenDeleted": "Retain"}
    return [
        _set(image, replicas=replicas, updateStrategy=rolls, persistentVolumeClaimRetentionPolicy=policy),
        stateful_set("fast", image=image, replicas=replicas, podManagementPolicy="Parallel", revisionHistoryLimit=0),
        deployment("api", image=image, replicas=replicas, revisionHistoryLimit=1),
        deployment("anew", image=image, replicas=replicas, strategy={"type": "Recreate"}),
    ]


STORY: list[Step] = [
    _two("one"),
    _two("two"),
    _two("three", partition=1),
    _two("three", partition=1, replicas=2),
    # Without the one that recreates: back at an old template, Kubernetes goes on to speak of the ReplicaSet before.
    _two("one", replicas=2)[:3],
]


@pytest.mark.usefixtures("fake_nodes")
def test_the_same_comes_of_the_same_manifests(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> None:
    ours = simulate(_told_here(tmp_path))
    world = World(control_plane, namespace)
    _volumes(world)
    for step, expected in zip(STORY, ours, strict=True):
        world.applies(*(_elsewhere(body, namespace) for body in step))
        _eventually(lambda: _plain(_there(world)), expected)


async def _told_here(root: Path) -> list[Json]:
    """Tell the story to ours; what there is after each step."""
    found: list[Json] = []
    async with one_machine.world(root) as here:
        for step in STORY:
            await here.apply(*step)
            await here.settled()
            found.append(_plain(await _here(here.store.list)))
    return found


async def _here(listing: Callable[..., Awaitable[Any]]) -> Objects:
    return {kind: (await listing(one.reading(Seen))).items for kind, (one, _) in _RESOURCES.items()}


def _there(world: World) -> Objects:
    found: Objects = {}
    for kind, (resource, group) in _RESOURCES.items():
        status, listed = world.plane.request("GET", f"/{group}/namespaces/{world.namespace}/{resource.plural}")
        assert status == 200, listed
        found[kind] = [msgspec.convert(one, Seen) for one in listed["items"]]
    return found


def _elsewhere(body: Json, namespace: str) -> Json:
    return {**body, "metadata": {**body["metadata"], "namespace": namespace}}


def _volumes(world: World) -> None:
    """Kubernetes alone has no storage to give, so somebody made some."""
    for number in range(6):
        spec = {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": _CLASS,
            "hostPath": {"path": "/nowhere"},
        }  # fmt: skip
        meta = {"name": f"{world.namespace}-{number}"}
        body = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": meta, "spec": spec}
        status, answer = world.plane.request("POST", "/api/v1/persistentvolumes", body)
        assert status == 201, answer


def _eventually(found: Callable[[], Json], expected: Json) -> None:
    end = time.monotonic() + _PATIENCE
    while (there := found()) != expected and time.monotonic() < end:
        time.sleep(0.2)
    differences = {kind: (there[kind], expected[kind]) for kind in expected if there[kind] != expected[kind]}
    assert not differences, json.dumps(differences, indent=1)


def _plain(objects: Objects) -> Json:
    """Objects as both sides must have them."""
    sets = [one.metadata for one in objects["ReplicaSet"]]
    hashes = {one.labels["pod-template-hash"]: one.annotations.get(_REVISION, "") for one in sets}
    hashes |= {one.metadata.name.rpartition("-")[2]: str(one.revision) for one in objects["ControllerRevision"]}
    plain = {kind: sorted((_facts(kind, one) for one in found), key=json.dumps) for kind, found in objects.items()}
    text = json.dumps(plain, sort_keys=True)
    for digest, number in hashes.items():
        text = re.sub(rf"-{digest}-[a-z0-9]{{5}}\b", f"-<{number}>-<chance>", text)
        text = re.sub(rf"\b{digest}\b", f"<{number}>", text)
    text = _OF_ONE_BEFORE.sub(r"\1<any>", text)
    # Sorted once more: where a hash stands decides on the order.
    again: Json = json.loads(text)
    return {kind: sorted(found, key=json.dumps) for kind, found in again.items()}


def _facts(kind: str, one: Seen) -> Json:
    meta = one.metadata
    facts: Json = {
        "name": meta.name,
        "labels": dict(sorted(meta.labels.items())),
        "owners": [(ref.api_version, ref.kind, ref.name, ref.controller) for ref in meta.owner_references],
        "finalizers": list(meta.finalizers),
        "generation": meta.generation if kind in {"StatefulSet", "Deployment"} else 0,
        "revision": one.revision,
    }
    if kind in {"Deployment", "ReplicaSet"}:
        known = {name: text for name, text in meta.annotations.items() if "deployment." in name}
        facts["annotations"] = {name: text for name, text in known.items() if not name.endswith("/revision-history")}
    if kind == "Pod":
        facts |= {name: one.spec.get(name) for name in ("hostname", "subdomain")}
        # A real API server adds the token of the service account.
        facts["volumes"] = [volume for volume in one.spec.get("volumes", []) if "kube-api" not in volume["name"]]
        facts["image"] = one.spec["containers"][0]["image"]
        facts["phase"] = one.status["phase"]
        told = {condition["type"]: condition["status"] for condition in one.status.get("conditions", [])}
        facts |= {name: told.get(name) for name in ("PodScheduled", "Ready")}
    elif kind != "ControllerRevision":
        facts["status"] = _untimed(one.status)
        # In how many steps a ReplicaSet was scaled depends on how fast its pods were.
        facts["status"] |= {"observedGeneration": 0} if kind == "ReplicaSet" else {}
    if kind == "ReplicaSet":
        facts |= {"replicas": one.spec["replicas"], "selector": one.spec["selector"]}
    return facts


def _untimed(status: Json) -> Json:
    conditions = [
        {name: text for name, text in one.items() if not name.endswith("Time")} for one in status.get("conditions", [])
    ]
    kept = {name: part for name, part in status.items() if name not in {"conditions", "terminatingReplicas"}}
    return kept | {"conditions": sorted(conditions, key=lambda one: str(one["type"]))}
