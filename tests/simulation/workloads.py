"""A model of the StatefulSet and Deployment controllers.

Simpler than the real ones where nobody can tell: pods of a Deployment belong to it directly, and readiness is all that
a roll waits for.
"""

from __future__ import annotations

import asyncio
import hashlib
from contextlib import suppress
from typing import Any

import msgspec

from penstock.api.objects import Json
from penstock.cluster.errors import AlreadyExists, NotFound
from penstock.cluster.port import Cluster
from penstock.cluster.resources import Resource, Whole
from penstock.operator.resources import CLAIMS, DEPLOYMENTS, PODS, STATEFUL_SETS

from .sight import Sight

REVISION = "controller-revision-hash"
_LATENCY = 0.05
"""Seconds before the controllers look at what changed."""


class Workloads:
    """Keeps pods and statuses of workloads as their templates say."""

    def __init__(self, store: Cluster, sight: Sight) -> None:
        self._store = store
        self._pods, self._sets, self._deployments = (sight.views[kind] for kind in ("Pod", "StatefulSet", "Deployment"))
        self._news = asyncio.Event()
        self._pods.subscribe(self._pod)
        for view in (self._sets, self._deployments):
            view.subscribe(lambda _old, _new: self._news.set())

    def _pod(self, old: Whole | None, new: Whole | None) -> None:
        pod = new or old
        if pod is not None and any(one.api_version == "apps/v1" for one in pod.metadata.owner_references):
            self._news.set()

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            await asyncio.sleep(_LATENCY)
            for one in list(self._sets.all()):
                await self._stateful_set(one)
            for one in list(self._deployments.all()):
                await self._deployment(one)

    async def _stateful_set(self, one: Whole) -> None:
        revision, wanted = _revision(one), int(one.spec.get("replicas", 1))
        there = {int(pod.metadata.name.rpartition("-")[2]): pod for pod in self._of(one)}
        missing = [ordinal for ordinal in range(wanted) if ordinal not in there]
        stale = [pod for _, pod in sorted(there.items()) if pod.metadata.labels.get(REVISION) != revision]
        if missing:
            await self._claims(one, missing[0])
            await self._create(one, f"{one.metadata.name}-{missing[0]}", revision)
        elif len(there) > wanted:
            await self._delete(there[max(there)])
        elif stale and all(is_ready(pod) for pod in there.values()):
            await self._delete(stale[-1])
        await self._tell(STATEFUL_SETS, one, list(there.values()), revision)

    async def _deployment(self, one: Whole) -> None:
        revision, wanted = _revision(one), int(one.spec.get("replicas", 1))
        there = [pod for pod in self._of(one) if not pod.metadata.deletion_timestamp]
        new = [pod for pod in there if pod.metadata.labels.get(REVISION) == revision]
        old = [pod for pod in there if pod not in new]
        for number in range(wanted):
            name = f"{one.metadata.name}-{revision[:6]}-{number}"
            if all(pod.metadata.name != name for pod in new):
                await self._create(one, name, revision)
        spare = len(old) + sum(map(is_ready, new)) - wanted
        for pod in [*old, *sorted(new, key=lambda pod: pod.metadata.name)[wanted:]][: max(spare, 0)]:
            await self._delete(pod)
        await self._tell(DEPLOYMENTS, one, there, revision)

    def _of(self, owner: Whole) -> list[Whole]:
        uid = owner.metadata.uid
        return [pod for pod in self._pods.all() if any(one.uid == uid for one in pod.metadata.owner_references)]

    async def _create(self, owner: Whole, name: str, revision: str) -> None:
        template, meta = owner.spec["template"], owner.metadata
        kind = "StatefulSet" if self._sets.get(meta.name, meta.namespace) is owner else "Deployment"
        reference = {"apiVersion": "apps/v1", "kind": kind, "name": meta.name, "uid": meta.uid, "controller": True}
        metadata = {
            "name": name, "namespace": meta.namespace, "ownerReferences": [reference],
            "labels": {**template["metadata"]["labels"], REVISION: revision},
            "annotations": template["metadata"].get("annotations", {}),
        }  # fmt: skip
        with suppress(AlreadyExists):
            await self._store.create(
                PODS, {"metadata": metadata, "spec": template["spec"]}, manager="kube-controller-manager"
            )

    async def _claims(self, owner: Whole, ordinal: int) -> None:
        for template in owner.spec.get("volumeClaimTemplates", ()):
            name = f"{template['metadata']['name']}-{owner.metadata.name}-{ordinal}"
            metadata = {**template["metadata"], "name": name, "namespace": owner.metadata.namespace}
            with suppress(AlreadyExists):
                await self._store.create(CLAIMS, {"metadata": metadata, "spec": template["spec"]}, manager="kcm")

    async def _delete(self, pod: Whole) -> None:
        with suppress(NotFound):
            await self._store.delete(PODS, pod.metadata.name, namespace=pod.metadata.namespace)

    async def _tell(self, resource: Resource[Any], one: Whole, pods: list[Whole], revision: str) -> None:
        ready = sum(map(is_ready, pods))
        status = {
            "observedGeneration": one.metadata.generation, "replicas": len(pods), "readyReplicas": ready,
            "availableReplicas": ready,
            "updatedReplicas": sum(pod.metadata.labels.get(REVISION) == revision for pod in pods),
        }  # fmt: skip
        if any(one.status.get(name, 0) != value for name, value in status.items()):
            with suppress(NotFound):
                await self._store.patch(
                    resource, one.metadata.name, {"status": status}, namespace=one.metadata.namespace,
                    subresource="status", manager="kube-controller-manager",
                )  # fmt: skip


def is_ready(pod: Whole) -> bool:
    """Whether a pod is ready, and stays."""
    conditions: list[Json] = pod.status.get("conditions") or []
    told = any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
    return told and not pod.metadata.deletion_timestamp


def _revision(one: Whole) -> str:
    return hashlib.sha256(msgspec.json.encode(one.spec["template"], order="sorted")).hexdigest()[:10]
