"""Ports of this machine's loopback that lead into pods: the only trace of a cluster on the host's network."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from penstock.engine.agent import Agent
from penstock.render import labels

_LOG = logging.getLogger(__name__)
LOOPBACK = "127.0.0.1"
_BLOCK = 1 << 16
_AGAIN = 2.0
"""Seconds before a port that somebody else has is tried again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forward:
    """A port here, and the ready pods whose port it leads to."""

    port: int
    app: str
    """The pods' `app.kubernetes.io/name`: `login`, `slurmrestd`."""
    target: int


@asynccontextmanager
async def forwarding(forward: Forward, agent: Agent) -> AsyncIterator[None]:
    """Lead connections on while inside; a port that somebody else has is taken as soon as it is free."""

    async def lead(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            theirs = await agent.dial(_address(forward, agent), forward.target)
        except OSError as problem:
            _LOG.info("port %d leads nowhere: %s", forward.port, problem)
            writer.close()
            return
        await relay((reader, writer), theirs)

    listening = asyncio.create_task(_listen(lead, forward.port))
    try:
        yield
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


async def _listen(lead: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]], port: int) -> None:
    # A process that is started again may find its port taken meanwhile: no reason to leave the cluster alone.
    told = False
    while True:
        try:
            server = await asyncio.start_server(lead, LOOPBACK, port)
        except OSError as problem:
            if not told:
                _LOG.warning("port %d: %s; tried again until it is free", port, problem.strerror or problem)
            told = True
            await asyncio.sleep(_AGAIN)
        else:
            break
    try:
        await asyncio.get_running_loop().create_future()
    finally:
        server.close()


async def relay(
    ours: tuple[asyncio.StreamReader, asyncio.StreamWriter], theirs: tuple[asyncio.StreamReader, asyncio.StreamWriter]
) -> None:
    """Pass bytes both ways until both have no more to say, or one of them is gone."""
    ways = [asyncio.create_task(_pass(ours[0], theirs[1])), asyncio.create_task(_pass(theirs[0], ours[1]))]
    try:
        # Who has said everything may still listen; who is gone does neither, and the other would wait for ever.
        await asyncio.wait(ways, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for writer in (ours[1], theirs[1]):
            writer.close()
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass bytes one way to their end; OSError when either side is gone."""
    while block := await reader.read(_BLOCK):
        writer.write(block)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


def _address(forward: Forward, agent: Agent) -> str:
    for task in agent.tasks.values():
        if task.ready and task.pod.metadata.labels.get(labels.NAME) == forward.app:
            return task.address
    raise OSError(f"no pod of {forward.app} is ready")
