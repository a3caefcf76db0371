"""One process looks after a cluster, one supervises it; whoever comes second does no harm."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from penstock.engine import processes
from penstock.engine.layout import Layout
from penstock.machine import held, process


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Layout]:
    """Places for a cluster; whoever is left of a test that failed is ended."""
    monkeypatch.setenv("PENSTOCK_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("PENSTOCK_RUN", str(tmp_path / "r"))
    found = Layout.of(f"two-{uuid4().hex[:8]}")
    found.make()
    found.log.touch()
    yield found
    for one in ours(found):
        processes.end_family(one)


def ours(layout: Layout) -> list[processes.Identity]:
    """Processes that were begun for a cluster."""
    return [one for one in processes.everybody() if layout.cluster in processes.command_line(one)]


def until(holds: Callable[[], object]) -> None:
    """Look until it is so; those are other processes, which tell nobody."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_supervisor_waits_while_somebody_else_looks_after_the_cluster(layout: Layout) -> None:
    """As after two `penstock up` at once: it neither spins nor gives up, and ends when told to."""
    with process.looking_after(layout), held.held_back(layout) as go:
        alive = go([])
        until(lambda: "one of ours follows" in layout.log.read_text())
        supervisor = process.found(layout, "supervise")
        assert supervisor is not None
        processes.send(supervisor, signal.SIGTERM)
        until(lambda: not alive())
    assert layout.log.read_text().count("is looked after by process") == 1


def test_a_second_supervisor_ends_with_its_child_and_the_first_stays_known(layout: Layout) -> None:
    us = processes.identify(os.getpid())
    with process.looking_after(layout), process.supervising(layout), held.held_back(layout) as go:
        alive = go([])
        until(lambda: not alive())
        assert process.found(layout, "supervise") == us
    assert f"is supervised by process {os.getpid()} already" in layout.log.read_text()
    assert ours(layout) == []
