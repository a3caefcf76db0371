"""The pods of a workload: which they are, how they are made, and how they go.

The watch is a little behind. A pod is therefore made under a name that a second look would choose again, and one that
we deleted counts as leaving before the watch says so; no look can make or delete a pod for the same reason twice.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec

from penstock.api.objects import Json
from penstock.cluster.errors import AlreadyExists, ClusterError, Conflict, NotFound, Refused
from penstock.cluster.port import Preconditions
from penstock.cluster.resources import Lean, Resource
from penstock.cluster.selectors import object_matcher
from penstock.engine.workloads.context import OWNER, Context, controller_of, orphans_in, reference
from penstock.engine.workloads.kinds import MANAGER, PODS, Pod
from penstock.engine.workloads.revisions import letters

_LEAVING_SINCE = "0001-01-01T00:00:00Z"
"""The time of a deletion that the watch has not shown yet."""


class NameTaken(ClusterError):
    """A pod of this name belongs to somebody else."""


class Children:
    """The pods of all workloads of one kind."""

    def __init__(self, context: Context, resource: Resource[Any]) -> None:
        self._context = context
        self._resource = resource
        self._deleted: dict[str, set[str]] = {}
        """By the owner's uid: pods that we deleted, as long as the watch shows them as staying."""

    def of(self, owner: Lean) -> list[Pod]:
        """The pods that belong to a workload; those that we deleted are leaving."""
        pods = list(self._context.caches.pods.by(OWNER, owner.metadata.uid))
        unseen = {pod.metadata.uid for pod in pods if not pod.leaving} & self._deleted.pop(owner.metadata.uid, set())
        if unseen:
            self._deleted[owner.metadata.uid] = unseen
        return [_leaving(pod) if pod.metadata.uid in unseen else pod for pod in pods]

    async def sort_out(self, owner: Lean, selector: Json, *, may_be: Callable[[Pod], bool] = lambda _: True) -> None:
        """Adopt pods that nobody manages and that the selector means; let go of those that it means no longer."""
        means, meta = object_matcher(selector), owner.metadata
        if meta.deletion_timestamp is not None or not selector:
            return
        free = self._context.caches.pods.by(OWNER, orphans_in(meta.namespace))
        ours = [pod for pod in free if means(pod.metadata.labels) and may_be(pod) and not pod.leaving]
        if ours and await self._is_there(owner):
            for pod in ours:
                await self._own(pod, [*_references(pod), reference(self._resource, owner)])
        for pod in list(self._context.caches.pods.by(OWNER, meta.uid)):
            if not means(pod.metadata.labels) and not pod.leaving:
                await self._own(pod, [one for one in _references(pod) if one["uid"] != meta.uid])

    async def _is_there(self, owner: Lean) -> bool:
        """Whether a workload still is what the watch shows: a pod that is given to one that is gone goes as well."""
        meta = owner.metadata
        try:
            now = await self._context.cluster.get(self._resource, meta.name, meta.namespace)
        except NotFound:
            return False
        return bool(now.metadata.uid == meta.uid and now.metadata.deletion_timestamp is None)

    async def create(self, owner: Lean, body: Json) -> None:
        """Make a pod, unless it is there."""
        body["metadata"]["ownerReferences"] = [reference(self._resource, owner)]
        name = body["metadata"]["name"]
        try:
            await self._context.cluster.create(PODS, body, manager=MANAGER)
        except AlreadyExists:
            self._refuse_foreign(owner, name)
        except Refused as error:
            self._context.events.warning(self._resource, owner, "FailedCreate", f"Error creating: {error}")
            raise
        else:
            self._context.events.normal(self._resource, owner, "SuccessfulCreate", f"Created pod: {name}")

    async def delete(self, owner: Lean, pod: Pod, why: str) -> None:
        """Delete a pod, if it is still the one that was meant."""
        meta = pod.metadata
        self._deleted.setdefault(owner.metadata.uid, set()).add(meta.uid)
        try:
            with suppress(NotFound):
                await self._context.cluster.delete(
                    PODS, meta.name, namespace=meta.namespace, only_if=Preconditions(uid=meta.uid)
                )
        except ClusterError:
            self._deleted[owner.metadata.uid].discard(meta.uid)
            raise
        self._context.events.normal(self._resource, owner, "SuccessfulDelete", f"Deleted pod: {meta.name} ({why})")

    def forget(self, owner_uid: str) -> None:
        """A workload is gone."""
        self._deleted.pop(owner_uid, None)

    def _refuse_foreign(self, owner: Lean, name: str) -> None:
        """One that the watch does not show yet was made by us a moment ago; another may be somebody else's."""
        there = self._context.caches.pods.get(name, owner.metadata.namespace)
        manager = controller_of(there) if there else None
        if there is None or (manager and manager.uid == owner.metadata.uid):
            return
        whose = f'{manager.kind} "{manager.name}"' if manager else "nobody that manages it"
        told = f'pod "{name}" is there already and belongs to {whose}; delete it, or rename one of the two'
        self._context.events.warning(self._resource, owner, "FailedCreate", told)
        raise NameTaken(told)

    async def _own(self, pod: Pod, references: list[Json]) -> None:
        meta = pod.metadata
        patch = {"metadata": {"resourceVersion": meta.resource_version, "ownerReferences": references}}
        with suppress(NotFound, Conflict):
            await self._context.cluster.patch(PODS, meta.name, patch, namespace=meta.namespace, manager=MANAGER)


def _leaving(pod: Pod) -> Pod:
    metadata = msgspec.structs.replace(pod.metadata, deletion_timestamp=_LEAVING_SINCE)
    return msgspec.structs.replace(pod, metadata=metadata)


def _references(pod: Pod) -> list[Json]:
    found: list[Json] = msgspec.to_builtins(pod.metadata.owner_references)
    return found


def pod_from(template: Json, *, name: str, namespace: str, labels: dict[str, str] | None = None) -> Json:
    """A pod as its template has it, with a name and with more labels."""
    meta: Json = template.get("metadata") or {}
    metadata: Json = {"name": name, "namespace": namespace, "labels": {**(meta.get("labels") or {}), **(labels or {})}}
    metadata |= {field: meta[field] for field in ("annotations", "finalizers") if meta.get(field)}
    return {"metadata": metadata, "spec": dict(template.get("spec") or {})}


def spare_name(owner: Lean, number: int) -> str:
    """The name of a pod that has no ordinal: Kubernetes makes them up, here the same number has the same name."""
    return f"{owner.metadata.name[:57]}-{letters(f'{owner.metadata.uid}/{number}'.encode(), 5)}"
