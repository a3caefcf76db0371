"""A slurmrestd to be asked, played or real, and one way to ask it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TypeVar

from penstock.slurm.rest.client import SlurmRest
from penstock.slurm.rest.errors import SlurmUnreachable
from penstock.slurm.rest.jobs import KILL
from penstock.slurm.rest.transport import Reply, Transport
from penstock.slurm.tokens import sign

R = TypeVar("R")
SIGNS = "/run/shared"
"""Where scripts of real jobs say that they have begun."""
SCRIPT = f"#!/bin/sh\n: >{SIGNS}/begun-$SLURM_JOB_ID\nsleep 60\n"
PATIENCE = 20.0
"""Seconds. Slurm tells nobody when something has come about, so it is asked; this ends what will never come."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where a slurmrestd is, what opens it, and what to expect there."""

    name: str
    enter: Callable[[], AbstractAsyncContextManager[str]]
    """Gives the URL, inside the loop of the one who asks."""
    key: bytes
    nodes: tuple[str, ...]
    version: str
    begun: Callable[[int], bool] = lambda _: True
    """Whether a job's script runs. A real node is busy before it does; who cancels a job then may wait for minutes."""

    def ask(self, question: Callable[[Asking], Awaitable[R]], *, key: bytes | None = None) -> R:
        """Ask over connections of one's own, once all nodes are there and idle."""

        async def asking() -> R:
            async with self.enter() as url:
                transport = Transport(url)
                try:
                    await Asking(self, transport, self.key).all_idle()
                    return await question(Asking(self, transport, key or self.key))
                finally:
                    await transport.close()

        return asyncio.run(asking())


class Asking:
    """One who asks: the client, and what the client has no words for."""

    def __init__(self, site: Site, transport: Transport, key: bytes) -> None:
        self.site = site
        self._transport = transport
        self._token = sign(key, username="slurm", issued_at=int(time.time()) - 5, lifetime_seconds=300, token_id="t")
        self.rest = SlurmRest(transport, token=lambda: self._token)

    async def all_idle(self) -> None:
        """Wait until every node has registered and responds."""
        await self.until(self._idle)

    async def state(self, name: str) -> set[str]:
        """The words of a node's state that an order may change, once the node responds."""

        async def responds() -> bool:
            return (await self.rest.node(name)).condition.responding

        await self.until(responds)
        return set((await self.rest.node(name)).state) - {"DYNAMIC_NORM"}

    async def submit(self, node: str, *, hold: bool = False, **more: object) -> int:
        """Let a job run on a node, and wait until it does; or hold it, and wait for nothing."""
        job = {"name": "j", "partition": "compute", "script": SCRIPT, "required_nodes": [node]}
        body = {"job": job | {"hold": hold, "current_working_directory": "/tmp", "environment": ["PATH=/bin"]} | more}
        reply = await self._send("POST", "job/submit", json.dumps(body).encode())
        number = int(json.loads(reply.body)["job_id"])
        if not hold:
            await self.runs(number)
        return number

    async def runs(self, number: int) -> None:
        """Wait until a job runs, and its script with it."""

        async def begun() -> bool:
            return (await self.rest.job(number)).condition.running and self.site.begun(number)

        await self.until(begun)

    async def cancel(self, *nodes: str) -> None:
        """End what runs on nodes, and wait until nothing does."""
        await self.rest.signal_jobs(nodes, KILL)
        for name in nodes:

            async def rests(name: str = name) -> bool:
                return not (await self.rest.node(name)).condition.busy

            await self.until(rests)

    async def status(self, path: str) -> int:
        """The bare status of the answer to a question."""
        return (await self._send("GET", path)).status

    async def _send(self, method: str, path: str, body: bytes = b"") -> Reply:
        headers = {"X-SLURM-USER-NAME": "slurm", "X-SLURM-USER-TOKEN": self._token, "Content-Type": "application/json"}
        return await self._transport.send(method, f"/slurm/{self.site.version}/{path}", headers, body)

    async def _idle(self) -> bool:
        found = await self.rest.nodes()
        responding = found and [name for name, node in found.nodes.items() if node.condition.responding]
        return bool(responding) and set(self.site.nodes) <= set(responding or ())

    async def until(self, true: Callable[[], Awaitable[bool]]) -> None:
        """Ask until it is true."""
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    if await true():
                        return
                except SlurmUnreachable:
                    pass  # it is only starting
                await asyncio.sleep(0.05)
