"""What can be asked of a running container: its log as bytes, a command in it, a connection into its pod.

The port (`port.Cluster`) is what reconcilers need; this is what people at a terminal need besides. `kube.KubeCluster`
answers from an API server; on one machine the engine answers, behind the same API (`machine/api`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple, Protocol

_BLOCK = 64 * 1024
"""Bytes taken from a connection at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOptions:
    """Which part of a log, and in which form."""

    follow: bool = False
    """Go on until the container ends."""
    previous: bool = False
    """The log of the container's last life."""
    tail: int | None = None
    """At most so many of the last lines; None: all."""
    since_seconds: int | None = None
    """Only lines that are no older."""
    since_time: str | None = None
    """Only lines that are no older than this moment (RFC 3339)."""
    timestamps: bool = False
    """Each line begins with its time (RFC 3339, nanoseconds) and a space."""
    limit_bytes: int | None = None


WHOLE_LOG = LogOptions()


class Size(NamedTuple):
    """How large a terminal is, in characters."""

    columns: int
    rows: int


class Session(Protocol):
    """A command that runs in a container. Whoever has one closes it.

    Both outputs have to be read, at the same time, as with pipes: one that nobody reads fills up and stops the command.
    """

    @property
    def stdout(self) -> AsyncIterator[bytes]:
        """What it writes, block by block; with a terminal this is everything."""
        ...

    @property
    def stderr(self) -> AsyncIterator[bytes]:
        """What it complains of; empty with a terminal."""
        ...

    async def write(self, data: bytes) -> None:
        """Give it input; input that it no longer takes is dropped."""
        ...

    async def close_stdin(self) -> None:
        """Tell it that no more input comes."""
        ...

    async def resize(self, size: Size) -> None:
        """Tell its terminal how large it is; without a terminal nothing happens."""
        ...

    async def wait(self) -> int:
        """Its exit code, once it has ended and its outputs are over; 128 and the signal when one ended it.

        May be asked any number of times. `Unreachable` when the link to it broke, `Refused` when it could not start.
        """
        ...

    async def close(self) -> None:
        """Let go of it; if it still runs, it is told to hang up. May be done twice."""
        ...


class Wire(Protocol):
    """A connection to a port of a pod. Whoever has one closes it."""

    async def receive(self) -> bytes:
        """What came, at least a byte; nothing when the other side has no more to say."""
        ...

    async def send(self, data: bytes) -> None:
        """Pass bytes on; waits while the other side is busy. To one that is gone nothing is passed on."""
        ...

    async def close(self) -> None:
        """Hang up. May be done twice."""
        ...


class Streams(Protocol):
    """Who reaches into containers.

    Each of these is `NotFound` when there is no such pod or container, `NotYet` while it has not begun, and `Refused`
    with the words of the other side when it cannot be done.
    """

    def read_log(
        self, name: str, *, namespace: str, container: str, options: LogOptions = WHOLE_LOG
    ) -> AsyncGenerator[bytes, None]:
        """A container's log, in blocks of any size."""
        ...

    async def execute(
        self,
        name: str,
        *,
        namespace: str,
        container: str,
        command: Sequence[str],
        stdin: bool = False,
        tty: bool = False,
    ) -> Session:
        """Run a command in a container; without `stdin` it has no input, with `tty` a terminal."""
        ...

    async def forward(self, name: str, *, namespace: str, port: int) -> Wire:
        """Connect to a TCP port of a pod, on its loopback."""
        ...


class SocketWire:
    """A wire over a socket of asyncio."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def receive(self) -> bytes:
        """What came; a connection that was reset has no more to say."""
        try:
            return await self._reader.read(_BLOCK)
        except ConnectionError:
            return b""

    async def send(self, data: bytes) -> None:
        """Pass bytes on; to somebody who is gone they are not passed on."""
        with suppress(ConnectionError):
            self._writer.write(data)
            await self._writer.drain()

    async def close(self) -> None:
        """Hang up."""
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()
