"""Keeps as many pods of one template as a ReplicaSet asks for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import count

from penstock.api.objects import Json
from penstock.engine.workloads.children import Children, pod_from, spare_name
from penstock.engine.workloads.context import Context
from penstock.engine.workloads.kinds import REPLICA_SETS, Pod, ReplicaSet
from penstock.engine.workloads.stateful_plan import SHORT_LIFE

_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


class ReplicaSets:
    """The controller of ReplicaSets."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._children = Children(context, REPLICA_SETS)

    def forget(self, uid: str) -> None:
        """A ReplicaSet is gone."""
        self._children.forget(uid)

    async def look(self, namespace: str, name: str) -> float | None:
        """Do what is to be done for one of them; the seconds after which to look again, if time alone matters."""
        item = self._context.caches.replica_sets.get(name, namespace)
        if item is None:
            return None
        await self._children.sort_out(item, item.spec.selector)
        pods, now, again = self._children.of(item), self._context.now(), None
        if item.metadata.deletion_timestamp is None:
            await self._fit(item, pods)
            again = await self._tidy(item, pods, now)
        active = [pod for pod in pods if not pod.leaving and not pod.ended]
        await self._context.tell_status(REPLICA_SETS, item, item.status, _status(item, active, now))
        waits = [pod.available_in(item.spec.min_ready_seconds, now) for pod in active]
        return min((wait for wait in [*waits, again] if wait), default=None)

    async def _fit(self, item: ReplicaSet, pods: Sequence[Pod]) -> None:
        active = [pod for pod in pods if not pod.leaving and not pod.ended]
        taken = {pod.metadata.name for pod in pods}
        names = (name for number in count() if (name := spare_name(item, number)) not in taken)
        for _ in range(item.spec.replicas - len(active)):
            body = pod_from(item.spec.template, name=next(names), namespace=item.metadata.namespace)
            body["metadata"]["generateName"] = f"{item.metadata.name}-"
            await self._children.create(item, body)
        for pod in victims(active, len(active) - item.spec.replicas):
            await self._children.delete(item, pod, "scale-in")

    async def _tidy(self, item: ReplicaSet, pods: Sequence[Pod], now: datetime) -> float | None:
        """Delete what has ended. Kubernetes keeps up to 12,500 such pods around; one machine has no use for them."""
        waits: list[float] = []
        for pod in (pod for pod in pods if pod.ended and not pod.leaving):
            age = (now - datetime.fromisoformat(pod.metadata.creation_timestamp)).total_seconds()
            if age >= SHORT_LIFE:
                await self._children.delete(item, pod, f"it has ended: {pod.status.phase}")
            else:
                waits.append(SHORT_LIFE - age)
        return min(waits, default=None)


def victims(active: Sequence[Pod], surplus: int) -> list[Pod]:
    """The pods that cost the least to lose, in Kubernetes' order."""
    return sorted(active, key=_cost)[: max(0, surplus)]


def _cost(pod: Pod) -> tuple[bool, int, bool, int, _Newest, _Newest, str]:
    meta = pod.metadata
    return (
        bool(pod.spec.node_name),
        _PHASES.get(pod.status.phase, 1),
        pod.ready,
        _deletion_cost(pod),
        _Newest(pod.ready_since),
        _Newest(meta.creation_timestamp),
        meta.name,
    )


class _Newest(str):
    """A time that sorts backwards: who came last goes first."""

    __slots__ = ()

    def __lt__(self, other: str) -> bool:
        return str(self) > str(other)


def _deletion_cost(pod: Pod) -> int:
    try:
        return int(pod.metadata.annotations.get(_COST, "0"))
    except ValueError:
        return 0


def _status(item: ReplicaSet, active: Sequence[Pod], now: datetime) -> Json:
    template: Json = item.spec.template.get("metadata") or {}
    labels = (template.get("labels") or {}).items()
    ready = [pod for pod in active if pod.ready]
    counts = {
        "fullyLabeledReplicas": sum(labels <= pod.metadata.labels.items() for pod in active),
        "readyReplicas": len(ready),
        "availableReplicas": sum(pod.available(item.spec.min_ready_seconds, now) for pod in ready),
    }
    return {
        "replicas": len(active),
        **{name: count for name, count in counts.items() if count},
        "observedGeneration": item.metadata.generation,
    }
