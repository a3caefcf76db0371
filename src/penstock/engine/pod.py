"""One pod, from its first container to its last trace.

A task of its own leads each pod through the same steps, whether it is new or was found running: surroundings, init
containers in order, the others together; and back again when it is deleted. Each step finds out what is there already,
so whoever dies in the middle is followed by somebody who goes on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime

from penstock.api.objects import Json
from penstock.cluster.backoff import Backoff
from penstock.cluster.errors import ClusterError, NotFound
from penstock.cluster.groups import TaskGroup
from penstock.cluster.port import Cluster, Preconditions
from penstock.cluster.resources import Whole
from penstock.engine import unsupported
from penstock.engine.attempts import Attempts
from penstock.engine.clock import moment, stamp
from penstock.engine.health import Health
from penstock.engine.keeper import Keeper, Means
from penstock.engine.podspec import PODS, Container, Pod
from penstock.engine.sandbox import Sandbox, SandboxProblem
from penstock.engine.status import status
from penstock.engine.views import View, Waiting

_LOG = logging.getLogger(__name__)
MANAGER = "penstock-engine"
"""Who writes the status of pods; other managers may have conditions of their own in it."""
_BACKOFF = Backoff(first=0.5, longest=15.0)
_FLOCK = 0.1
"""Seconds in which changes of a pod are told together: when it starts there are many, and each costs a write."""

Tell = Callable[[Pod, str, str, str], None]
"""An event of a pod: its type, its reason, what happened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """What all pods of a machine share."""

    cluster: Cluster
    sandbox: Callable[[Pod], Sandbox]
    attempts: Callable[[Pod, Sandbox], Attempts]
    health: Callable[[Sandbox], Health]
    tell: Tell
    moved: Callable[[], None]
    """A pod has another address, or another readiness."""
    turn: Callable[[Pod], AbstractAsyncContextManager[object]] = nullcontext
    """Waits until something that keeps a processor busy may be done for a pod."""
    machine_address: str = "127.0.0.1"


