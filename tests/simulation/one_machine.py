"""A machine in virtual time: the real controllers over a store, and a played engine that starts and ends pods."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.api.objects import Json
from penstock.cluster.errors import Conflict, NotFound
from penstock.cluster.events import EVENTS
from penstock.cluster.informer import Informer
from penstock.cluster.port import Preconditions
from penstock.cluster.resources import Resource, Whole
from penstock.cluster.store import Store
from penstock.engine.workloads import kinds
from penstock.engine.workloads.runtime import Workloads

from .loop import clock, now
from .port import Port

MACHINE = "here"
NAMESPACE = "slurm"
RESOURCES: dict[str, Resource[Any]] = {
    one.kind: one.reading(Whole)
    for one in (
        kinds.PODS, kinds.CLAIMS, kinds.VOLUMES, kinds.MACHINES, kinds.NAMESPACES, kinds.STATEFUL_SETS,
        kinds.DEPLOYMENTS, kinds.REPLICA_SETS, kinds.REVISIONS, kinds.JOBS, EVENTS,
        Resource("", "v1", "configmaps", "ConfigMap", Whole),
    )
}  # fmt: skip


@dataclass(slots=True)
class Delays:
    """How slow pods are, in seconds."""

    start: float = 1.0
    stop: float = 0.5


class Engine:
    """Plays what runs pods: those with a machine get ready, those that leave go."""

    def __init__(self, store: Store) -> None:
        self.delays = Delays()
        self.broken: Callable[[Whole], bool] = lambda _pod: False
        """Whether a pod never gets ready."""
        self.pods: Informer[Whole] = Informer(store, RESOURCES["Pod"])
        self.most = self.least = 0
        """How many pods there were at most, and how many were ready at least, since `watch_bounds`."""
        self._store = store
        self._group: asyncio.TaskGroup | None = None
        self._lives: dict[tuple[str, bool], asyncio.Task[None]] = {}
        self.pods.subscribe(self._pod)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            await self.pods.run()

    def watch_bounds(self) -> None:
        """Begin to count."""
        self.most, self.least = self._staying(), self._ready()

    def _staying(self) -> int:
        return sum(pod.metadata.deletion_timestamp is None for pod in self.pods.all())

    def _ready(self) -> int:
        return sum(is_ready(pod) for pod in self.pods.all())

    def _pod(self, _: Whole | None, new: Whole | None) -> None:
        self.most, self.least = max(self.most, self._staying()), min(self.least, self._ready())
        if new is None or not new.spec.get("nodeName") or self._group is None:
            return
        key = (new.metadata.uid, new.metadata.deletion_timestamp is not None)
        if key not in self._lives:
            self._lives[key] = self._group.create_task(self._end(new) if key[1] else self._begin(new))

    async def _begin(self, pod: Whole) -> None:
        await asyncio.sleep(self.delays.start)
        if not self.broken(pod):
            await self.says(pod, "Running", ready=True)

    async def _end(self, pod: Whole) -> None:
        await asyncio.sleep(self.delays.stop)
        meta = pod.metadata
        with suppress(NotFound, Conflict):
            await self._store.delete(
                kinds.PODS, meta.name, namespace=meta.namespace, grace_seconds=0, only_if=Preconditions(uid=meta.uid)
            )

    async def says(self, pod: Whole, phase: str, *, ready: bool = False) -> None:
        """Have a pod be so."""
        meta, time = pod.metadata, clock().strftime("%Y-%m-%dT%H:%M:%SZ")
        condition = {"type": "Ready", "status": str(ready), "lastTransitionTime": time}
        status = {"phase": phase, "conditions": [{"type": "PodScheduled", "status": "True"}, condition]}
        with suppress(NotFound):
            await self._store.patch(
                kinds.PODS, meta.name, {"status": status}, namespace=meta.namespace, subresource="status"
            )


class World:
    """All there is."""

    def __init__(self, root: Path, group: asyncio.TaskGroup) -> None:
        numbers = itertools.count(1)
        self.root = root
        self.store = Store(clock=clock, uids=lambda: f"{next(numbers):08}-uid")
        self.engine = Engine(self.store)
        self._group = group
        self.start()

    def start(self) -> None:
        """Start the controllers."""
        self.port = Port(self.store, who="controllers")
        self.workloads = Workloads(self.port, claims_root=self.root, machine_name=MACHINE, now=clock)
        self.task = self._group.create_task(self.workloads.run())
        self.port.crash = self._end

    def _end(self) -> None:
        self.task.cancel()

    async def crash(self) -> None:
        """Let the controllers die at once."""
        self.port.down = True
        self.task.cancel()
        await asyncio.wait([self.task])

    async def apply(self, *bodies: Json) -> None:
        """What `kubectl apply` does."""
        for body in bodies:
            await self.store.apply(RESOURCES[body["kind"]], body, manager="kubectl")

    async def edit(self, kind: str, name: str, **patch: object) -> None:
        """What `kubectl edit` does."""
        await self.store.patch(RESOURCES[kind], name, dict(patch), namespace=_place(kind))

    async def delete(self, kind: str, name: str) -> None:
        """What `kubectl delete` does."""
        await self.store.delete(RESOURCES[kind], name, namespace=_place(kind))

    async def get(self, kind: str, name: str) -> Whole:
        """One object."""
        found: Whole = await self.store.get(RESOURCES[kind], name, _place(kind))
        return found

    async def all(self, kind: str) -> dict[str, Whole]:
        """All objects of a kind, by name."""
        found = await self.store.list(RESOURCES[kind])
        return {one.metadata.name: one for one in found.items}

    async def names(self, kind: str = "Pod") -> list[str]:
        """The names of all objects of a kind."""
        return sorted(await self.all(kind))

    async def ready(self) -> list[str]:
        """The names of all pods that are ready and stay."""
        return sorted(name for name, pod in (await self.all("Pod")).items() if is_ready(pod))

    async def settled(self, *, quiet: float = 5.0, within: float = 300.0) -> None:
        """Let time pass until nothing has been written for a while."""
        began = now()
        while True:
            before = (await self.store.list(kinds.PODS)).resource_version
            await asyncio.sleep(quiet)
            if (await self.store.list(kinds.PODS)).resource_version == before:
                return
            assert now() - began < within, f"it does not settle: {self.port.counted(now() - quiet)}"

    def directories(self) -> list[str]:
        """What is on disk."""
        return sorted(one.name for one in self.root.glob(f"{NAMESPACE}/*"))

    def files(self) -> list[str]:
        """Everything below the root of claims."""
        return sorted(str(one.relative_to(self.root)) for one in self.root.rglob("*"))

    async def events(self, reason: str) -> list[str]:
        """What was told."""
        found = await self.store.list(EVENTS.reading(_Event))
        return [one.note for one in found.items if one.reason == reason]


class _Event(Whole, frozen=True):
    reason: str = ""
    note: str = ""


def _place(kind: str) -> str:
    return NAMESPACE if RESOURCES[kind].namespaced else ""


@asynccontextmanager
async def world(root: Path) -> AsyncIterator[World]:
    """A machine that ends with the block."""
    async with asyncio.TaskGroup() as group:
        here = World(root, group)
        engine = group.create_task(here.engine.run())
        try:
            yield here
        finally:
            engine.cancel()
            here.task.cancel()
    await here.store.close()


def is_ready(pod: Whole) -> bool:
    """Whether a pod is ready, and stays."""
    told = any(one["type"] == "Ready" and one["status"] == "True" for one in pod.status.get("conditions") or [])
    return told and pod.metadata.deletion_timestamp is None


def template(app: str, image: str = "one", **spec: Any) -> Json:
    """A pod template."""
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": [{"name": "main", "image": image}], **spec}}


def _workload(kind: str, name: str, replicas: int, image: str, spec: Json) -> Json:
    selector = {"matchLabels": {"app": name}}
    return {
        "apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"replicas": replicas, "selector": selector, "template": template(name, image), **spec},
    }  # fmt: skip


def stateful_set(name: str = "web", *, replicas: int = 3, image: str = "one", **spec: Any) -> Json:
    """A StatefulSet."""
    return _workload("StatefulSet", name, replicas, image, {"serviceName": name, **spec})


def deployment(name: str = "api", *, replicas: int = 3, image: str = "one", **spec: Any) -> Json:
    """A Deployment."""
    return _workload("Deployment", name, replicas, image, spec)


def claim(name: str = "data", *, size: str = "1Gi", **spec: Any) -> Json:
    """A claim."""
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **spec}
    return {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": wanted,
    }  # fmt: skip


def claim_template(name: str = "data", size: str = "1Gi") -> Json:
    """A template of claims."""
    return {"metadata": {"name": name}, "spec": claim(size=size)["spec"]}


def pod(name: str, *, claims: tuple[str, ...] = (), labels: dict[str, str] | None = None, **spec: Any) -> Json:
    """A pod."""
    volumes = [{"name": one, "persistentVolumeClaim": {"claimName": one}} for one in claims]
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels or {}},
        "spec": {"containers": [{"name": "main", "image": "one"}], "volumes": volumes, **spec},
    }  # fmt: skip
