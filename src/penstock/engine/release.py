"""Let a container begin that runc has made: what `runc start` does, without a program for it.

The first process of such a container waits for somebody to open the pipe `exec.fifo` beside runc's notes, says one byte
and becomes what the container runs. Whoever opens the pipe removes it: one without it has been started, for runc as for
us. It is removed first, so that a container whose engine dies at this moment is not taken for one that never ran.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from penstock.engine import processes
from penstock.engine.processes import Identity


class NotReleased(Exception):
    """The container had begun before, or has ended before it could; the message says which."""


def waits(root: Path, container_id: str) -> bool:
    """Whether a container has been made and not been started."""
    return _pipe(root, container_id).exists()


async def release(root: Path, container_id: str, first: Identity) -> None:
    """Let the first process of a container go on, and see that it does."""
    pipe = _pipe(root, container_id)
    try:
        descriptor = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise NotReleased("the container has been started before, or is gone") from None
    try:
        pipe.unlink(missing_ok=True)
        await _until_readable(descriptor, first)
        if not os.read(descriptor, 1):
            raise NotReleased("the container ended before it could be started")
    except BlockingIOError:
        raise NotReleased("the container ended before it could be started") from None
    finally:
        os.close(descriptor)


async def _until_readable(descriptor: int, first: Identity) -> None:
    """Wait for a word, or for the end of who should say it."""
    loop, said = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(descriptor, said.set)
    waiting = [asyncio.create_task(said.wait()), asyncio.create_task(processes.ended(first))]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        loop.remove_reader(descriptor)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


def _pipe(root: Path, container_id: str) -> Path:
    return root / container_id / "exec.fifo"
