"""Hosts files of pods: there before a pod's containers start, current afterwards, and written no more than need be."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from penstock.cluster.informer import Informer
from penstock.cluster.store import Store
from penstock.engine.directory import Directory
from penstock.engine.pod import PodTask
from penstock.engine.services import SERVICES

from .pods import at, pod


class House:
    """Pods with directories, and the names in them."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.tasks: dict[str, PodTask] = {}
        self.flocks = 0
        self.told = asyncio.Event()
        self.directory = Directory(self.tasks, Informer(Store(), SERVICES), self._tell)

    def _tell(self) -> None:
        self.flocks += 1
        self.told.set()

    def come(self, name: str, address: str) -> None:
        """A pod has an address and a place for its names."""
        names = self.place / name / "names"
        names.mkdir(parents=True)
        task = SimpleNamespace(pod=pod(name, status=at(address)), address=address, sandbox=SimpleNamespace(names=names))
        self.tasks[f"uid-of-{name}"] = cast(PodTask, task)
        self.directory.moved()

    def known_to(self, name: str) -> set[str]:
        """Names that a pod knows beside its loopback."""
        lines = (self.place / name / "names/hosts").read_text().splitlines()
        return {word for line in lines if not line.startswith(("127.", "::")) for word in line.split()[1:]}

    async def flock(self) -> None:
        """Wait until all have been told."""
        self.told.clear()
        await self.told.wait()


def lived(place: Path, story: Callable[[House], Coroutine[Any, Any, None]]) -> None:
    async def everything() -> None:
        house = House(place)
        keeping = asyncio.create_task(house.directory.run())
        try:
            async with asyncio.timeout(30):
                await story(house)
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)

    asyncio.run(everything())


def test_a_pod_has_its_names_at_once(tmp_path: Path) -> None:
    """Its containers may look up their own name, or another's, as the first thing they do."""

    async def story(house: House) -> None:
        house.come("a", "10.244.0.2")
        house.come("b", "10.244.0.3")
        assert {"a", "b"} <= house.known_to("b")

    lived(tmp_path, story)


def test_those_who_are_there_hear_of_who_comes_and_goes(tmp_path: Path) -> None:
    async def story(house: House) -> None:
        house.come("a", "10.244.0.2")
        house.come("b", "10.244.0.3")
        await house.flock()
        assert "b" in house.known_to("a")
        del house.tasks["uid-of-b"]
        house.directory.moved()
        await house.flock()
        assert "b" not in house.known_to("a")

    lived(tmp_path, story)


def test_who_is_being_taken_away_is_told_nothing_more(tmp_path: Path) -> None:
    """Its directory is removed meanwhile, by somebody else: a file that appears in it would stop that."""

    async def story(house: House) -> None:
        house.come("a", "10.244.0.2")
        await house.flock()
        cast(SimpleNamespace, house.tasks["uid-of-a"]).address = ""
        (tmp_path / "a/names/hosts").unlink()
        house.come("b", "10.244.0.3")
        await house.flock()
        assert [*(tmp_path / "a/names").iterdir()] == []

    lived(tmp_path, story)


def test_many_changes_at_once_are_told_once(tmp_path: Path) -> None:
    """Forty pods that start would otherwise each have their file written forty times."""

    async def story(house: House) -> None:
        for number in range(40):
            house.come(f"p{number}", f"10.244.0.{number + 2}")
        await house.flock()
        assert house.flocks == 1
        assert {f"p{number}" for number in range(40)} <= house.known_to("p0")

    lived(tmp_path, story)


def test_a_pod_that_comes_back_under_its_uid_has_its_names_again(tmp_path: Path) -> None:
    """Its directory was removed with it; what it knew then is not in the new one."""

    async def story(house: House) -> None:
        house.come("a", "10.244.0.2")
        await house.flock()
        del house.tasks["uid-of-a"]
        house.directory.moved()
        await house.flock()
        (tmp_path / "a/names/hosts").unlink()
        (tmp_path / "a/names").rmdir()
        house.come("a", "10.244.0.2")
        assert "a" in house.known_to("a")

    lived(tmp_path, story)
