"""A port of loopback that leads into a pod: a conversation ends for both sides, and half of one is still one."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from penstock.machine.forward import LOOPBACK, relay

Pair = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass
class Line:
    """A client and a server with a relay between them, all of them real sockets."""

    client: Pair
    server: Pair
    relaying: asyncio.Task[None]
    between: list[asyncio.StreamWriter] = field(default_factory=list)
    """The relay's two ends."""


@asynccontextmanager
async def line() -> AsyncIterator[Line]:
    accepted: asyncio.Queue[Pair] = asyncio.Queue()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.put_nowait((reader, writer))

    async with asyncio.timeout(30), await asyncio.start_server(accept, LOOPBACK, 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        client, ours = await asyncio.open_connection(LOOPBACK, port), await accepted.get()
        theirs, server = await asyncio.open_connection(LOOPBACK, port), await accepted.get()
        relaying = asyncio.create_task(relay(ours, theirs))
        try:
            yield Line(client, server, relaying, [ours[1], theirs[1]])
        finally:
            relaying.cancel()
            for _, writer in (client, server):
                writer.transport.abort()
            await asyncio.gather(relaying, return_exceptions=True)


def told(story: Callable[[Line], Awaitable[None]]) -> None:
    async def main() -> None:
        async with line() as it:
            await story(it)

    asyncio.run(main())


def reset(writer: asyncio.StreamWriter) -> None:
    """End a connection as a killed ssh does through a network that drops it."""
    end: socket.socket = writer.get_extra_info("socket")
    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def test_a_client_that_is_reset_takes_its_session_with_it() -> None:
    async def story(it: Line) -> None:
        it.client[1].write(b"hello")
        assert await it.server[0].readexactly(5) == b"hello"
        reset(it.client[1])
        assert await it.server[0].read() == b"", "the server hears of the end"
        await it.relaying
        assert all(writer.is_closing() for writer in it.between)

    told(story)


def test_a_server_that_is_reset_takes_its_client_with_it() -> None:
    async def story(it: Line) -> None:
        it.client[1].write(b"hello")
        assert await it.server[0].readexactly(5) == b"hello"
        reset(it.server[1])
        assert await it.client[0].read() == b""
        await it.relaying
        assert all(writer.is_closing() for writer in it.between)

    told(story)


def test_who_has_said_everything_still_hears_the_answer() -> None:
    """An ssh with its input at an end, HTTP clients that close their half: the other direction goes on."""

    async def story(it: Line) -> None:
        it.client[1].write(b"question")
        it.client[1].write_eof()
        assert await it.server[0].read() == b"question"
        assert not it.relaying.done()
        answer = b"x" * 3_000_000
        it.server[1].write(answer)
        it.server[1].close()
        assert await it.client[0].read() == answer
        await it.relaying

    told(story)


def test_the_last_words_of_a_server_that_closes_first_arrive() -> None:
    async def story(it: Line) -> None:
        it.server[1].write(b"bye")
        it.server[1].write_eof()
        assert await it.client[0].read() == b"bye"
        it.client[1].write(b"and thanks")
        it.client[1].close()
        assert await it.server[0].read() == b"and thanks"
        await it.relaying

    told(story)
