"""The agent of this machine: finds the pods of the store, leads each through its life, and tells them of each other.

What Kubernetes calls kubelet. It keeps nothing in memory that is not on disk or in the store as well: an agent that is
killed is followed by one that finds the pods' directories, takes their containers over, and sweeps what is nobody's.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from ipaddress import IPv4Address
from pathlib import Path

from penstock.cluster.events import Recorder
from penstock.cluster.groups import TaskGroup
from penstock.cluster.informer import Informer
from penstock.cluster.port import Cluster
from penstock.engine import leftovers, sockets
from penstock.engine import sandbox as sandboxes
from penstock.engine.addresses import Addresses
from penstock.engine.attempts import Attempts
from penstock.engine.compose import Composer
from penstock.engine.contents import CONFIG_MAPS, SECRETS, Content, Contents
from penstock.engine.directory import Directory
from penstock.engine.freshness import Freshness
from penstock.engine.health import Health
from penstock.engine.host import this_machine
from penstock.engine.layout import Layout
from penstock.engine.network import DEFAULT_SUBNET, Network
from penstock.engine.pod import House, PodTask
from penstock.engine.podspec import PODS, Pod
from penstock.engine.precedence import LATER, rank, rank_of_surroundings, serves_others
from penstock.engine.runtime import Runtime
from penstock.engine.sandbox import Sandbox
from penstock.engine.services import SERVICES, Service, cannot_serve
from penstock.engine.turns import Turns
from penstock.images.library import Image

_LOG = logging.getLogger(__name__)
_AGAIN = 5.0
"""Seconds before a pod whose task failed is taken up again: a mistake of ours must not end its containers."""
_FIRST_THINGS = 1.5
"""Seconds that controllers and workers have the processors to themselves when a cluster starts again."""
_DIAL = 5.0
"""Seconds to connect into a pod."""


@dataclass(slots=True, kw_only=True)
class Means:
    """What an agent works with."""

    cluster: Cluster
    layout: Layout
    machine: str
    """The name of this machine's Node."""
    find: Callable[[str], Image]
    claims: Callable[[str, str], Path]
    network: Network = field(init=False)
    runtime: Runtime = field(init=False)

    def __post_init__(self) -> None:
        self.network = Network(self.layout.cluster, subnet=DEFAULT_SUBNET)
        self.runtime = Runtime(root=self.layout.runc)