class PodTask:
    """Leads one pod. `run` it; tell it of changes by `update`, `leave` and `poke`."""

    def __init__(self, pod: Pod, house: House) -> None:
        self.pod = pod
        self.sandbox = house.sandbox(pod)
        self.init: list[Keeper] = []
        self.main: list[Keeper] = []
        self._house = house
        self._attempts = house.attempts(pod, self.sandbox)
        self._health = house.health(self.sandbox)
        self._leaving = asyncio.Event()
        self._poked = asyncio.Event()
        self._dirty = asyncio.Event()
        self._shown: Json = {}
        self._problem: Waiting | None = None
        self._finished = False
        self._abrupt = False
        self._ready = False
        for container in pod.spec.init_containers:
            self.init.append(Keeper(container, self._means(container, init=True)))
        for container in pod.spec.containers:
            self.main.append(Keeper(container, self._means(container, init=False)))

    @property
    def address(self) -> str:
        """Where it is reached; empty before it has an address."""
        return self.sandbox.address

    @property
    def ready(self) -> bool:
        """Whether it may be asked for what it serves."""
        return self._ready and not self._leaving.is_set()

    def keeper(self, name: str) -> Keeper | None:
        """The keeper of a container."""
        return next((one for one in (*self.init, *self.main) if one.container.name == name), None)

    def update(self, pod: Pod) -> None:
        """Take note of what the store has of it now."""
        self.pod = pod
        if pod.metadata.deletion_timestamp is not None:
            self.leave()

    def leave(self, *, abruptly: bool = False) -> None:
        """Have it go; abruptly when the store has forgotten it already."""
        self._abrupt = self._abrupt or abruptly
        self._leaving.set()
        self._poked.set()

    def poke(self) -> None:
        """Something that it refers to has changed."""
        self._poked.set()

    async def run(self) -> None:
        """Live, and leave nothing behind."""
        reporting = asyncio.create_task(self._report())
        try:
            await self._live()
            await self.clear()
        finally:
            reporting.cancel()
            await asyncio.gather(reporting, return_exceptions=True)
        await self._forget()

    async def begun(self) -> None:
        """Wait until each of its containers was run for the first time, or could not be."""
        await asyncio.gather(*(keeper.begun.wait() for keeper in self.main))

    async def served(self) -> None:
        """Wait until each of its containers has started up: its startup probe has had a good answer."""
        await asyncio.gather(*(keeper.started.wait() for keeper in self.main))

    async def halt(self, deadline: float) -> None:
        """End its containers and its surroundings, but not the pod: the machine is being shut down."""
        await self._stop(deadline)
        await self._attempts.clear()
        await self.sandbox.remove()

    async def clear(self) -> None:
        """Take away what it was made of; whoever fails at it tries again."""
        await self._attempts.clear()
        await self.sandbox.remove()
        self._house.moved()

    async def _live(self) -> None:
        living = asyncio.create_task(self._containers())
        leaving = asyncio.create_task(self._leaving.wait())
        try:
            await asyncio.wait({living, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if living.done():
                living.result()
                await leaving
            await self._stop(self._deadline())
        finally:
            for task in (living, leaving):
                task.cancel()
            await asyncio.gather(living, leaving, return_exceptions=True)

    async def _containers(self) -> None:
        """Start everything in its order; comes back when all that ends has ended."""
        await self._surroundings()
        async with AsyncExitStack() as stack:
            group = await stack.enter_async_context(TaskGroup())
            for keeper in self.init:
                keeping = group.create_task(keeper.keep())
                if keeper.container.is_sidecar:
                    # Who helps the others may take its time to begin; they are made meanwhile, and run when it has.
                    await asyncio.gather(keeper.started.wait(), *(one.make_ahead() for one in self._after(keeper)))
                elif not await keeping:
                    break
            else:
                await asyncio.gather(*(group.create_task(keeper.keep()) for keeper in self.main))
            await self._stop_each(self._sidecars, asyncio.get_running_loop().time() + self._grace)
        self._finished = True
        self._changed()

    async def _surroundings(self) -> None:
        """Volumes, network, names; waits for what is not there yet."""
        failures = 0
        while True:
            self._poked.clear()
            try:
                await self._check_fields()
                async with self._house.turn(self.pod):
                    await self.sandbox.make(self.pod)
            except SandboxProblem as problem:
                failures += 1
                self._problem = Waiting(problem.reason, str(problem))
                self._house.tell(self.pod, "Warning", problem.reason, str(problem))
                self._changed()
            else:
                if self._poked.is_set() and not self._leaving.is_set():
                    # What was read at the beginning has changed since: a large claim takes minutes.
                    continue
                self._problem = None
                self._house.moved()
                self._changed()
                return
            try:
                async with asyncio.timeout(_BACKOFF.delay(failures)):
                    await self._poked.wait()
            except TimeoutError:
                pass

    async def _check_fields(self) -> None:
        """Refuse what the engine would not honour: a pod with less than it asked for is worse than one that waits."""
        namespace, name = self.pod.key
        try:
            raw = await self._house.cluster.get(PODS.reading(Whole), name, namespace)
        except NotFound:
            return
        unknown = [f"{path} is not supported on one machine" for path in unsupported.unknown(raw.spec)]
        if told := [*unsupported.refusals(self.pod), *unknown]:
            raise SandboxProblem("Unsupported", f"pod {name}: {'; '.join(told)}")

    def _after(self, keeper: Keeper) -> list[Keeper]:
        """Those whose turn comes next; before the last of the first ones nobody's does."""
        return self.main if keeper is self.init[-1] else []

    @property
    def _sidecars(self) -> list[Keeper]:
        return [keeper for keeper in reversed(self.init) if keeper.container.is_sidecar]

    @property
    def _grace(self) -> float:
        return float(self.pod.spec.termination_grace_period_seconds)

    def _deadline(self) -> float:
        """On the loop's clock: when who has not gone is made to."""
        now = asyncio.get_running_loop().time()
        if self._abrupt:
            return now
        told = self.pod.metadata.deletion_timestamp
        left = (moment(told) - datetime.now(UTC)).total_seconds() if told else self._grace
        # The wall clock may have jumped: nobody gets more than was granted.
        return now + min(max(left, 0.0), self._grace)

    async def _stop(self, deadline: float) -> None:
        """End the containers together, then the sidecars that served them, the last one first."""
        others = [keeper for keeper in (*self.main, *self.init) if not keeper.container.is_sidecar]
        await asyncio.gather(*(keeper.stop(deadline) for keeper in others))
        await self._stop_each(self._sidecars, deadline)

    @staticmethod
    async def _stop_each(keepers: Sequence[Keeper], deadline: float) -> None:
        for keeper in keepers:
            await keeper.stop(deadline)

    async def _forget(self) -> None:
        """Tell the store that nothing is left, so that it may forget the pod."""
        namespace, name = self.pod.key
        failures = 0
        while not self._abrupt:
            try:
                await self._house.cluster.delete(
                    PODS, name, namespace=namespace, grace_seconds=0, only_if=Preconditions(uid=self.pod.metadata.uid)
                )
            except NotFound:
                return
            except ClusterError as error:
                _LOG.warning("pod %s/%s is gone from here, the store keeps it: %s", namespace, name, error)
                failures += 1
                await asyncio.sleep(_BACKOFF.delay(failures))
            else:
                return

    def _means(self, container: Container, *, init: bool) -> Means:
        def restart(code: int) -> bool:
            if container.is_sidecar:
                return True
            policy = self.pod.spec.restart_policy
            return policy != "Never" and (code != 0 or (policy == "Always" and not init))

        return Means(
            attempts=self._attempts, ask=self._health.ask, do=self._health.do, changed=self._changed,
            tell=lambda kind, reason, note: self._house.tell(self.pod, kind, reason, note),
            restart=restart, grace=self._grace,
        )  # fmt: skip

    def _changed(self) -> None:
        self._dirty.set()

    async def _report(self) -> None:
        """Keep the status in the store as things are; many changes at once are told once."""
        failures = 0
        while True:
            await self._dirty.wait()
            await asyncio.sleep(_FLOCK)
            self._dirty.clear()
            told = self._status()
            if told == self._shown:
                continue
            try:
                body = {"metadata": {"name": self.pod.metadata.name, "namespace": self.pod.metadata.namespace}}
                await self._house.cluster.apply_status(PODS, body | {"status": told}, manager=MANAGER)
                self._shown, failures = told, 0
            except NotFound:
                continue
            except ClusterError as error:
                failures += 1
                _LOG.warning("status of pod %s/%s: %s", *self.pod.key, error)
                await asyncio.sleep(_BACKOFF.delay(failures))
                self._dirty.set()

    def _status(self) -> Json:
        told = status(
            self.pod, init=self._views(self.init), main=self._views(self.main), address=self.address,
            machine_address=self._house.machine_address, now=stamp(),
        )  # fmt: skip
        ready = any(one["type"] == "Ready" and one["status"] == "True" for one in told["conditions"])
        if ready != self._ready:
            self._ready = ready
            self._house.moved()
        return told

    def _views(self, keepers: Sequence[Keeper]) -> list[View]:
        views = [keeper.view for keeper in keepers]
        if self._problem is None:
            return views
        from dataclasses import replace  # noqa: PLC0415

        return [replace(view, state=self._problem) if view.last is None else view for view in views]
