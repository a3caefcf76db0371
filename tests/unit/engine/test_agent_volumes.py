"""Pods see what their ConfigMaps, and they themselves, say now: whenever it changed, and whatever was in the way."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.virtual_time import run, until

from penstock.engine.podspec import PODS
from penstock.engine.sandbox import Sandbox

from .played_agent import NAMESPACE, machine
from .pods import Given, pod

CONFIG = {"name": "v", "configMap": {"name": "cm"}}
CLAIM = {"name": "c", "persistentVolumeClaim": {"claimName": "large"}}
LABELS = [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]


@pytest.fixture
def without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Virtual time stands still for threads: what would be done by one is done at once."""

    async def at_once(work: Callable[..., Any], *words: Any, **said: Any) -> Any:
        return work(*words, **said)

    monkeypatch.setattr(asyncio, "to_thread", at_once)


def test_a_change_while_volumes_are_made_is_shown(tmp_path: Path) -> None:
    """A large claim may take minutes before the pod has all of its volumes."""
    let, loop_of_test = threading.Event(), asyncio.new_event_loop()
    begun = asyncio.Event()

    def claims(_namespace: str, _name: str) -> Path:
        loop_of_test.call_soon_threadsafe(begun.set)
        assert let.wait(30)
        return tmp_path

    async def story() -> None:
        async with asyncio.timeout(30), machine(tmp_path / "machine", claims) as it:
            await it.config_map("cm", file="one")
            uid = await it.pod("p", volumes=[CONFIG, CLAIM])
            await begun.wait()
            assert it.shown(uid, "file") == "one"
            other = await it.pod("q", volumes=[CONFIG])
            await until(lambda: it.shown(other, "file") == "one", within=10)
            await it.config_map("cm", file="two")
            await until(lambda: it.shown(other, "file") == "two", within=10)
            let.set()
            await until(lambda: it.shown(uid, "file") == "two", within=10)

    with asyncio.Runner(loop_factory=lambda: loop_of_test) as runner:
        runner.run(story())


@pytest.mark.usefixtures("without_threads")
def test_a_change_that_cannot_be_shown_now_is_shown_as_soon_as_it_can(tmp_path: Path) -> None:
    """A full disk, say; nobody has to change the ConfigMap once more."""

    async def story() -> None:
        async with machine(tmp_path) as it:
            await it.config_map("cm", file="one")
            uid = await it.pod("p", volumes=[CONFIG])
            await until(lambda: it.shown(uid, "file") == "one")
            in_the_way = it.volume(uid) / "..data_tmp"
            in_the_way.mkdir()
            await it.config_map("cm", file="two")
            await asyncio.sleep(10)
            assert it.shown(uid, "file") == "one"
            in_the_way.rmdir()
            await until(lambda: it.shown(uid, "file") == "two", within=120)

    run(story())


@pytest.mark.usefixtures("without_threads")
@pytest.mark.parametrize(
    "volume", [{"downwardAPI": {"items": LABELS}}, {"projected": {"sources": [{"downwardAPI": {"items": LABELS}}]}}]
)
def test_a_pod_reads_its_labels_as_they_are(tmp_path: Path, volume: dict[str, Any]) -> None:
    async def story() -> None:
        async with machine(tmp_path) as it:
            uid = await it.pod("p", labels={"app": "one"}, volumes=[{"name": "v", **volume}])
            await until(lambda: it.shown(uid, "labels") == 'app="one"')
            before = (it.volume(uid) / "..data").readlink()
            await it.store.patch(PODS, "p", {"metadata": {"labels": {"app": "two"}}}, namespace=NAMESPACE)
            await until(lambda: it.shown(uid, "labels") == 'app="two"')
            assert (it.volume(uid) / "..data").readlink() != before, "as a whole"

    run(story())


@pytest.mark.usefixtures("without_threads")
def test_labels_are_nothing_to_pods_that_do_not_read_them(tmp_path: Path) -> None:
    """Workers are labelled often, and their volumes are many."""

    async def story() -> None:
        async with machine(tmp_path) as it:
            await it.config_map("cm", file="one")
            uid = await it.pod("p", labels={"app": "one"}, volumes=[CONFIG])
            await until(lambda: it.shown(uid, "file") == "one")
            (it.volume(uid) / "..data" / "file").write_text("as nobody looked")
            await it.store.patch(PODS, "p", {"metadata": {"labels": {"app": "two"}}}, namespace=NAMESPACE)
            await asyncio.sleep(600)
            assert it.shown(uid, "file") == "as nobody looked"

    run(story())


def test_volumes_that_are_made_again_have_one_writer(tmp_path: Path) -> None:
    """Two would sweep up each other's files."""

    async def story() -> None:
        begun, let, loop = asyncio.Event(), threading.Event(), asyncio.get_running_loop()
        let.set()

        def claims(_namespace: str, _name: str) -> Path:
            loop.call_soon_threadsafe(begun.set)
            assert let.wait(30)
            return tmp_path

        it = pod("p", hostNetwork=True, volumes=[CONFIG, CLAIM])
        nobody: Any = None
        given = Given({"cm": {"file": b"one"}})
        sandbox = Sandbox(
            it, tmp_path / "p", network=nobody, addresses=nobody, sources=given, claims=claims, group="of-nobody"
        )
        async with asyncio.timeout(30):
            await sandbox.make(it)
            begun.clear()
            let.clear()
            making = asyncio.create_task(sandbox.make(it))
            await begun.wait()
            given.config_maps["cm"] = {"file": b"two"}
            assert not await sandbox.refresh(it)
            let.set()
            await making
            assert await sandbox.refresh(it)
            assert (tmp_path / "p" / "volumes" / "v" / "file").read_bytes() == b"two"

    asyncio.run(story())