class Agent:
    """Runs the pods of this machine. `run` it; `halt` ends the containers, not the pods."""

    def __init__(self, means: Means) -> None:
        cluster = means.cluster
        self.tasks: dict[str, PodTask] = {}
        """By uid."""
        self._means = means
        self._pods = Informer(cluster, PODS)
        self._services = Informer(cluster, SERVICES)
        self._contents = Contents(Informer(cluster, CONFIG_MAPS), Informer(cluster, SECRETS))
        self._composer = Composer(self._contents, machine=this_machine())
        self._events = Recorder(cluster, component="penstock-engine", instance=means.machine, now=_now)
        self._directory = Directory(self.tasks, self._services, self._tell_of_services)
        self._freshness = Freshness(self.tasks, self._tell)
        known = [found for path in means.layout.pods.glob("*") if (found := sandboxes.read(path))]
        in_use = [IPv4Address(one.address) for one in known if one.address != "127.0.0.1"]
        self._addresses = Addresses(means.network.subnet, in_use=in_use)
        self._turns = Turns((os.cpu_count() or 1) + 2)
        self._group: TaskGroup | None = None
        self._looked = asyncio.Event()
        self._halting = False

    async def run(self, begin: asyncio.Event) -> None:
        """Look after pods until cancelled, but not before `begin`; containers go on without us."""
        await asyncio.to_thread(leftovers.forget_last_boot, self._means.layout)
        async with TaskGroup() as group:
            self._group = group
            for informer in self._informers:
                group.create_task(informer.run())
            await self._means.network.ensure_fabric()
            await asyncio.gather(*(informer.synced.wait() for informer in self._informers), begin.wait())
            await self._sweep(group)
            self._subscribe()
            group.create_task(self._put_first_things_first())
            for pod in sorted(self._pods.all(), key=rank):
                self._look(None, pod)
            self._looked.set()
            group.create_task(self._events.run())
            group.create_task(self._directory.run())
            group.create_task(self._freshness.run())

    async def _put_first_things_first(self) -> None:
        """Make no container that can wait before those serve that people wait for, but not for long."""
        with self._turns.kept_from(LATER), suppress(TimeoutError):
            async with asyncio.timeout(_FIRST_THINGS):
                await asyncio.gather(*(one.served() for one in self.tasks.values() if rank(one.pod)[0] < LATER))

    async def settled(self) -> None:
        """Wait until the containers of all pods that were there at the start have begun."""
        await self._looked.wait()
        await asyncio.gather(*(task.begun() for task in self.tasks.values()))

    async def halt(self, seconds: float) -> None:
        """End every container and what surrounds it, workers and clients before those they depend on."""
        self._halting = True
        tasks = [*self.tasks.values()]
        deadline = asyncio.get_running_loop().time() + seconds
        for last in (False, True):
            chosen = [task for task in tasks if serves_others(task.pod) == last]
            await asyncio.gather(*(task.halt(deadline) for task in chosen), return_exceptions=True)
        await self._means.network.remove_fabric()

    def task(self, namespace: str, name: str) -> PodTask | None:
        """The task of a pod."""
        return next((one for one in self.tasks.values() if one.pod.key == (namespace, name)), None)

    async def dial(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to an address of a pod, or to a Service by its name."""
        address = host if host.replace(".", "").isdecimal() else self._directory.resolve(host)
        return await sockets.connect(self._means.network.fabric, address, port, timeout=_DIAL)

    @property
    def _informers(self) -> list[Informer[Pod] | Informer[Service] | Informer[Content]]:
        return [self._pods, self._services, self._contents.config_maps, self._contents.secrets]

    def _subscribe(self) -> None:
        self._pods.subscribe(self._look)
        self._services.subscribe(lambda _old, _new: self._directory.moved())
        self._contents.config_maps.subscribe(lambda old, new: self._content_changed("ConfigMap", new or old))
        self._contents.secrets.subscribe(lambda old, new: self._content_changed("Secret", new or old))

    def _look(self, old: Pod | None, new: Pod | None) -> None:
        """Take note of a change to a pod."""
        self._directory.moved()
        pod = new or old
        if pod is None or pod.spec.node_name != self._means.machine:
            return
        task = self.tasks.get(pod.metadata.uid)
        if new is None:
            if task:
                task.leave(abruptly=True)
        elif task:
            before = task.pod
            task.update(new)
            self._freshness.pod_changed(task, before)
        elif not self._halting and not _is_over(new, self._means.layout):
            self._begin(new)

    def _begin(self, pod: Pod) -> None:
        task = PodTask(pod, self._house)
        self.tasks[pod.metadata.uid] = task
        if pod.metadata.deletion_timestamp is not None:
            task.leave()
        if self._group is None:
            raise RuntimeError("run the agent first")
        self._group.create_task(self._lead(task))

    async def _lead(self, task: PodTask) -> None:
        uid = task.pod.metadata.uid
        try:
            await task.run()
        except Exception:
            _LOG.exception("pod %s/%s: leading it failed; it is taken up again", *task.pod.key)
            await asyncio.sleep(_AGAIN)
            await self._see_off(task)
            del self.tasks[uid]
            if current := self._pods.get(task.pod.metadata.name, task.pod.metadata.namespace):
                self._look(None, current)
        else:
            if not self._halting:
                del self.tasks[uid]
        self._directory.moved()

    async def _see_off(self, task: PodTask) -> None:
        """Clear a pod away that the store has forgotten: nobody will ever ask for that again."""
        if not self._is_known(task.pod):
            await leftovers.insist("/".join(task.pod.key), task.clear, unless=self._is_halting)

    def _is_halting(self) -> bool:
        return self._halting

    def _is_known(self, pod: Pod) -> bool:
        current = self._pods.get(pod.metadata.name, pod.metadata.namespace)
        return current is not None and current.metadata.uid == pod.metadata.uid

    @property
    def _house(self) -> House:
        means = self._means
        return House(
            cluster=means.cluster,
            sandbox=lambda pod: Sandbox(
                pod, means.layout.pod(pod.metadata.uid), network=means.network, addresses=self._addresses,
                sources=self._contents, claims=means.claims,
                group=f"{means.layout.group}/{pod.metadata.uid}",
            ),
            attempts=self._attempts,
            health=lambda sandbox: Health(means.runtime, sandbox, self.dial),
            tell=self._tell,
            moved=self._directory.moved,
            turn=lambda pod: self._turns.one(rank_of_surroundings(pod)),
        )  # fmt: skip

    def _tell(self, pod: Pod, kind: str, reason: str, note: str) -> None:
        tell = self._events.warning if kind == "Warning" else self._events.normal
        tell(PODS, pod, reason, note)

    def _attempts(self, pod: Pod, sandbox: Sandbox) -> Attempts:
        return Attempts(
            pod.metadata.uid, sandbox.containers, runtime=self._means.runtime, find=self._means.find,
            compose=self._composer.of(pod, sandbox), turn=lambda: self._turns.one(rank(pod)),
        )  # fmt: skip

    async def _sweep(self, group: TaskGroup) -> None:
        """Remove what belongs to no pod any more, before others begin in its place; what refuses holds up nobody."""
        present = {pod.metadata.uid for pod in self._pods.all()}
        for path in self._means.layout.pods.glob("*"):
            if path.name not in present:
                _LOG.info("pod %s is nobody's any more; it is removed", path.name)
                await self._swept(group, path.name, partial(self.remove, path))
        for uid in self._means.network.attached() - present:
            await self._swept(group, uid, partial(self._means.network.detach, uid))

    async def _swept(self, group: TaskGroup, pod: str, clear: Callable[[], Awaitable[None]]) -> None:
        try:
            await clear()
        except Exception:
            # Told of by the next try, if that fails too.
            group.create_task(leftovers.insist(pod, clear, unless=self._is_halting))

    async def remove(self, directory: Path) -> None:
        """End and remove a pod of which only the directory is known."""
        means = self._means
        await leftovers.remove_pod(directory, runtime=means.runtime, network=means.network, group=means.layout.group)

    def _content_changed(self, kind: str, item: Content | None) -> None:
        if item is not None:
            self._freshness.content_changed(kind, item)

    def _tell_of_services(self) -> None:
        """Say what Services promise on Kubernetes and cannot keep here."""
        pods = [task.pod for task in self.tasks.values()]
        for service in self._services.all():
            for told in cannot_serve(service, [pod for pod in pods if service.selects(pod)]):
                self._events.warning(SERVICES, service, "NotOnOneMachine", told)


def _now() -> datetime:
    return datetime.now(UTC)


def _is_over(pod: Pod, layout: Layout) -> bool:
    """Whether a pod has come to its end and nothing of it is left here."""
    return pod.status.get("phase") in {"Succeeded", "Failed"} and not layout.pod(pod.metadata.uid).exists()
