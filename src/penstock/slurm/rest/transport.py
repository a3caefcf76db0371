"""HTTP for slurmrestd, on h11.

A library that reads ahead cannot be used: behind every error, slurmrestd 26.05 sends the pieces of a second, broken
answer on the same connection, and a reader that looks at them loses the first one too. h11 stops where the answer
ends, and what follows an error is thrown away with its connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

import h11

from penstock.slurm.rest.errors import SlurmSilent

_BLOCK = 1 << 18  # node lists are megabytes
_TROUBLES = (OSError, EOFError, TimeoutError, h11.RemoteProtocolError)


@dataclass(frozen=True, slots=True)
class Reply:
    """What slurmrestd answered."""

    status: int
    body: bytes | bytearray


@dataclass(slots=True)
class _Line:
    """One connection, usable again while both sides keep to the protocol."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    state: h11.Connection


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Dial = Callable[[str, int], Awaitable[Streams]]
"""Connects to a host and a port, for whoever has ways of its own to get there."""


class Transport:
    """Connections to one slurmrestd, a bounded number at a time, kept open between requests.

    `url` is http://host:port, https://host:port, or unix:///path/to/socket.
    """

    def __init__(self, url: str, *, connections: int = 8, timeout: float = 20.0, dial: Dial | None = None) -> None:
        self.url = url
        self._connect = dial
        self._places = asyncio.Semaphore(connections)
        self._kept = connections
        self._idle: list[_Line] = []
        self._timeout = timeout

    async def send(self, method: str, path: str, headers: dict[str, str], body: bytes = b"") -> Reply:
        """Ask once. Whether a request that breaks off took effect is unknown, so only reading is tried again."""
        async with self._places:
            try:
                async with asyncio.timeout(self._timeout):
                    return await self._ask(method, path, headers, body)
            except _TROUBLES as problem:
                raise SlurmSilent(f"slurmrestd at {self.url}: {_told(problem)}") from problem

    async def close(self) -> None:
        """Close what is open."""
        while self._idle:
            await _hang_up(self._idle.pop())

    async def _ask(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Reply:
        if method == "GET" and self._idle:
            try:
                return await self._exchange(self._idle.pop(), method, path, headers, body)
            except (OSError, EOFError, h11.RemoteProtocolError):
                pass  # slurmrestd closes idle connections when it likes: that says nothing about a new one
        return await self._exchange(await self._dial(), method, path, headers, body)

    async def _dial(self) -> _Line:
        address = urlsplit(self.url)
        if self._connect:
            streams = await self._connect(address.hostname or "", address.port or 6820)
        elif address.scheme == "unix":
            streams = await asyncio.open_unix_connection(unquote(address.path))
        else:
            secured = ssl.create_default_context() if address.scheme == "https" else None
            streams = await asyncio.open_connection(address.hostname, address.port or 6820, ssl=secured)
        return _Line(*streams, h11.Connection(h11.CLIENT))

    async def _exchange(self, line: _Line, method: str, path: str, headers: dict[str, str], body: bytes) -> Reply:
        try:
            named = [("Host", urlsplit(self.url).netloc or "slurmrestd"), *headers.items()]
            if body:
                named.append(("Content-Length", str(len(body))))
            await _say(line, h11.Request(method=method, target=path, headers=named), body)
            reply = await _hear(line)
        except BaseException:
            await _hang_up(line)
            raise
        whole = line.state.our_state is h11.DONE and line.state.their_state is h11.DONE
        # Orders bring a line of their own each, and slurmrestd takes 124 in all.
        if reply.status < 400 and whole and len(self._idle) < self._kept:
            line.state.start_next_cycle()
            self._idle.append(line)
        else:
            await _hang_up(line)
        return reply


async def _say(line: _Line, request: h11.Request, body: bytes) -> None:
    events: list[h11.Event] = [request, *([h11.Data(data=body)] if body else []), h11.EndOfMessage()]
    line.writer.write(b"".join(line.state.send(event) or b"" for event in events))
    await line.writer.drain()


async def _hear(line: _Line) -> Reply:
    status, body = 0, bytearray()  # a list of parts, joined, would be there twice, and node lists are megabytes
    while True:
        event = line.state.next_event()
        if event is h11.NEED_DATA:
            line.state.receive_data(await line.reader.read(_BLOCK))
        elif isinstance(event, h11.Response):
            status = event.status_code
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage):
            return Reply(status, body)
        elif isinstance(event, h11.ConnectionClosed):
            raise EOFError("it closed the connection before it answered")


async def _hang_up(line: _Line) -> None:
    line.writer.close()
    with contextlib.suppress(OSError):  # it was gone already
        await line.writer.wait_closed()


def _told(problem: BaseException) -> str:
    return "no answer in time" if isinstance(problem, TimeoutError) else str(problem) or type(problem).__name__
