"""Who will look after a cluster is loaded while `penstock up` checks the machine, and waits for its word."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from penstock.engine import processes
from penstock.engine.layout import Layout
from penstock.engine.processes import Identity
from penstock.machine import held, process
from penstock.machine.bring_up import answering
from penstock.machine.take_down import take_down

from . import traces


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    """Places for a cluster without any pods."""
    monkeypatch.setenv("PENSTOCK_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("PENSTOCK_RUN", str(tmp_path / "r"))
    return Layout.of(f"held-{os.getpid()}")


def ours(layout: Layout, command: str) -> list[Identity]:
    """Processes that run a command of ours for this cluster."""
    everybody = ((one, processes.command_line(one)) for one in processes.everybody())
    return [one for one, words in everybody if command in words and layout.cluster in words]


async def one(layout: Layout, command: str) -> Identity:
    """The process that runs a command of ours, once there is one."""
    async with asyncio.timeout(30):
        while not (found := ours(layout, command)):  # noqa: ASYNC110 - nobody tells us
            await asyncio.sleep(0.02)
    return found[0]


def touched(layout: Layout) -> list[str]:
    """What somebody who looks after a cluster leaves: a lock, a store, notes of who it is."""
    places = [layout.state / "lock", layout.store, layout.run / "serve.json", layout.run / "supervise.json"]
    return [place.name for place in places if place.exists()]


def test_without_a_word_nothing_happens(layout: Layout) -> None:
    """As when something is missing, and as when `up` is killed: all they hear is the end of their input."""

    async def story() -> list[Identity]:
        with held.held_back(layout):
            begun = [await one(layout, "supervise"), await one(layout, "serve")]
            assert all(processes.is_alive(each) for each in begun)
        return begun

    begun = asyncio.run(story())
    assert [each for each in begun if processes.is_alive(each)] == []
    assert touched(layout) == []


async def ended_well(layout: Layout, story: Coroutine[Any, Any, Callable[[], bool]]) -> None:
    """A story, and the end of all that it began; it gives whether its child, which we bury, still runs."""
    alive: Callable[[], bool] = lambda: False  # noqa: E731
    try:
        async with asyncio.timeout(60):
            alive = await story
    finally:
        await take_down(layout, print, purge=True)
    assert not alive()


def test_with_the_word_the_cluster_is_looked_after(layout: Layout) -> None:
    """By those that were begun before, and whoever dies is followed by another one."""

    async def story() -> Callable[[], bool]:
        with held.held_back(layout) as go:
            waiting = await one(layout, "serve")
            assert touched(layout) == []
            alive = go([])
        await answering(layout.socket, seconds=30, alive=alive)
        assert (process.found(layout), process.is_kept(layout)) == (waiting, True)
        processes.send(waiting, signal.SIGKILL)
        await processes.ended(waiting)
        await answering(layout.socket, seconds=30, alive=alive)
        assert process.found(layout) not in {waiting, None}
        return alive

    asyncio.run(ended_well(layout, story()))
    assert traces.of(layout) == []


def test_who_dies_while_it_waits_is_followed_by_nobody_before_the_word(layout: Layout) -> None:
    """`kill -9` must not begin what nobody has allowed."""

    async def story() -> Callable[[], bool]:
        with held.held_back(layout) as go:
            waiting = await one(layout, "serve")
            processes.send(waiting, signal.SIGKILL)
            await processes.ended(waiting)
            supervisor = await one(layout, "supervise")
            assert (touched(layout), ours(layout, "serve")) == ([], [])
            alive = go([])
        await answering(layout.socket, seconds=30, alive=alive)
        assert process.found(layout, "supervise") == supervisor
        return alive

    asyncio.run(ended_well(layout, story()))
    assert traces.of(layout) == []


def test_up_that_refuses_has_started_nothing(layout: Layout, tmp_path: Path) -> None:
    """A manifest that no machine can run is found out while the processes are being loaded."""
    (tmp_path / "bad.yaml").write_text("{apiVersion: v1, kind: Nonsense, metadata: {name: a}}\n")
    words = ["up", "--detach", "--cluster", layout.cluster, "--file", str(tmp_path / "bad.yaml")]
    done = subprocess.run(
        [sys.executable, "-m", "penstock", *words], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, "Nonsense" in done.stderr) == (1, True), done.stderr
    assert (ours(layout, "supervise"), ours(layout, "serve"), touched(layout)) == ([], [], [])
