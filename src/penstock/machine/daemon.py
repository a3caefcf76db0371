"""All that a cluster on one machine needs beside its containers, in one process.

```
store ──> api (socket)      workloads: StatefulSets, Deployments, claims      operator: our six kinds
  └─────> agent: pods ──> containers, which outlive this process              forwards: ssh and REST on loopback
```

SIGTERM ends the process and leaves the containers running: the next one takes them over. SIGINT ends them too.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Self

from penstock.cluster.errors import ClusterError, NotYet
from penstock.cluster.store import Store
from penstock.engine.agent import Agent, Means
from penstock.engine.layout import Layout
from penstock.engine.node_name import node_name
from penstock.engine.streams import Streams
from penstock.engine.volumes.sources import MissingReference
from penstock.engine.workloads import readable
from penstock.engine.workloads.runtime import Workloads
from penstock.images.library import Library
from penstock.machine import own_log
from penstock.machine.forward import LOOPBACK, Forward

_LOG = logging.getLogger(__name__)
HALT_SECONDS = 30.0
"""Seconds that containers get to end when the cluster is taken down."""
_SETTLING = 2.0
"""Seconds that pods get to begin before the API answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to run."""

    layout: Layout
    library: Library
    forwards: tuple[Forward, ...] = ()


class _Logs:
    """The logs of containers, for a store that is made before whoever has them."""

    streams: Streams | None = None

    def logs(self, name: str, *, namespace: str, container: str, tail: int = 0) -> AsyncGenerator[str, None]:
        """As `Streams.logs`."""
        if self.streams is None:
            raise NotYet(f"pod {namespace}/{name}: containers are not looked after yet")
        return self.streams.logs(name, namespace=namespace, container=container, tail=tail)


async def run(plan: Plan) -> None:
    """Run until told to stop."""
    plan.layout.make()
    logs, told = _Logs(), _told_to_stop()
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(Store(plan.layout.store, logs=logs, unfit=readable.problem))
        name = await node_name(store, plan.layout.node, host=socket.gethostname())
        workloads = Workloads(store, claims_root=plan.layout.claims, machine_name=name, machine_address=LOOPBACK)
        means = Means(
            cluster=store, layout=plan.layout, machine=name, find=plan.library.find, claims=_claims(workloads)
        )
        agent = Agent(means)
        logs.streams = Streams(agent, means.runtime)
        tasks = await stack.enter_async_context(_Tasks())
        if own_log.is_ours(plan.layout.log):
            tasks.start(own_log.keep_short(plan.layout.log))
        tasks.start(workloads.run())
        tasks.start(agent.run(workloads.ready))
        # Half a second of imports: containers, which a person waits for, are started before.
        await tasks.unless_over(_settled(agent))
        front = await asyncio.to_thread(import_module, "penstock.machine.front")
        tasks.start(front.run(plan, store, agent, logs.streams, instance=name))
        _LOG.info("cluster %s is looked after by process %d", plan.layout.cluster, os.getpid())
        await tasks.unless_over(told)
        if told.result() == signal.SIGINT:
            await agent.halt(HALT_SECONDS)


class _Tasks:
    """Tasks that run until the block ends; one that fails ends it with its error."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin one more."""
        self._tasks.append(asyncio.create_task(work))

    async def unless_over(self, wanted: Awaitable[object]) -> None:
        """Wait for something, but no longer than all tasks run."""
        waiting = asyncio.ensure_future(wanted)
        await asyncio.wait([waiting, *self._tasks], return_when=asyncio.FIRST_COMPLETED)
        for task in self._tasks:
            if task.done():
                waiting.cancel()
                task.result()
                raise RuntimeError("a part of the daemon has ended by itself")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _settled(agent: Agent) -> None:
    """Wait until the pods of an earlier life have begun again; one that cannot holds nobody up for long."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_SETTLING):
            await agent.settled()


def _claims(workloads: Workloads) -> Callable[[str, str], Path]:
    def path(namespace: str, claim: str) -> Path:
        try:
            return workloads.path(namespace, claim)
        except ClusterError as problem:
            raise MissingReference(str(problem)) from problem

    return path


def _told_to_stop() -> asyncio.Future[signal.Signals]:
    loop = asyncio.get_running_loop()
    told: asyncio.Future[signal.Signals] = loop.create_future()

    def note(which: signal.Signals) -> None:
        if not told.done():
            told.set_result(which)

    for which in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(which, note, which)
    return told
