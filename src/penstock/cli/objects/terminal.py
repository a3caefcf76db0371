"""Our own terminal, joined to a command that runs elsewhere: input, both outputs, the window's size, the exit code."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import termios
import threading
import tty
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from typing import BinaryIO

from penstock.cluster.groups import TaskGroup
from penstock.cluster.streams import Session, Size

_BLOCK = 32 * 1024


async def attached(running: Session, *, stdin: bool, tty: bool) -> int:
    """Pass everything both ways until the command ends; its exit code."""
    with _raw_terminal(enabled=tty and stdin), _resizing(running, enabled=tty):
        if stdin:
            _pump_input(running, asyncio.get_running_loop())
        async with TaskGroup() as group:
            group.create_task(_pump(running.stdout, sys.stdout.buffer))
            group.create_task(_pump(running.stderr, sys.stderr.buffer))
            code = group.create_task(running.wait())
    return code.result()


async def _pump(blocks: AsyncIterator[bytes], out: BinaryIO) -> None:
    async for block in blocks:
        out.write(block)
        out.flush()


def _pump_input(running: Session, loop: asyncio.AbstractEventLoop) -> None:
    """Read our input in a thread that nobody waits for: a read of a terminal cannot be cancelled."""

    def pump() -> None:
        with suppress(RuntimeError, OSError):  # the loop is over, and with it the command
            while block := os.read(0, _BLOCK):
                _done_within(loop, partial(running.write, block))
            _done_within(loop, running.close_stdin)

    threading.Thread(target=pump, daemon=True, name="input").start()


def _done_within(loop: asyncio.AbstractEventLoop, make: Callable[[], Coroutine[None, None, None]]) -> None:
    """Wait until something is done in the loop, so that a slow command is not sent more than it takes.

    It is made there too: what was made for a loop that has ended meanwhile would be complained of, in our output.
    """
    failed: Future[bool] = Future()
    tasks: list[asyncio.Task[None]] = []

    def begin() -> None:
        tasks.append(loop.create_task(make()))
        tasks[0].add_done_callback(lambda task: failed.set_result(task.cancelled() or bool(task.exception())))

    loop.call_soon_threadsafe(begin)
    failed.result()


@contextmanager
def _raw_terminal(*, enabled: bool) -> Iterator[None]:
    """Every key goes to the other side, Ctrl-C as well; our terminal is as it was afterwards, whatever happens."""
    if not enabled:
        yield
        return
    before = termios.tcgetattr(0)
    try:
        tty.setraw(0)
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)


@contextmanager
def _resizing(running: Session, *, enabled: bool) -> Iterator[None]:
    """Tell the other side how large our window is, now and whenever that changes."""
    if not enabled:
        yield
        return
    loop, tasks = asyncio.get_running_loop(), set[asyncio.Task[None]]()

    def tell() -> None:
        columns, rows = shutil.get_terminal_size()
        task = loop.create_task(running.resize(Size(columns, rows)))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    with _signalled(loop, tell):
        tell()
        yield


@contextmanager
def _signalled(loop: asyncio.AbstractEventLoop, tell: Callable[[], None]) -> Iterator[None]:
    loop.add_signal_handler(signal.SIGWINCH, tell)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGWINCH)
