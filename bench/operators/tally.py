"""What comes about in a namespace, counted as it does: pods, ready pods, and what the NodeSet says of itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgspec

from operators.world import PREFIX
from penstock.cluster.informer import Informer
from penstock.cluster.kube import KubeCluster
from penstock.cluster.port import Selection
from penstock.cluster.resources import Lean, Resource


class _Condition(msgspec.Struct, frozen=True, gc=False):
    type: str
    status: str


class _PodSpec(msgspec.Struct, frozen=True):
    hostname: str = ""


class _PodStatus(msgspec.Struct, frozen=True):
    conditions: tuple[_Condition, ...] = ()


class Pod(Lean, frozen=True):
    """A pod: whether it is ready."""

    spec: _PodSpec = _PodSpec()
    status: _PodStatus = _PodStatus()

    @property
    def ready(self) -> bool:
        """Whether its kubelet says so."""
        return any(one.type == "Ready" and one.status == "True" for one in self.status.conditions)

    @property
    def works(self) -> bool:
        """Whether it is a worker; slurmctld and slurmrestd run in the same namespace."""
        return self.spec.hostname.startswith(PREFIX)


class _NodeSetStatus(msgspec.Struct, frozen=True, rename="camel"):
    replicas: int = 0
    ready_replicas: int = 0


class NodeSet(Lean, frozen=True):
    """A NodeSet: what it says of its workers."""

    status: _NodeSetStatus = _NodeSetStatus()


PODS = Resource("", "v1", "pods", "Pod", Pod)
NODE_SETS = Resource("slinky.slurm.net", "v1beta1", "nodesets", "NodeSet", NodeSet)


class Tally:
    """Counts, and the moments at which they changed last."""

    def __init__(self) -> None:
        self.pods = 0
        self.ready = 0
        self.said_ready = 0
        self.last_ready_at = 0.0
        self._waiting: list[tuple[Callable[[], bool], asyncio.Future[float]]] = []

    async def until(self, true: Callable[[], bool]) -> float:
        """Wait until the counts make it true; the moment when they did."""
        if true():
            return time.perf_counter()
        future: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._waiting.append((true, future))
        return await future

    def pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        """Count a change of a pod."""
        was, is_now = old if old and old.works else None, new if new and new.works else None
        self.pods += (is_now is not None) - (was is not None)
        change = bool(is_now and is_now.ready) - bool(was and was.ready)
        self.ready += change
        if change > 0:
            self.last_ready_at = time.perf_counter()
        self._tell()

    def node_set_changed(self, _: NodeSet | None, new: NodeSet | None) -> None:
        """Note what the NodeSet says."""
        self.said_ready = new.status.ready_replicas if new else 0
        self._tell()

    def _tell(self) -> None:
        for waiting in [one for one in self._waiting if one[0]()]:
            self._waiting.remove(waiting)
            if not waiting[1].done():
                waiting[1].set_result(time.perf_counter())


@asynccontextmanager
async def tally(cluster: KubeCluster, namespace: str) -> AsyncIterator[Tally]:
    """Count what happens in a namespace, from what there is on."""
    counts, where = Tally(), Selection(namespace=namespace)
    pods, node_sets = Informer(cluster, PODS, where), Informer(cluster, NODE_SETS, where)
    pods.subscribe(counts.pod_changed)
    node_sets.subscribe(counts.node_set_changed)
    tasks = [asyncio.create_task(pods.run()), asyncio.create_task(node_sets.run())]
    try:
        await asyncio.gather(pods.synced.wait(), node_sets.synced.wait())
        yield counts
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
