"""SPEC ONE-2: who looks after a cluster is started again, whoever of the two dies first."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from penstock.engine import processes
from penstock.engine.layout import Layout
from penstock.machine import checks, process
from penstock.machine.bring_up import answering
from penstock.machine.take_down import take_down

from . import traces

STARTED: list[Callable[[], bool]] = []
"""Whether each of our children still runs; asked in the end, which buries it."""


@pytest.fixture(autouse=True)
def buried() -> Iterator[None]:
    """Leave no child of ours behind."""
    yield
    running = [alive() for alive in STARTED]
    assert True not in running
    STARTED.clear()


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    """Places for a cluster without any pods."""
    monkeypatch.setenv("PENSTOCK_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("PENSTOCK_RUN", str(tmp_path / "r"))
    return Layout.of(f"kept-{os.getpid()}")


def test_an_orphan_gets_a_supervisor_again(layout: Layout) -> None:
    """A supervisor that finds somebody at work waits for its end, and starts the next one."""

    async def story() -> None:
        words = ["--cluster", layout.cluster]
        STARTED.append(process.start_detached(layout, words))
        first, kept = await _there(layout, "serve"), process.is_kept(layout)
        supervisor = await _there(layout, "supervise")
        processes.send(supervisor, signal.SIGKILL)
        await processes.ended(supervisor)
        assert (kept, process.is_kept(layout), processes.is_alive(first)) == (True, False, True)
        STARTED.append(process.start_detached(layout, words))
        await _there(layout, "supervise")
        assert process.is_kept(layout)
        processes.send(first, signal.SIGKILL)
        await processes.ended(first)
        assert await _there(layout, "serve") != first

    async def whole_story() -> None:
        try:
            async with asyncio.timeout(60):
                await story()
        finally:
            await take_down(layout, print, purge=True)

    asyncio.run(whole_story())
    assert traces.of(layout) == []


def test_who_waits_for_an_orphan_can_be_told_to_stop(layout: Layout) -> None:
    """`penstock down` ends both, in whatever order it finds them."""

    async def story() -> None:
        words = ["--cluster", layout.cluster]
        STARTED.append(process.start_detached(layout, words))
        await _there(layout, "serve")
        supervisor = await _there(layout, "supervise")
        processes.send(supervisor, signal.SIGKILL)
        await processes.ended(supervisor)
        STARTED.append(process.start_detached(layout, words))
        await _there(layout, "supervise")
        async with asyncio.timeout(10):
            await take_down(layout, print, purge=True)

    asyncio.run(story())
    assert traces.of(layout) == []


def test_a_port_that_somebody_else_has_does_not_end_it(layout: Layout) -> None:
    """Who is started again may find its port taken: the cluster is looked after all the same, the port taken later."""

    async def story(taken: socket.socket) -> None:
        port = taken.getsockname()[1]
        STARTED.append(process.start_detached(layout, ["--cluster", layout.cluster, "--ssh-port", str(port)]))
        await answering(layout.socket, seconds=30, alive=lambda: True)
        first = await _there(layout, "serve")
        taken.close()
        while checks.is_free(port):  # noqa: ASYNC110 - a port tells nobody
            await asyncio.sleep(0.05)
        assert process.found(layout) == first

    async def whole_story() -> None:
        try:
            async with asyncio.timeout(60):
                with socket.create_server(("127.0.0.1", 0)) as taken:
                    await story(taken)
        finally:
            await take_down(layout, print, purge=True)

    asyncio.run(whole_story())


async def _there(layout: Layout, role: str) -> processes.Identity:
    async with asyncio.timeout(30):
        while (found := process.found(layout, role)) is None:  # noqa: ASYNC110 - it tells by a file
            await asyncio.sleep(0.05)
    return found
