"""Containers that are played: logs are what a test wrote down, commands run as processes of this machine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, suppress

from penstock.cluster.errors import NotYet, Refused
from penstock.cluster.streams import WHOLE_LOG, LogOptions, Session, Size, SocketWire, Wire


class Process:
    """A command that runs here instead of in a container."""

    def __init__(self, process: asyncio.subprocess.Process, containers: Played) -> None:
        self._process = process
        self._containers = containers

    @property
    def stdout(self) -> AsyncIterator[bytes]:
        """What it writes."""
        return self._containers.breaking(_blocks(self._process.stdout))

    @property
    def stderr(self) -> AsyncIterator[bytes]:
        """What it complains of."""
        return _blocks(self._process.stderr)

    async def write(self, data: bytes) -> None:
        """Give it input."""
        if self._process.stdin is not None:
            with suppress(ConnectionError):
                self._process.stdin.write(data)
                await self._process.stdin.drain()

    async def close_stdin(self) -> None:
        """No more input comes."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    async def resize(self, size: Size) -> None:
        """Write down how large the terminal is."""
        self._containers.sizes.append(size)
        self._containers.resized.set()

    async def wait(self) -> int:
        """Its exit code."""
        code = await self._process.wait()
        return code if code >= 0 else 128 - code

    async def close(self) -> None:
        """Hang up."""
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
        # Outputs that nobody read to their end would stay open.
        self._process._transport.close()  # type: ignore[attr-defined] # noqa: SLF001 - there is no public way
        self._containers.closed.set()


async def _blocks(reader: asyncio.StreamReader | None) -> AsyncIterator[bytes]:
    while reader is not None and (block := await reader.read(4096)):
        yield block


class Played:
    """Containers of one store."""

    def __init__(self) -> None:
        self.log = b"one\ntwo\nthree\n"
        self.asked: list[tuple[str, object]] = []
        """Where, and how: what was asked for."""
        self.sizes: list[Size] = []
        self.resized = asyncio.Event()
        self.closed = asyncio.Event()
        """The last session or log was let go of."""
        self.goes_on = False
        """A log does not end by itself."""
        self.breaks: Exception | None = None
        """What happens behind the first line of a log, or of a command's output."""
        self.waits = False
        """No container has begun."""

    async def read_log(
        self, name: str, *, namespace: str, container: str, options: LogOptions = WHOLE_LOG
    ) -> AsyncGenerator[bytes, None]:
        """The log, or the last lines of it."""
        self.asked.append((f"{namespace}/{name}/{container}", options))
        self._begin()
        lines = self.log.splitlines(keepends=True)
        try:
            for line in lines if options.tail is None else lines[len(lines) - options.tail :]:
                yield line
                if self.breaks is not None:
                    raise self.breaks
            if self.goes_on and options.follow:
                await asyncio.Event().wait()
        finally:
            self.closed.set()

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
        """Run a command here."""
        self.asked.append((f"{namespace}/{name}/{container}", (tuple(command), stdin, tty)))
        self._begin()
        pipe = asyncio.subprocess.PIPE
        source = pipe if stdin else asyncio.subprocess.DEVNULL
        try:
            process = await asyncio.create_subprocess_exec(*command, stdin=source, stdout=pipe, stderr=pipe)
        except FileNotFoundError:
            raise Refused(f'exec: "{command[0]}": executable file not found in $PATH') from None
        return Process(process, self)

    async def forward(self, name: str, *, namespace: str, port: int) -> Wire:
        """Connect to a port of this machine."""
        self.asked.append((f"{namespace}/{name}", port))
        self._begin()
        try:
            return SocketWire(*await asyncio.open_connection("127.0.0.1", port))
        except OSError as error:
            raise Refused(f"port {port} of pod {name}: {error.strerror}") from None

    async def breaking(self, blocks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """An output that may break."""
        async for block in blocks:
            yield block
            if self.breaks is not None:
                raise self.breaks

    def _begin(self) -> None:
        if self.waits:
            raise NotYet("ContainerCreating")


async def gathered(blocks: AsyncGenerator[bytes, None]) -> bytes:
    """All of a log."""
    async with aclosing(blocks):
        return b"".join([block async for block in blocks])
