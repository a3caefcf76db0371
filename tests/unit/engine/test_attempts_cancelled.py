"""Who is told to stop in the middle of making something does not go before it is made: nobody would remove it."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec

from penstock.engine.addresses import Addresses
from penstock.engine.attempts import Attempt
from penstock.engine.compose import Composer
from penstock.engine.downward import Facts
from penstock.engine.host import this_machine as machine
from penstock.engine.network import DEFAULT_SUBNET, Network
from penstock.engine.podspec import Container
from penstock.engine.sandbox import Sandbox

from .played_containers import image
from .pods import Given, pod


class Slow:
    """Something that is done in a thread and takes until it is let go on."""

    def __init__(self) -> None:
        self.begun, self.go, self.over = threading.Event(), threading.Event(), threading.Event()

    def make(self, directory: Path) -> None:
        """Make a directory, slowly."""
        self.begun.set()
        self.go.wait(10)
        directory.mkdir(parents=True, exist_ok=True)
        self.over.set()

    async def cancelled(self, making: asyncio.Task[Any]) -> None:
        """Cancel who makes it, in the middle, and see that task end."""
        await asyncio.to_thread(self.begun.wait, 10)
        making.cancel()
        asyncio.get_running_loop().call_later(0.05, self.go.set)
        await asyncio.gather(making, return_exceptions=True)


def test_a_pod_that_leaves_while_its_volumes_are_made_leaves_nothing(tmp_path: Path) -> None:
    slow, place = Slow(), tmp_path / "pods/uid"
    given = pod(
        "p", hostNetwork=True, containers=[{"name": "main"}],
        volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
    )  # fmt: skip

    def claim(_namespace: str, _name: str) -> Path:
        slow.make(place / "volumes")
        return tmp_path

    async def main() -> None:
        sandbox = Sandbox(
            given, place, network=Network("test"), addresses=Addresses(DEFAULT_SUBNET, in_use=[]), sources=Given(),
            claims=claim, group="/penstock-test-none",
        )  # fmt: skip
        await slow.cancelled(asyncio.create_task(sandbox.make(given)))
        await sandbox.remove()
        await asyncio.to_thread(slow.over.wait, 10)
        assert not place.exists()

    asyncio.run(main())


def test_a_container_that_leaves_while_it_is_put_together_is_put_together_first(tmp_path: Path) -> None:
    slow = Slow()

    class SlowToTell(Given):
        """ConfigMaps that take their time."""

        def config_map(self, namespace: str, name: str) -> None:  # noqa: ARG002
            slow.make(tmp_path / "rootfs")

    reference = {"configMapKeyRef": {"name": "x", "key": "y"}}
    container = msgspec.convert({"name": "main", "env": [{"name": "X", "valueFrom": reference}]}, Container)

    async def main() -> None:
        compose = Composer(SlowToTell(), machine=machine()).of(
            pod("p"), cast(Sandbox, SimpleNamespace(volumes={}, facts=lambda _: Facts()))
        )
        attempt = Attempt(number=0, container_id="id", directory=tmp_path)
        await slow.cancelled(asyncio.ensure_future(compose(container, image("x"), attempt)))
        assert slow.over.is_set()

    asyncio.run(main())
