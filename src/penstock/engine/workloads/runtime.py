"""All controllers of one machine around one queue: what changed says whom to look at, a look decides from what is."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from penstock.cluster.errors import Conflict, NotFound
from penstock.cluster.events import Recorder
from penstock.cluster.groups import TaskGroup
from penstock.cluster.informer import Listener
from penstock.cluster.port import Cluster
from penstock.cluster.queue import WorkQueue
from penstock.cluster.resources import Lean
from penstock.engine import node
from penstock.engine.claims import Claims
from penstock.engine.workloads.context import Caches, Context, Key, Now, controller_of, now_in_utc
from penstock.engine.workloads.deployment import Deployments
from penstock.engine.workloads.job import Jobs
from penstock.engine.workloads.kinds import Machine, Pod, Volume
from penstock.engine.workloads.namespaces import Namespaces
from penstock.engine.workloads.replica_set import ReplicaSets
from penstock.engine.workloads.scheduler import Scheduler
from penstock.engine.workloads.stateful_set import StatefulSets

_LOG = logging.getLogger(__name__)
_WORKERS = 4
_BEHIND = 0.1
"""Seconds before another look at what somebody else changed meanwhile."""
Look = Callable[[str, str], Awaitable[float | None]]
"""Looks at an object by namespace and name; tells when to look again."""


class Workloads:
    """What kube-controller-manager and kube-scheduler do, for one machine. `run` it until it is cancelled."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        claims_root: Path,
        machine_name: str,
        machine_address: str = "",
        now: Now = now_in_utc,
    ) -> None:
        self.machine = machine_name
        self.caches = Caches(cluster)
        self.queue: WorkQueue[Key] = WorkQueue()
        self.events = Recorder(cluster, component="penstock-engine", instance=self.machine, now=now)
        self.ready = asyncio.Event()
        """Set when the machine is registered and everything that was there is known."""
        self._cluster = cluster
        self._root = claims_root
        self._address = machine_address
        self._now = now
        context = Context(cluster=cluster, caches=self.caches, events=self.events, now=now)
        self._claims = Claims(context, claims_root)
        self._scheduler = Scheduler(context, self.machine)
        self._looks = self._looks_of(context)
        self._subscribe()

    def path(self, namespace: str, claim: str) -> Path:
        """The directory of a claim; `NotYet`, with the reason, while it has none."""
        return self._claims.path(namespace, claim)

    async def run(self) -> None:
        """Work until cancelled."""
        await self._claims.prepare()
        await node.register(
            self._cluster, self.machine, address=self._address, storage=self._root, now=self._now()
        )  # fmt: skip
        async with TaskGroup() as group:
            tasks = [group.create_task(informer.run()) for informer in self.caches.all]
            tasks.append(group.create_task(self.events.run()))
            for informer in self.caches.all:
                await informer.synced.wait()
            self.ready.set()
            try:
                await self.queue.run(self._work, workers=_WORKERS)
            finally:
                for task in tasks:
                    task.cancel()

    def stop(self) -> None:
        """Begin nothing more; `run` ends when what is in hand is done."""
        self.queue.stop()

    async def _work(self, key: Key) -> None:
        kind, namespace, name = key
        try:
            again = await self._looks[kind](namespace, name)
        except (Conflict, NotFound) as error:
            # We decided on something that has changed, or gone, since; the watch is about to show that.
            _LOG.debug("%s: %s", key, error)
            again = _BEHIND
        if again is not None:
            self.queue.add_after(key, again)

    def _looks_of(self, context: Context) -> dict[str, Look]:
        stateful_sets, replica_sets, jobs = StatefulSets(context), ReplicaSets(context), Jobs(context)
        for informer, controller in (
            (self.caches.stateful_sets, stateful_sets),
            (self.caches.replica_sets, replica_sets),
            (self.caches.jobs, jobs),
        ):
            informer.subscribe(_forgetting(controller.forget))
        return {
            "StatefulSet": stateful_sets.look,
            "ReplicaSet": replica_sets.look,
            "Deployment": Deployments(context).look,
            "Job": jobs.look,
            "Namespace": Namespaces(context).look,
            "PersistentVolumeClaim": _timeless(self._claims.look),
            "PersistentVolume": _timeless(self._claims.look_at_volume),
            "Pod": _timeless(self._scheduler.look),
        }

    def _subscribe(self) -> None:
        for informer in self.caches.all:
            kind = informer.resource.kind
            if kind in self._looks:
                informer.subscribe(self._noting(kind))
        self.caches.pods.subscribe(self._pod)
        self.caches.claims.subscribe(self._claim)
        self.caches.replica_sets.subscribe(self._owned)
        self.caches.machines.subscribe(self._machine)
        self.caches.volumes.subscribe(self._volume)

    def _noting(self, kind: str) -> Listener[Any]:
        def listen(_: Lean | None, new: Lean | None) -> None:
            if new is not None:
                self.queue.add((kind, new.metadata.namespace, new.metadata.name))

        return listen

    def _owned(self, old: Lean | None, new: Lean | None) -> None:
        """Whoever manages an object, or did, has to know; and, when nobody does, whoever could."""
        for item in (old, new):
            owner = controller_of(item) if item else None
            if item and owner and owner.kind in self._looks:
                self.queue.add((owner.kind, item.metadata.namespace, owner.name))

    def _pod(self, old: Pod | None, new: Pod | None) -> None:
        self._owned(old, new)
        for pod in (one for one in (old, new) if one):
            for claim in pod.claims:
                self.queue.add(("PersistentVolumeClaim", pod.metadata.namespace, claim))
        if new is None and old is not None:
            self._rolled(old)
        if new is not None and controller_of(new) is None and not new.leaving:
            self._orphaned(new)
        if new is None or new.ended or (old and old.metadata.labels != new.metadata.labels):
            self._reconsider()

    def _rolled(self, pod: Pod) -> None:
        """A Deployment that recreates its pods waits until the last one is gone, and its ReplicaSet does not tell."""
        owner = controller_of(pod)
        above = self.caches.replica_sets.get(owner.name, pod.metadata.namespace) if owner else None
        self._owned(None, above)

    def _orphaned(self, pod: Pod) -> None:
        """A pod without a manager may be adopted."""
        for informer in (self.caches.stateful_sets, self.caches.replica_sets):
            for item in informer.all():
                if item.metadata.namespace == pod.metadata.namespace:
                    self.queue.add((informer.resource.kind, item.metadata.namespace, item.metadata.name))

    def _claim(self, old: Lean | None, new: Lean | None) -> None:
        """Pods wait for their claims, and StatefulSets for old ones to be gone; a volume outlives its claim."""
        self._reconsider()
        if new is None and old is not None:
            self.queue.add(("PersistentVolume", "", f"pvc-{old.metadata.uid}"))
            for item in self.caches.stateful_sets.all():
                if item.metadata.namespace == old.metadata.namespace:
                    self.queue.add(("StatefulSet", item.metadata.namespace, item.metadata.name))

    def _volume(self, old: Volume | None, new: Volume | None) -> None:
        """A claim has to know of its volume, and of its end: somebody may have deleted it by hand."""
        item = new or old
        claimed = (item.spec.get("claimRef") or {}) if item else {}
        if claimed:
            self.queue.add(("PersistentVolumeClaim", claimed.get("namespace", ""), claimed.get("name", "")))

    def _machine(self, _: Machine | None, new: Machine | None) -> None:
        if new is not None and new.metadata.name == self.machine:
            self._reconsider()

    def _reconsider(self) -> None:
        """Pods that wait for a machine may have a chance now."""
        for namespace, name in self._scheduler.pending():
            self.queue.add(("Pod", namespace, name))


def _timeless(look: Callable[[str, str], Awaitable[None]]) -> Look:
    async def looked(namespace: str, name: str) -> float | None:
        await look(namespace, name)
        return None

    return looked


def _forgetting(forget: Callable[[str], None]) -> Listener[Any]:
    def listen(old: Lean | None, new: Lean | None) -> None:
        if old is not None and new is None:
            forget(old.metadata.uid)

    return listen
