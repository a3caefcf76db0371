"""A model of Kubernetes over the store: scheduler and kubelet here, the controllers of workloads in `workloads`.

What it does it does late, as the real ones do, and through the store's own doors. The garbage collector is the store's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from penstock.api.objects import Json
from penstock.cluster.errors import Conflict, NotFound
from penstock.cluster.port import Cluster, Preconditions
from penstock.cluster.resources import Whole
from penstock.operator.resources import JOBS, PODS

from .loop import clock
from .sight import Sight
from .workloads import Workloads, is_ready


@dataclass(slots=True)
class Delays:
    """How slow Kubernetes is, in seconds. May be changed while it runs."""

    schedule: float = 0.2
    start: float = 0.7
    """Until a pod runs."""
    ready: float = 0.3
    """From then on, until it is ready."""
    stop: float = 0.5
    orphan: float = 40.0
    """Until pods of a machine that is no more are removed."""
    job: float | None = 2.0
    """Until a Job is done; None: it never is."""


class Kubernetes:
    """Brings pods to life, and lets them go."""

    def __init__(self, store: Cluster, sight: Sight) -> None:
        self.delays = Delays()
        self.on_started: list[Callable[[Whole], None]] = []
        """Told of each pod that runs from now on; it is not ready yet."""
        self.on_ready: list[Callable[[Whole], None]] = []
        self.on_leaving: list[Callable[[Whole], None]] = []
        self.on_gone: list[Callable[[Whole], None]] = []
        self.on_machine_lost: list[Callable[[Whole], None]] = []
        """Told of each pod whose machine is no more; the pod itself stays for a while."""
        self.mountable: Callable[[Whole], bool] = lambda _pod: True
        """Whether all that a pod mounts is there; it starts only then."""
        self.full = False
        """No machine has room for another pod."""
        self.pods = sight.views["Pod"]
        self._store = store
        self._workloads = Workloads(store, sight)
        self._machines = sight.views["Node"]
        self._lives: dict[str, tuple[asyncio.Task[None], asyncio.Event]] = {}
        self._group: asyncio.TaskGroup | None = None
        self._placed = 0
        self.pods.subscribe(self._pod)
        self._machines.subscribe(self._machine)
        sight.views["Job"].subscribe(self._job)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            await self._workloads.run()
            await asyncio.Event().wait()  # the group must not end while pods may come

    def _pod(self, old: Whole | None, new: Whole | None) -> None:
        if new is None:
            assert old is not None
            self._gone(old)
            return
        if new.metadata.uid not in self._lives and self._group is not None:
            leaving = asyncio.Event()
            life = self._group.create_task(self._live(new, leaving))
            self._lives[new.metadata.uid] = (life, leaving)
        if new.metadata.deletion_timestamp and not (old and old.metadata.deletion_timestamp):
            self._lives[new.metadata.uid][1].set()
            _tell(self.on_leaving, new)

    def _job(self, _old: Whole | None, new: Whole | None) -> None:
        if new is not None and self._group is not None and not new.spec.get("suspend") and not new.status:
            self._group.create_task(self._work(new))

    async def _work(self, job: Whole) -> None:
        if self.delays.job is None:
            return
        await asyncio.sleep(self.delays.job)
        done = {"type": "Complete", "status": "True", "lastTransitionTime": clock().strftime("%Y-%m-%dT%H:%M:%SZ")}
        name, namespace, status = job.metadata.name, job.metadata.namespace, {"status": {"conditions": [done]}}
        with suppress(NotFound):
            await self._store.patch(JOBS, name, status, namespace=namespace, subresource="status", manager="jobs")

    def _machine(self, old: Whole | None, new: Whole | None) -> None:
        if new is None and old is not None and self._group is not None:
            for pod in self._on(old.metadata.name):
                _tell(self.on_machine_lost, pod)
            self._group.create_task(self._collect(old.metadata.name))
        if old is None and new is not None and self._group is not None:
            for pod in self._on(new.metadata.name):
                self._group.create_task(self._found_again(pod))

    def _on(self, machine: str) -> list[Whole]:
        return [pod for pod in self.pods.all() if pod.spec.get("nodeName") == machine]

    async def _collect(self, machine: str) -> None:
        await asyncio.sleep(self.delays.orphan)
        for pod in self._on(machine):
            if not self._has_kubelet(pod):
                await self._delete(pod)

    async def _found_again(self, pod: Whole) -> None:
        """A kubelet begins, and finds a pod of before: it is started anew, or ended as it was told."""
        with suppress(NotFound):
            if pod.metadata.deletion_timestamp:
                await self._end(pod)
            elif self._is_well(pod):
                await self._ready(pod, "False")
                await asyncio.sleep(self.delays.start)
                await self._start(pod)

    def _gone(self, pod: Whole) -> None:
        life, _ = self._lives.pop(pod.metadata.uid)
        if not pod.metadata.deletion_timestamp:
            _tell(self.on_leaving, pod)
        _tell(self.on_gone, pod)
        life.cancel()

    async def _live(self, pod: Whole, leaving: asyncio.Event) -> None:
        with suppress(NotFound):
            if not await self._leaves_within(leaving, self.delays.schedule) and await self._bind(pod, leaving):
                if not await self._leaves_within(leaving, self.delays.start) and await self._mount(pod, leaving):
                    await self._ready(pod, "False")
                    await self._start(pod)
                await leaving.wait()
            if self._has_kubelet(pod):
                await self._end(pod)

    async def _start(self, pod: Whole) -> None:
        """What runs in a pod begins, and answers a moment later, if it is still there by then."""
        if self._is_well(pod):
            _tell(self.on_started, pod)
            await self._leaves_within(self._lives[pod.metadata.uid][1], self.delays.ready)
        if self._is_well(pod):
            await self._ready(pod, "True")
            _tell(self.on_ready, pod)

    async def _bind(self, pod: Whole, leaving: asyncio.Event) -> bool:
        """Give the pod a machine; false when it is deleted before there is one."""
        while (machine := self._machine_for(pod)) is None:
            refused = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}
            await self._tell_status(pod, {"phase": "Pending", "conditions": [refused]})
            if await self._leaves_within(leaving, 1.0):
                return False
        await self._store.patch(
            PODS, pod.metadata.name, {"spec": {"nodeName": machine}}, namespace=pod.metadata.namespace,
            manager="kube-scheduler",
        )  # fmt: skip
        return True

    async def _mount(self, pod: Whole, leaving: asyncio.Event) -> bool:
        while not self.mountable(pod) or not self._has_kubelet(pod):
            if await self._leaves_within(leaving, 1.0):
                return False
        return True

    def _has_kubelet(self, pod: Whole) -> bool:
        """Whether somebody starts and ends what is on the pod's machine; one that has none yet needs nobody."""
        now = self.pods.get(pod.metadata.name, pod.metadata.namespace)
        machine = now.spec.get("nodeName") if now else None
        return not machine or self._machines.get(machine) is not None

    def _machine_for(self, pod: Whole) -> str | None:
        names = sorted(machine.metadata.name for machine in self._machines.all() if _takes(machine.spec, pod.spec))
        meant = meant_for(pod.spec)
        self._placed += 1
        if self.full or not names or (meant and meant not in names):
            return None
        return meant or names[self._placed % len(names)]

    async def _ready(self, pod: Whole, status: str) -> None:
        since = clock().strftime("%Y-%m-%dT%H:%M:%SZ")
        conditions = [
            {"type": "PodScheduled", "status": "True"},
            {"type": "Ready", "status": status, "lastTransitionTime": since},
        ]
        await self._tell_status(pod, {"phase": "Running", "conditions": [*conditions, *self._said_by_others(pod)]})

    def _said_by_others(self, pod: Whole) -> list[Json]:
        """Conditions that are none of kubelet's: it leaves them as they are."""
        now = self.pods.get(pod.metadata.name, pod.metadata.namespace)
        there = now.status.get("conditions") or [] if now else []
        return [one for one in there if one["type"] not in {"PodScheduled", "Ready"}]

    async def flap(self, pod: Whole, seconds: float) -> None:
        """A pod that is ready is not for a while, though all goes on in it."""
        with suppress(NotFound):
            if not self._is_well(pod) or not self._is_ready(pod):
                return
            await self._ready(pod, "False")
            await asyncio.sleep(seconds)
            if self._is_well(pod):
                await self._ready(pod, "True")

    async def fail(self, pod: Whole) -> None:
        """All that runs in a pod dies; its kubelet says so and does no more about it."""
        if self._is_well(pod):
            _tell(self.on_machine_lost, pod)
            await self._tell_status(pod, {"phase": "Failed", "reason": "Evicted"})

    def _is_well(self, pod: Whole) -> bool:
        """Whether a pod has begun, has not ended, and nobody has deleted it."""
        now = self.pods.get(pod.metadata.name, pod.metadata.namespace)
        return (
            now is not None
            and now.metadata.uid == pod.metadata.uid
            and now.status.get("phase") == "Running"
            and now.metadata.deletion_timestamp is None
            and self._has_kubelet(pod)
        )

    def _is_ready(self, pod: Whole) -> bool:
        now = self.pods.get(pod.metadata.name, pod.metadata.namespace)
        return now is not None and is_ready(now)

    async def _end(self, pod: Whole) -> None:
        await self._ready(pod, "False")
        await asyncio.sleep(self.delays.stop)
        await self._delete(pod)

    async def _delete(self, pod: Whole) -> None:
        meta, only_if = pod.metadata, Preconditions(uid=pod.metadata.uid)
        with suppress(NotFound, Conflict):
            await self._store.delete(PODS, meta.name, namespace=meta.namespace, grace_seconds=0, only_if=only_if)

    async def _tell_status(self, pod: Whole, status: Json) -> None:
        meta = pod.metadata
        await self._store.patch(
            PODS, meta.name, {"status": status}, namespace=meta.namespace, subresource="status", manager="kubelet"
        )

    @staticmethod
    async def _leaves_within(leaving: asyncio.Event, seconds: float) -> bool:
        try:
            await asyncio.wait_for(leaving.wait(), seconds)
        except TimeoutError:
            return False
        return True


def _takes(machine: Json, pod: Json) -> bool:
    """Whether a machine takes new pods like this one: it is not cordoned, and each of its taints is tolerated."""
    tolerated = {one.get("key") for one in pod.get("tolerations") or []}
    return not machine.get("unschedulable") and all(one["key"] in tolerated for one in machine.get("taints") or [])


def meant_for(spec: Json) -> str | None:
    """The machine that a pod names, as those of a DaemonSet do."""
    affinity = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    ) or {}
    for term in affinity.get("nodeSelectorTerms") or []:
        for one in term.get("matchFields") or []:
            return str(one["values"][0])
    return None


def _tell(listeners: list[Callable[[Whole], None]], pod: Whole) -> None:
    for listener in listeners:
        listener(pod)
