"""The directory of a pod goes as a whole: nobody writes into it meanwhile, for that would stay."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from penstock.cluster.informer import Informer
from penstock.cluster.store import Store
from penstock.engine.directory import Directory
from penstock.engine.sandbox import Sandbox
from penstock.engine.services import SERVICES
from penstock.engine.volumes import prepared

from .pods import pod

_remove = prepared.remove


class Disk:
    """A disk that writes and removes only when it is let."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.let = threading.Event()
        self.done: list[str] = []
        self._loop = asyncio.get_running_loop()

    def remove(self, directory: Path) -> None:
        """As `prepared.remove`."""
        self._wait("removed")
        _remove(directory)

    def refresh(self, *_: object, **__: object) -> bool:
        """As `prepared.refresh`."""
        self._wait("refreshed")
        return True

    def _wait(self, what: str) -> None:
        self._loop.call_soon_threadsafe(self.begun.set)
        assert self.let.wait(10)
        self.done.append(what)


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    """Surroundings on the machine's own network, without volumes."""
    nobody: Any = None
    return Sandbox(
        pod("a", hostNetwork=True), tmp_path / "uid-of-a", network=nobody, addresses=nobody, sources=nobody,
        claims=nobody, group="penstock-test-of-nobody",
    )  # fmt: skip


def test_no_names_are_written_for_a_pod_that_goes(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        disk = Disk()
        monkeypatch.setattr(prepared, "remove", disk.remove)
        await sandbox.make(pod("a", hostNetwork=True))
        removing = asyncio.create_task(sandbox.remove())
        await disk.begun.wait()
        task = SimpleNamespace(pod=pod("a"), sandbox=sandbox, address=sandbox.address)
        Directory(cast(Any, {"uid-of-a": task}), Informer(Store(), SERVICES), lambda: None).moved()
        assert not (sandbox.names / "hosts").exists()
        disk.let.set()
        await removing
        assert not sandbox.directory.exists()

    asyncio.run(story())


def test_files_are_written_to_their_end_before_a_pod_goes_and_none_afterwards(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        disk, it = Disk(), pod("a", hostNetwork=True)
        monkeypatch.setattr(prepared, "refresh", disk.refresh)
        monkeypatch.setattr(prepared, "remove", disk.remove)
        await sandbox.make(it)
        writing = asyncio.create_task(sandbox.refresh(it))
        await disk.begun.wait()
        removing = asyncio.create_task(sandbox.remove())
        await asyncio.sleep(0.05)  # time for a removal that does not wait to come first
        disk.let.set()
        await asyncio.gather(writing, removing)
        assert disk.done == ["refreshed", "removed"]
        assert await sandbox.refresh(it) is False
        assert disk.done == ["refreshed", "removed"]

    asyncio.run(story())
