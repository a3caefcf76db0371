"""What every controller of workloads has at hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from penstock.api.objects import Json
from penstock.cluster.errors import NotFound
from penstock.cluster.events import Recorder
from penstock.cluster.index import owners
from penstock.cluster.informer import Informer
from penstock.cluster.port import Cluster
from penstock.cluster.resources import Lean, OwnerReference, Resource
from penstock.engine.workloads import kinds

Key = tuple[str, str, str]
"""Kind, namespace and name of an object to look at."""
Now = Callable[[], datetime]

OWNER, PENDING, MOUNTS = "owner", "pending", "mounts"
"""Indexes: by the controller's uid, or by namespace for those that have none; pods without a machine; claims used."""


def now_in_utc() -> datetime:
    """The time, for people."""
    return datetime.now(UTC)


def stamp(moment: datetime) -> str:
    """A time as Kubernetes writes it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def controller_of(item: Lean) -> OwnerReference | None:
    """Who manages an object, if anybody does."""
    return next((one for one in item.metadata.owner_references if one.controller), None)


def orphans_in(namespace: str) -> str:
    """Where the `OWNER` index has what nobody manages."""
    return f"in {namespace}"


def _by_controller(item: Lean) -> list[str]:
    controller = controller_of(item)
    return [controller.uid if controller else orphans_in(item.metadata.namespace)]


def _pending(pod: kinds.Pod) -> list[str]:
    waits = not pod.spec.node_name and not pod.leaving and not pod.ended
    return ["pending"] if waits else []


def _mounts(pod: kinds.Pod) -> list[str]:
    return [f"{pod.metadata.namespace}/{claim}" for claim in pod.claims]


class Caches:
    """What is known of the cluster."""

    def __init__(self, cluster: Cluster) -> None:
        pod_indexes = {OWNER: _by_controller, PENDING: _pending, MOUNTS: _mounts}
        self.pods = Informer(cluster, kinds.PODS, indexes=pod_indexes)
        self.claims = Informer(cluster, kinds.CLAIMS, indexes={OWNER: owners})
        self.volumes = Informer(cluster, kinds.VOLUMES)
        self.machines = Informer(cluster, kinds.MACHINES)
        self.namespaces = Informer(cluster, kinds.NAMESPACES)
        self.stateful_sets = Informer(cluster, kinds.STATEFUL_SETS)
        self.deployments = Informer(cluster, kinds.DEPLOYMENTS)
        self.replica_sets = Informer(cluster, kinds.REPLICA_SETS, indexes={OWNER: _by_controller})
        self.revisions = Informer(cluster, kinds.REVISIONS, indexes={OWNER: _by_controller})
        self.jobs = Informer(cluster, kinds.JOBS)

    @property
    def all(self) -> tuple[Informer[Any], ...]:
        """Those who have to be run."""
        return (
            self.pods, self.claims, self.volumes, self.machines, self.namespaces, self.stateful_sets,
            self.deployments, self.replica_sets, self.revisions, self.jobs,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The cluster, what is known of it, and somebody to tell."""

    cluster: Cluster
    caches: Caches
    events: Recorder
    now: Now = now_in_utc

    async def tell_status(self, resource: Resource[Any], item: Lean, said: Json, status: Json) -> None:
        """Write a status if it says something new; what it does not say any more goes."""
        if said == status:
            return
        meta = item.metadata
        gone = dict.fromkeys(said.keys() - status.keys())
        patch: Json = {"metadata": {"uid": meta.uid}, "status": {**status, **gone}}
        try:
            await self.cluster.patch(
                resource, meta.name, patch, namespace=meta.namespace, subresource="status", manager=kinds.MANAGER
            )
        except NotFound:
            return  # It went while we looked at it.


def reference(resource: Resource[Any], owner: Lean) -> Json:
    """An owner reference as a controller writes it."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": owner.metadata.name,
        "uid": owner.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
