"""A simulated world: the operator, Kubernetes and Slurm around one store, and somebody who looks on.

`async with cluster() as (here, operator)` is the sample cluster at rest; `world()` is empty.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from penstock.api.objects import Json
from penstock.operator.resources import CUSTOMS
from penstock.operator.runtime import MakeElection, Operator, Settings

from .guard import Guards
from .keys import Keys
from .kubernetes import Kubernetes
from .loop import clock, now
from .manifests import JWT_KEY, NAMESPACE, NODE_SET, RESOURCES, machine, sample
from .observed import Observed
from .port import Behind, Port
from .sight import Sight
from .slurm import Slurm
from .slurmrestd import SlurmRestd


@dataclass(slots=True, eq=False)
class Running:
    """An operator at work."""

    operator: Operator
    port: Port
    task: asyncio.Task[None]

    def end(self) -> None:
        """Cancel it."""
        self.task.cancel()

    async def crash(self) -> None:
        """End it without a good-bye: from now on nothing it says gets through."""
        self.port.down = True
        self.end()
        await asyncio.wait([self.task])

    async def stop(self) -> None:
        """Tell it to stop, and wait for its end."""
        self.operator.stop()
        await asyncio.wait([self.task])


class World:
    """All there is."""

    def __init__(self, group: asyncio.TaskGroup, *, history: int) -> None:
        numbers = itertools.count(1)
        self.slurm = Slurm()
        self.guards = Guards(self.slurm)
        self.store = Observed(clock=clock, uids=lambda: f"uid-{next(numbers):06}", history=history, logs=self.guards)
        self.sight = self.guards.sight = Sight(self.store)
        self.keys = self.guards.keys = Keys(self.sight)
        self.keys.watch()
        self.kubernetes = Kubernetes(self.store, self.sight)
        self.slurmrestd = SlurmRestd(self.slurm, key=self._jwt_key, up=self._daemons_run)
        self.kubernetes.on_started.append(self.slurm.started)
        self.kubernetes.on_ready += [self.slurm.ready, self.guards.ready, self.keys.ready]
        self.kubernetes.on_leaving.append(self.slurm.leaving)
        self.kubernetes.on_machine_lost.append(self.slurm.machine_lost)
        self.kubernetes.mountable = self.keys.mountable
        self.kubernetes.on_gone += [self.guards.gone, self.keys.gone]
        self.kubernetes.pods.subscribe(self.guards.changed)
        self.operators: list[Running] = []
        self.operators_ahead = timedelta()
        """How far the operators' clock is ahead of that of everybody else."""
        self._group = group

    def spawn(self, deed: Coroutine[object, object, None]) -> None:
        """Have something done meanwhile; the world does not end before it."""
        self._group.create_task(deed)

    async def apply(self, documents: Iterable[Json], *, manager: str = "kubectl") -> None:
        """What `kubectl apply` does."""
        for body in documents:
            await self.store.apply(RESOURCES[body["kind"]], body, manager=manager)

    async def edit(self, kind: str, name: str, **patch: object) -> None:
        """What `kubectl edit` does: a merge patch by somebody else."""
        await self.store.patch(RESOURCES[kind], name, dict(patch), namespace=NAMESPACE, manager="kubectl-edit")

    async def delete(self, kind: str, name: str) -> None:
        """What `kubectl delete` does."""
        await self.store.delete(RESOURCES[kind], name, namespace=NAMESPACE)

    async def scale(self, replicas: int, name: str = NODE_SET) -> None:
        """What `kubectl scale` does."""
        await self.store.scale(CUSTOMS["NodeSet"], name, replicas, namespace=NAMESPACE)

    def start(
        self, port: Port | None = None, *, election: MakeElection | None = None, conditions: tuple[str, ...] = ()
    ) -> Running:
        """Start an operator, that tells Slurm of these conditions of machines."""
        port = port or Port(self.store)
        settings = Settings(instance=port.who, propagated_node_conditions=conditions)
        operator = Operator(
            port, settings, now=self.operators_clock, election=election,
            connect=lambda url: self.slurmrestd.connect(url, port.who),
            locate=lambda rest_api: f"http://{rest_api.metadata.name}:6820",
        )  # fmt: skip
        running = Running(operator, port, self._group.create_task(operator.run()))
        port.crash = running.end
        self.operators.append(running)
        return running

    async def until(self, condition: Callable[[], object], *, within: float = 60.0, what: str = "") -> float:
        """Let time pass until something holds; the seconds that it took."""
        began = now()
        while not condition():
            assert now() - began < within, f"not within {within} s: {what}\n{self.sight.story()}"
            await asyncio.sleep(0.05)
        return now() - began

    async def ready(self, *, within: float = 120.0) -> float:
        """Wait until every object of our kinds is Ready and nothing is under way."""
        return await self.until(self.sight.all_settled, within=within, what="all kinds Ready and settled")

    def operators_clock(self) -> datetime:
        """The time of day as operators have it."""
        return clock() + self.operators_ahead

    def _jwt_key(self) -> bytes:
        return self.sight.secret(JWT_KEY).get("jwt.key") or self.sight.secret("keys")["jwt.key"]

    def _daemons_run(self) -> bool:
        return all(
            any(one.status.get("readyReplicas") for one in self.sight.all(kind) if f"-{name}" in one.metadata.name)
            for kind, name in (("StatefulSet", "controller"), ("Deployment", "restapi"))
        )


@asynccontextmanager
async def world(*, history: int = 10_000, machines: int = 5) -> AsyncIterator[World]:
    """A world that ends with the block; no job may have been lost in it."""
    async with asyncio.TaskGroup() as group:
        here = World(group, history=history)
        background = group.create_task(here.kubernetes.run())
        await here.apply(machine(f"machine-{number}") for number in range(machines))
        try:
            yield here
        finally:
            for task in [background, *(one.task for one in here.operators)]:
                task.cancel()
    here.guards.stop()
    await here.store.close()
    assert not here.slurm.lost
    assert not here.keys.misunderstandings


@asynccontextmanager
async def cluster(
    documents: Iterable[Json] | None = None,
    *,
    history: int = 10_000,
    machines: int = 5,
    replicas: int | None = None,
) -> AsyncIterator[tuple[World, Running]]:
    """A world with a cluster that has come up and is at rest."""
    async with world(history=history, machines=machines) as here:
        yield here, await _at_rest(here, Port(here.store), documents, replicas)


@asynccontextmanager
async def behind(
    kind: str, documents: Iterable[Json] | None = None, *, replicas: int | None = None
) -> AsyncIterator[tuple[World, Behind]]:
    """The same, whose operator is not shown any more what becomes of objects of a kind, until `shows` is set."""
    async with world() as here:
        port = Behind(here.store, kind)
        await _at_rest(here, port, documents, replicas)
        port.shows.clear()
        yield here, port


async def _at_rest(here: World, port: Port, documents: Iterable[Json] | None, replicas: int | None) -> Running:
    await here.apply(sample() if documents is None else documents)
    if replicas is not None:
        await here.scale(replicas)
    operator = here.start(port)
    await here.ready()
    await asyncio.sleep(35)
    return operator
