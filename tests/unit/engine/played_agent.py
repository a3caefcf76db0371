"""An agent over a real store, on a machine that only pretends: neither its network nor its containers are there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from penstock.api.objects import Json
from penstock.cluster.store import Store
from penstock.engine.agent import Agent, Means
from penstock.engine.contents import CONFIG_MAPS
from penstock.engine.layout import Layout
from penstock.engine.network import Network, NetworkError
from penstock.engine.podspec import PODS
from penstock.images.errors import MissingImage
from penstock.images.library import Image

from .played_containers import PlayedRuntime

MACHINE = "here"
NAMESPACE = "slurm"


class PlayedNetwork(Network):
    """A network without a kernel: it remembers who has a cable."""

    def __init__(self) -> None:
        super().__init__("played")
        self.cables: dict[str, IPv4Address] = {}
        self.refusals = 0
        """How often a pod cannot be detached before it can."""
        self.tries: list[float] = []
        """When a pod was to be detached."""

    def attached(self) -> set[str]:
        """Those with a cable."""
        return {*self.cables}

    async def ensure_fabric(self) -> None:
        """Nothing to make."""

    async def attach(self, pod_id: str, address: IPv4Address) -> None:
        """Lay a cable."""
        self.cables[pod_id] = address

    async def detach(self, pod_id: str) -> None:
        """Take a cable away."""
        self.tries.append(asyncio.get_running_loop().time())
        if self.refusals > 0:
            self.refusals -= 1
            raise NetworkError("the kernel is busy")
        self.cables.pop(pod_id, None)


class Machine:
    """A machine with an agent. Its pods have volumes and addresses; of their images there are none."""

    def __init__(self, directory: Path, claims: Callable[[str, str], Path]) -> None:
        self.layout = Layout(cluster="played", state=directory / "state", run=directory / "run")
        self.layout.make()
        self.store = Store()
        self.network = PlayedNetwork()
        means = Means(cluster=self.store, layout=self.layout, machine=MACHINE, find=_no_image, claims=claims)
        means.network, means.runtime = self.network, PlayedRuntime(self.layout.runc)
        self.agent = Agent(means)
        self.begin = asyncio.Event()

    async def pod(self, name: str, **said: Any) -> str:
        """Have a pod on this machine; its uid."""
        meta = {"name": name, "namespace": NAMESPACE, "labels": said.pop("labels", {})}
        spec = {"nodeName": MACHINE, "containers": [{"name": "main", "image": "none"}], **said}
        return str((await self.store.create(PODS, {"metadata": meta, "spec": spec})).metadata.uid)

    async def config_map(self, name: str, **data: str) -> None:
        """Have a ConfigMap hold this."""
        body: Json = {"metadata": {"name": name, "namespace": NAMESPACE}, "data": data}
        await self.store.apply(CONFIG_MAPS, body, manager="test", force=True)

    def volume(self, uid: str, name: str = "v") -> Path:
        """A volume of a pod."""
        return self.layout.pod(uid) / "volumes" / name

    def shown(self, uid: str, path: str, volume: str = "v") -> str:
        """What a pod reads in a file; nothing when it is not there."""
        try:
            return (self.volume(uid, volume) / path).read_text()
        except FileNotFoundError:
            return ""


@asynccontextmanager
async def machine(
    directory: Path, claims: Callable[[str, str], Path] | None = None, *, begins: bool = True
) -> AsyncIterator[Machine]:
    """A machine whose agent runs, or waits for `begin`."""
    it = Machine(directory, claims or (lambda _namespace, _name: directory))
    if begins:
        it.begin.set()
    running = asyncio.create_task(it.agent.run(it.begin))
    try:
        yield it
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def _no_image(name: str) -> Image:
    raise MissingImage(f"there is no image called {name}; build it")
