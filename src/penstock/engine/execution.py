"""Commands inside of a running container: probes and hooks to their end, sessions for people.

`runc exec` takes user, variables and limits from the container's own configuration. What it starts has it as parent,
so that a command can be ended with all it has started, also inside of the container.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import pty
import signal
import struct
import termios
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

from penstock.engine import processes
from penstock.engine.processes import Identity

_ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """What became of a command."""

    exit_code: int | None
    """None: it was ended because it took too long."""
    output: bytes
    error: bytes

    @property
    def timed_out(self) -> bool:
        """Whether it took too long."""
        return self.exit_code is None

    @property
    def said(self) -> str:
        """Both outputs as a person reads them."""
        return b"\n".join(part.strip() for part in (self.output, self.error) if part.strip()).decode(errors="replace")


class Session:
    """A command that somebody talks with. Whoever opens one closes it: `async with` does."""

    def __init__(self, process: Process, streams: _Streams, *, terminal: int | None) -> None:
        self.stdin = streams.stdin
        """None when nothing is to be said."""
        self.stdout = streams.stdout
        self.stderr = streams.stderr
        """None with a terminal, which has one output only."""
        self._process = process
        self._identity = processes.identify(process.pid)
        self._terminal = terminal

    def resize(self, *, rows: int, columns: int) -> None:
        """Tell the command how large the terminal is; without one it does not matter."""
        if self._terminal is None:
            return
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        with suppress(ProcessLookupError):
            # The terminal is not runc's own, so the kernel does not tell it.
            self._process.send_signal(signal.SIGWINCH)

    async def wait(self) -> int:
        """The exit code. Read the outputs to their end meanwhile, or the command may wait for us."""
        return await self._process.wait()

    async def close(self) -> None:
        """End the command if it still runs, with all it started, and let go of the streams."""
        await _end(self._process, self._identity)
        if self.stdin is not None:
            self.stdin.close()
        if self._terminal is not None:
            os.close(self._terminal)
            self._terminal = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


@dataclass(frozen=True, slots=True)
class _Streams:
    stdin: asyncio.StreamWriter | None
    stdout: asyncio.StreamReader
    stderr: asyncio.StreamReader | None


def command(
    runc: Sequence[str],
    container_id: str,
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    user: str | None = None,
    cwd: str | None = None,
    tty: bool = False,
) -> list[str]:
    """The words for `runc exec`; what is left out is as in the container."""
    if not argv:
        raise ValueError(f"container {container_id}: no command to run was given")
    return [
        *runc,
        "exec",
        *(["--tty"] if tty else []),
        *([f"--user={user}"] if user is not None else []),
        *([f"--cwd={cwd}"] if cwd is not None else []),
        *(f"--env={name}={value}" for name, value in (env or {}).items()),
        "--",
        container_id,
        *argv,
    ]


async def run(words: Sequence[str], *, stdin: bytes = b"", timeout: float, limit: int = 16_384) -> Executed:  # noqa: ASYNC109
    """Run a program to its end, or to the end of its time, and keep the first `limit` bytes of each output."""
    process = await _spawned(words, PIPE if stdin else DEVNULL, PIPE, PIPE)
    identity = processes.identify(process.pid)
    output, error = bytearray(), bytearray()
    code: int | None = None
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await asyncio.gather(
                    _say(process.stdin, stdin),
                    _hear(process.stdout, output, limit),
                    _hear(process.stderr, error, limit),
                    process.wait(),
                )
                code = process.returncode
    finally:
        await asyncio.shield(_end(process, identity))
    return Executed(exit_code=code, output=bytes(output), error=bytes(error))


async def open_session(words: Sequence[str], *, tty: bool, stdin: bool = True) -> Session:
    """Start a program for somebody who talks with it, over pipes or over a terminal."""
    if tty:
        return await _with_terminal(words)
    process = await _spawned(words, PIPE if stdin else DEVNULL, PIPE, PIPE)
    assert process.stdout is not None  # noqa: S101 - asked for above
    return Session(process, _Streams(process.stdin, process.stdout, process.stderr), terminal=None)


async def _with_terminal(words: Sequence[str]) -> Session:
    ours, theirs = pty.openpty()
    try:
        process = await _spawned(words, theirs, theirs, theirs)
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    return Session(process, _Streams(await _writer(os.dup(ours)), await _reader(os.dup(ours)), None), terminal=ours)


async def _spawned(words: Sequence[str], stdin: int, stdout: int, stderr: int) -> Process:
    return await asyncio.create_subprocess_exec(
        *words, stdin=stdin, stdout=stdout, stderr=stderr, env=_ENVIRONMENT, cwd="/", start_new_session=True
    )


async def _end(process: Process, identity: Identity | None) -> None:
    if process.returncode is None and identity is not None:
        await asyncio.to_thread(processes.end_family, identity)
        await process.wait()


async def _say(stream: asyncio.StreamWriter | None, text: bytes) -> None:
    if stream is None:
        return
    with suppress(BrokenPipeError, ConnectionResetError):
        stream.write(text)
        await stream.drain()
        stream.close()


async def _hear(stream: asyncio.StreamReader | None, into: bytearray, limit: int) -> None:
    """Read to the end, also what is not kept: a command must not stop because it talks much."""
    while stream is not None and (part := await stream.read(65_536)):
        into += part[: max(limit - len(into), 0)]


class _TerminalReader(asyncio.StreamReader):
    """A terminal whose other side is closed says so by an error; for a reader that is the end."""

    def set_exception(self, exc: Exception) -> None:
        if isinstance(exc, OSError) and exc.errno == errno.EIO:
            self.feed_eof()
        else:
            super().set_exception(exc)


async def _reader(descriptor: int) -> asyncio.StreamReader:
    reader = _TerminalReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", 0))
    return reader


async def _writer(descriptor: int) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.streams.FlowControlMixin(loop), os.fdopen(descriptor, "wb", 0)
    )
    return asyncio.StreamWriter(transport, protocol, None, loop)
