"""Gives pods that have no machine to this one, or says why they have to wait."""

from __future__ import annotations

from contextlib import suppress

from penstock.api.objects import Json
from penstock.cluster.errors import ClusterError, NotFound, Refused
from penstock.engine.workloads.context import PENDING, Context, stamp
from penstock.engine.workloads.fitness import refusal
from penstock.engine.workloads.kinds import PODS, Pod

SCHEDULER = "kube-scheduler"


class Scheduler:
    """Gives pods to this machine, or says why they have to wait."""

    def __init__(self, context: Context, machine: str) -> None:
        self._context = context
        self._machine = machine
        self._given: dict[str, Pod] = {}
        """Pods that we gave to this machine, by uid, as long as the watch does not show them there."""

    async def look(self, namespace: str, name: str) -> None:
        """Decide about a pod that has no machine."""
        pod = self._context.caches.pods.get(name, namespace)
        if pod is None or pod.spec.node_name or pod.leaving or pod.ended:
            return
        why = self._trouble(pod)
        if why:
            await self._refuse(pod, why)
            return
        # Before anything is awaited: another pod, looked at meanwhile, may not want to be beside this one.
        self._given[pod.metadata.uid] = pod
        try:
            await self._bind(pod)
        except ClusterError:
            self._given.pop(pod.metadata.uid, None)
            raise

    async def _bind(self, pod: Pod) -> None:
        meta = pod.metadata
        patch = {"metadata": {"uid": meta.uid}, "spec": {"nodeName": self._machine}}
        with suppress(NotFound):
            await self._context.cluster.patch(PODS, meta.name, patch, namespace=meta.namespace, manager=SCHEDULER)
            await self._tell(pod, {"type": "PodScheduled", "status": "True"})
        told = f"Successfully assigned {meta.namespace}/{meta.name} to {self._machine}"
        self._context.events.normal(PODS, pod, "Scheduled", told)

    def pending(self) -> list[tuple[str, str]]:
        """Namespace and name of all that wait."""
        return [(pod.metadata.namespace, pod.metadata.name) for pod in self._context.caches.pods.by(PENDING, "pending")]

    def _trouble(self, pod: Pod) -> str:
        machine = self._context.caches.machines.get(self._machine)
        if machine is None:
            return f'machine "{self._machine}" is not registered'
        here = self._here()
        claims = self._context.caches.claims
        mounted = {name: claims.get(name, pod.metadata.namespace) for name in pod.claims}
        return refusal(pod, machine, here, mounted)

    def _here(self) -> list[Pod]:
        """All that runs on this machine, or is about to."""
        waiting = {one.metadata.uid for one in self._context.caches.pods.by(PENDING, "pending")}
        self._given = {uid: pod for uid, pod in self._given.items() if uid in waiting}
        shown = [one for one in self._context.caches.pods.all() if one.spec.node_name == self._machine]
        return [*shown, *self._given.values()]

    async def _refuse(self, pod: Pod, why: str) -> None:
        gated = bool(pod.spec.scheduling_gates)
        message = why if gated else f"0/1 nodes are available: {why}."
        reason = "SchedulingGated" if gated else "Unschedulable"
        with suppress(NotFound):
            await self._tell(pod, {"type": "PodScheduled", "status": "False", "reason": reason, "message": message})
        if not gated:
            self._context.events.warning(PODS, pod, "FailedScheduling", message)

    async def _tell(self, pod: Pod, condition: Json) -> None:
        """Write the condition, if it is news, beside those of others."""
        said = next((one for one in pod.status.conditions if one.type == "PodScheduled"), None)
        if said and all(getattr(said, name) == condition.get(name, "") for name in ("status", "reason", "message")):
            return
        meta = pod.metadata
        timed = {**condition, "lastTransitionTime": stamp(self._context.now())}
        body = {
            "metadata": {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid},
            "status": {"conditions": [timed]},
        }
        try:
            await self._context.cluster.apply_status(PODS, body, manager=SCHEDULER)
        except Refused as error:
            if "metadata.uid" not in str(error):
                raise
            # Made anew while we decided: the new one is looked at for its own sake.
