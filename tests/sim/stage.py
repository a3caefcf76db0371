"""A stage: a world with a cluster at rest, its books and judges, and operators that are started again when they die."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from penstock.api.objects import Json
from penstock.cluster.port import ALWAYS, Preconditions, Propagation, T
from penstock.cluster.resources import Resource
from penstock.operator.resources import PODS
from tests.simulation.leaders import elected
from tests.simulation.loop import now
from tests.simulation.manifests import NAMESPACE, Seen, sample
from tests.simulation.port import Port
from tests.simulation.world import Running, World, world

from .books import Books, Promise
from .judges import Bench
from .schedule import MACHINES, Cluster, Set

_JOBS_KEPT = 30.0
"""Seconds for which Slurm remembers a job: short, for somebody waits for its end."""
_STARTED_AGAIN = 6.0
"""Seconds after which an operator that died is started again, at the latest."""


class Stage:
    """Where a schedule is played."""

    latency = 0.01
    """Seconds that a message takes at most, in fair weather."""

    def __init__(self, here: World, cluster: Cluster) -> None:
        self.here = here
        self.cluster = cluster
        self.books = Books(here)
        self.bench = Bench(self.books)
        self.quiet_at = 0.0
        """When the last of what was begun is over."""
        self.slurmctld_dead = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._lives = 0
        here.slurmrestd.slow = self.latency
        here.slurm.kept_for = _JOBS_KEPT

    def living(self) -> list[Running]:
        """Operators that have not died."""
        return [one for one in self.here.operators if not one.task.done()]

    @property
    def leader(self) -> Running:
        """The operator that leads, or any that lives."""
        living = self.living() or self.here.operators
        return next((one for one in living if one.operator.leads), living[-1])

    def workers(self) -> list[Seen]:
        """Workers that nobody has deleted, in the order of their names."""
        staying = (pod for pod in self.here.sight.workers() if pod.metadata.deletion_timestamp is None)
        return sorted(staying, key=lambda pod: pod.metadata.name)

    def later(self, seconds: float, what: Callable[[], None]) -> None:
        """Do something in so many seconds."""
        self.quiet_at = max(self.quiet_at, now() + seconds)
        asyncio.get_running_loop().call_later(seconds, what)

    def meanwhile(self, what: Coroutine[Any, Any, None]) -> None:
        """Do something that takes time."""
        task = asyncio.get_running_loop().create_task(what)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def quiet(self) -> None:
        """Wait until all that was begun is over."""
        await asyncio.sleep(max(self.quiet_at - now(), 0.0))
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def keep_operators(self) -> None:
        """Start the operators, and start each again when it died."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self.cluster.leaders):
                group.create_task(self._keep_one())

    async def _keep_one(self) -> None:
        while True:
            running = self._start()
            await asyncio.wait([running.task])
            with suppress(asyncio.CancelledError):
                if (error := running.task.exception()) is not None:
                    self.books.breaks(Promise.ALIVE, f"it ended: {error!r}")
            self.books.counted["crashes"] += 1
            await asyncio.sleep(_STARTED_AGAIN * random.random())  # noqa: S311 - chance, not secrecy

    def _start(self) -> Running:
        self._lives += 1
        port = _Port(self.here.store, who=f"operator {self._lives}")
        port.books = self.books
        port.after_write = lambda verb, resource: self.bench.leaders.wrote(port.who, verb, resource)
        port.on_fault = lambda fault: self.books.counted.update([fault.value])
        election = elected(port, port.who) if self.cluster.leaders > 1 else None
        return self.here.start(port, election=election)


class _Port(Port):
    """A port at whose door somebody looks on."""

    books: Books

    async def delete(
        self,
        resource: Resource[T],
        name: str,
        *,
        namespace: str = "",
        only_if: Preconditions = ALWAYS,
        propagation: Propagation = Propagation.BACKGROUND,
        grace_seconds: int | None = None,
    ) -> None:
        """Delete an object. Who deletes a worker says which one, and as it was when that was decided."""
        if resource.name == PODS.name and not (only_if.uid and only_if.resource_version):
            self.books.breaks(Promise.BLIND, f"{name} is to go, whoever that is")
        await super().delete(
            resource, name, namespace=namespace, only_if=only_if, propagation=propagation, grace_seconds=grace_seconds
        )


async def host(cluster: Cluster, up: asyncio.Future[Stage]) -> None:
    """Bring a cluster up, hand it over, and keep it until cancelled."""
    async with world(history=cluster.history, machines=MACHINES) as here:
        stage = Stage(here, cluster)
        await here.apply([*_foundation(), *(manifest(one) for one in cluster.sets)])
        keeping = asyncio.create_task(stage.keep_operators())
        try:
            await here.ready()
            await asyncio.sleep(35)
            up.set_result(stage)
            await asyncio.Event().wait()
        finally:
            keeping.cancel()


def _foundation() -> list[Json]:
    """The sample's slurmctld and slurmrestd, and what they need; the rest would only cost time."""
    documents = [one for one in sample() if one["kind"] in {"Secret", "Controller", "RestApi"}]
    spec = next(one["spec"] for one in documents if one["kind"] == "Controller")
    del spec["accountingRef"], spec["metrics"]
    return documents


def manifest(one: Set, *, replicas: int | None = None) -> Json:
    """A NodeSet as people write it."""
    claim = {
        "metadata": {"name": "scratch"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    spec: Json = {
        "controllerRef": {"name": "slurm"}, "replicas": one.replicas if replicas is None else replicas,
        "template": {"spec": {"hostname": f"{one.name}-"}}, "partition": {"enabled": True}, "oversubscribeNode": True,
        "scalingMode": "DaemonSet" if one.per_machine else "StatefulSet",
        "volumeClaimTemplates": [claim] if one.claims else [],
    }  # fmt: skip
    return {
        "apiVersion": "slinky.slurm.net/v1beta1", "kind": "NodeSet",
        "metadata": {"name": one.full_name, "namespace": NAMESPACE}, "spec": spec | one.policy,
    }  # fmt: skip
