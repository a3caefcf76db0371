"""What people reach into containers for: their logs, a command in them, a connection to them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from penstock.cluster.errors import NotFound, NotYet, Refused
from penstock.cluster.port import LONGEST_LOG_LINE
from penstock.cluster.streams import WHOLE_LOG, LogOptions, Size, SocketWire, Wire
from penstock.engine import execution, logs, sockets
from penstock.engine.agent import Agent
from penstock.engine.keeper import Keeper
from penstock.engine.logs import Line
from penstock.engine.runtime import Runtime
from penstock.engine.views import Runs

_BLOCK = 65_536
_CONNECT = 5.0
"""Seconds to connect into a pod."""


class Streams:
    """The containers of an agent, as `penstock.cluster.streams.Streams` and the store's `LogSource` have them."""

    def __init__(self, agent: Agent, runtime: Runtime) -> None:
        self._agent = agent
        self._runtime = runtime

    async def logs(self, name: str, *, namespace: str, container: str, tail: int = 0) -> AsyncGenerator[str, None]:
        """The last lines of a container's log and each further one; it ends with the container."""
        keeper, log = self._log(name, namespace, container, previous=False)
        async for line in _followed(keeper, log, tail=tail):
            yield line.text[:LONGEST_LOG_LINE].decode(errors="replace")

    async def read_log(
        self, name: str, *, namespace: str, container: str, options: LogOptions = WHOLE_LOG
    ) -> AsyncGenerator[bytes, None]:
        """A container's log, in blocks."""
        keeper, log = self._log(name, namespace, container, previous=options.previous)
        since, left = _since(options), options.limit_bytes
        async for line in self._lines(keeper, log, options, since):
            block = (line.stamped if options.timestamps else line.text) + b"\n"
            yield block if left is None else block[:left]
            if left is not None and (left := left - len(block)) <= 0:
                return

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
        """Run a command in a container."""
        keeper = self._keeper(name, namespace, container)
        if keeper.attempt is None or not isinstance(keeper.view.state, Runs):
            raise Refused(f"container {container} of pod {namespace}/{name} does not run; see its state and its log")
        env = {"TERM": "xterm"} if tty else None
        opened = await self._runtime.session(keeper.attempt.container_id, command, env=env, tty=tty, stdin=stdin or tty)
        return Session(opened)

    async def forward(self, name: str, *, namespace: str, port: int) -> Wire:
        """Connect to a port of a pod, on its loopback."""
        task = self._agent.task(namespace, name)
        if task is None or not task.address:
            raise NotYet(f"pod {namespace}/{name} has no address yet")
        place = task.sandbox.namespace
        try:
            if place is None:
                return SocketWire(*await asyncio.open_connection("127.0.0.1", port))
            return SocketWire(*await sockets.connect(place, "127.0.0.1", port, timeout=_CONNECT))
        except OSError as problem:
            raise Refused(f"port {port} of pod {namespace}/{name}: {problem.strerror or problem}") from problem

    async def _lines(
        self, keeper: Keeper, log: Path, options: LogOptions, since: datetime | None
    ) -> AsyncGenerator[Line, None]:
        if options.follow and not options.previous:
            async for line in _followed(keeper, log, tail=options.tail, since=since):
                yield line
            return
        for line in await asyncio.to_thread(logs.read, log, tail=options.tail, since=since):
            yield line

    def _keeper(self, name: str, namespace: str, container: str) -> Keeper:
        task = self._agent.task(namespace, name)
        if task is None:
            raise NotYet(f"pod {namespace}/{name} has not begun here")
        keeper = task.keeper(container)
        if keeper is None:
            raise NotFound(f"container {container} is not valid for pod {name}")
        return keeper

    def _log(self, name: str, namespace: str, container: str, *, previous: bool) -> tuple[Keeper, Path]:
        keeper = self._keeper(name, namespace, container)
        log = keeper.log(previous=previous)
        if log is None:
            which = "previous terminated container" if previous else "container"
            raise NotYet(f"{which} {container} in pod {namespace}/{name} has not begun, so it has no log")
        return keeper, log


async def _followed(
    keeper: Keeper, log: Path, *, tail: int | None, since: datetime | None = None
) -> AsyncGenerator[Line, None]:
    try:
        async with aclosing(logs.follow(log, until=keeper.attempt_over(), tail=tail, since=since)) as lines:
            async for line in lines:
                yield line
    except FileNotFoundError as problem:
        # An attempt has its number before it has its directory, and loses it when the next but one begins.
        raise NotYet(f"container {keeper.container.name} has not begun, so it has no log: {problem}") from problem


def _since(options: LogOptions) -> datetime | None:
    if options.since_time:
        return datetime.fromisoformat(options.since_time)
    if options.since_seconds is not None:
        return datetime.now(UTC) - timedelta(seconds=options.since_seconds)
    return None


class Session:
    """A command that runs in a container."""

    def __init__(self, opened: execution.Session) -> None:
        self._opened = opened

    @property
    def stdout(self) -> AsyncIterator[bytes]:
        """What it writes."""
        return _blocks(self._opened.stdout)

    @property
    def stderr(self) -> AsyncIterator[bytes]:
        """What it complains of."""
        return _blocks(self._opened.stderr)

    async def write(self, data: bytes) -> None:
        """Give it input."""
        if self._opened.stdin is not None:
            try:
                self._opened.stdin.write(data)
                await self._opened.stdin.drain()
            except ConnectionError:
                pass  # It no longer reads.

    async def close_stdin(self) -> None:
        """Tell it that no more input comes."""
        if self._opened.stdin is not None:
            self._opened.stdin.close()

    async def resize(self, size: Size) -> None:
        """Tell its terminal how large it is."""
        self._opened.resize(rows=size.rows, columns=size.columns)

    async def wait(self) -> int:
        """Its exit code."""
        code = await self._opened.wait()
        return code if code >= 0 else 128 - code

    async def close(self) -> None:
        """Let go of it."""
        await self._opened.close()


async def _blocks(stream: asyncio.StreamReader | None) -> AsyncIterator[bytes]:
    while stream is not None and (block := await stream.read(_BLOCK)):
        yield block
