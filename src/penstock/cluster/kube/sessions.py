"""A command in a container, and a connection to a port of a pod, at the client's end of a WebSocket."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import Self

from aiohttp import ClientError, ClientWebSocketResponse, WSMessage, WSMsgType

from penstock.cluster.errors import ClusterError, Refused, Unreachable
from penstock.cluster.kube import channels, loglines
from penstock.cluster.streams import Size

_AHEAD = 16
"""Blocks of an output that are taken from the wire before somebody reads them."""


class Output:
    """One of the outputs of a command, block by block."""

    def __init__(self) -> None:
        self._blocks: deque[bytes] = deque()
        self._over = False
        self._moved = asyncio.Condition()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        async with self._moved:
            await self._moved.wait_for(lambda: self._blocks or self._over)
            if not self._blocks:
                raise StopAsyncIteration
            self._moved.notify_all()
            return self._blocks.popleft()

    async def put(self, block: bytes) -> None:
        """Take in a block; waits while nobody reads."""
        async with self._moved:
            await self._moved.wait_for(lambda: len(self._blocks) < _AHEAD)
            self._blocks.append(block)
            self._moved.notify_all()

    async def end(self) -> None:
        """Nothing more comes."""
        async with self._moved:
            self._over = True
            self._moved.notify_all()


class CommandSession:
    """A command (`penstock.cluster.streams.Session`)."""

    def __init__(self, socket: ClientWebSocketResponse, what: str) -> None:
        self.stdout = Output()
        self.stderr = Output()
        self._socket = socket
        self._what = what
        self._ended: int | ClusterError = Unreachable(f"{what}: the connection broke off before the command ended")
        self._reading = asyncio.create_task(self._read())

    async def write(self, data: bytes) -> None:
        """Give it input."""
        with suppress(ConnectionError):
            await self._socket.send_bytes(channels.message(channels.STDIN, data))

    async def close_stdin(self) -> None:
        """Tell it that no more input comes; an old server (v4) cannot be told."""
        if self._socket.protocol == channels.V5:
            with suppress(ConnectionError):
                await self._socket.send_bytes(channels.message(channels.CLOSE, bytes((channels.STDIN,))))

    async def resize(self, size: Size) -> None:
        """Tell its terminal how large it is."""
        with suppress(ConnectionError):
            await self._socket.send_bytes(channels.resized(size))

    async def wait(self) -> int:
        """Its exit code."""
        await asyncio.wait({self._reading})
        if isinstance(self._ended, ClusterError):
            raise self._ended
        return self._ended

    async def close(self) -> None:
        """Let go of it."""
        self._reading.cancel()
        await asyncio.wait({self._reading})
        await self._socket.close()

    async def _read(self) -> None:
        try:
            with suppress(ClientError, OSError):
                async for message in self._socket:
                    await self._take(*_parted(message))
        finally:
            await self.stdout.end()
            await self.stderr.end()

    async def _take(self, stream: int, data: bytes) -> None:
        if stream == channels.ERROR and data:
            told = channels.exit_code(data)
            self._ended = told if isinstance(told, int) else loglines.explained(Refused(f"{self._what}: {told}"))
        elif data and (output := {channels.STDOUT: self.stdout, channels.STDERR: self.stderr}.get(stream)):
            await output.put(data)


class PortWire:
    """A connection to a port of a pod (`penstock.cluster.streams.Wire`)."""

    def __init__(self, socket: ClientWebSocketResponse, what: str) -> None:
        self._socket = socket
        self._what = what
        self._begun: set[int] = set()
        """The streams whose first message, which only repeats the port, was seen."""

    async def receive(self) -> bytes:
        """What came; `Unreachable` with the server's words when nobody answers at that port."""
        async for message in self._socket:
            stream, data = _parted(message)
            if stream not in self._begun:
                self._begun.add(stream)
            elif stream == channels.TROUBLE and data:
                raise Unreachable(f"{self._what}: {data.decode(errors='replace').strip()}")
            elif stream == channels.DATA and data:
                return data
        return b""

    async def send(self, data: bytes) -> None:
        """Pass bytes on."""
        with suppress(ConnectionError):
            await self._socket.send_bytes(channels.message(channels.DATA, data))

    async def close(self) -> None:
        """Hang up."""
        await self._socket.close()


def _parted(message: WSMessage) -> tuple[int, bytes]:
    """The stream of a message, and what it says; no stream for what is not a message of one."""
    if message.type is not WSMsgType.BINARY or not message.data:
        return -1, b""
    return message.data[0], message.data[1:]
