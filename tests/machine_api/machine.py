"""A machine's API for one test: a store behind a socket, played containers, and clients of both kinds."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp
import msgspec

from penstock.api.objects import Json
from penstock.cluster.catalogue import find
from penstock.cluster.kube import KubeCluster, Limits, local
from penstock.cluster.resources import Whole
from penstock.cluster.store import Store
from penstock.machine.api import Door, serve
from penstock.machine.api.server import Serving

from .played import Played

TOKEN = "open-sesame"
PODS, CONFIG_MAPS, NODE_SETS = (find(word).reading(Whole) for word in ("pods", "configmaps", "nodesets"))
_PATIENCE = 30.0
"""Seconds that a test may take; none needs more than two."""


@dataclass(frozen=True)
class Machine:
    """A machine, and the ways to it."""

    store: Store
    containers: Played
    serving: Serving
    cluster: KubeCluster
    session: aiohttp.ClientSession

    async def ask(
        self, method: str, path: str, body: Any = None, *, kind: str = "application/json", **query: str
    ) -> tuple[int, Any]:
        """The code and the body of an answer to a bare request."""
        # A stream, because aiohttp warns of bytes that are many.
        raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
        data = None if body is None else io.BytesIO(raw)
        headers = {} if body is None else {"Content-Type": kind}
        async with self.session.request(
            method, f"http://machine{path}", data=data, params=query, headers=headers
        ) as answer:
            text = await answer.read()
            is_json = answer.content_type == "application/json"
            return answer.status, msgspec.json.decode(text) if is_json else text.decode()


@asynccontextmanager
async def machine(*, history: int = 10_000, limits: Limits | None = None) -> AsyncIterator[Machine]:
    """A machine with a pod that runs, `slurm/pod`, and nothing else but its namespace."""
    with TemporaryDirectory(prefix="penstock-") as directory:
        path, containers = Path(directory) / "api.sock", Played()
        async with (
            Store(history=history) as store,
            serve(store, containers, path=path, door=Door(token=TOKEN)) as serving,
            KubeCluster(local(path), limits) as cluster,
            aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(path))) as session,
        ):
            await store.create(find("ns").reading(Whole), {"metadata": {"name": "slurm"}})
            await store.create(PODS, pod("pod", nodeName="here"))
            yield Machine(store, containers, serving, cluster, session)


def pod(name: str, **spec: Any) -> Json:
    """A pod with two containers."""
    containers = [{"name": "main", "image": "x"}, {"name": "side", "image": "x"}]
    return {"metadata": {"name": name, "namespace": "slurm"}, "spec": {"containers": containers, **spec}}


def config_map(name: str, **data: str) -> Json:
    """A ConfigMap."""
    return {"metadata": {"name": name, "namespace": "slurm"}, "data": data}


def told(answer: Mapping[str, Any]) -> tuple[int, str]:
    """The code and the reason of a Status, which repeats what HTTP says."""
    assert (answer["kind"], answer["apiVersion"], answer["status"]) == ("Status", "v1", "Failure")
    assert answer["message"]
    return answer["code"], answer["reason"]


def run(test: Callable[[Machine], Awaitable[None]], **options: Any) -> None:
    """Run a test on a machine of its own."""

    async def main() -> None:
        async with asyncio.timeout(_PATIENCE), machine(**options) as given:
            await test(given)

    asyncio.run(main())
