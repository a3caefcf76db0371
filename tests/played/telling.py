"""What the operator tells Slurm about nodes, without the rest of the operator: a NodeSet `w`, what is known, a Slurm.

The Slurm is a real one, or the played one without a network between.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from penstock.api.nodeset import NodeSet
from penstock.api.objects import Json
from penstock.cluster.events import Recorder
from penstock.cluster.store import Store
from penstock.operator.caches import Caches
from penstock.operator.contents import Contents
from penstock.operator.context import Context
from penstock.operator.metrics import Metrics
from penstock.operator.nodeset.recording import Recorded, Recording
from penstock.operator.nodeset.snapshot import Snapshot
from penstock.operator.owned import Owned
from penstock.operator.references import cluster_of
from penstock.operator.reports import Reports
from penstock.operator.resources import CUSTOMS, MACHINES, PODS, SECRETS
from penstock.operator.slurm import Slurm
from penstock.operator.slurm_links import Connect, Links
from penstock.operator.views import View
from penstock.render import labels
from penstock.render.names import Domain
from penstock.slurm.rest.errors import SlurmUnreachable
from penstock.slurm.rest.transport import Reply, Transport

from .slurm_desk import Desk
from .wire import Request

NAMESPACE, NODE_SET = "hpc", "w"
_REF = {"name": "slurm"}
_KEY = {"name": "keys", "key": "jwt.key"}


class Telling:
    """What the operator knows of a NodeSet, and its way to Slurm."""

    def __init__(self, store: Store, context: Context) -> None:
        self.store, self.context = store, context
        self._recording = Recording()

    async def node_set(self, name: str = NODE_SET, **spec: Any) -> None:
        """Somebody applies a NodeSet; the nodes of `w` are called w0, w1, and so on."""
        about = {"name": name, "namespace": NAMESPACE}
        body = {"controllerRef": _REF, "template": {"spec": {"hostname": name}}, **spec}
        await self.store.apply(CUSTOMS["NodeSet"], {"metadata": about, "spec": body}, manager="kubectl")

    async def machine(self, name: str, **annotations: str) -> None:
        """A machine, with such annotations."""
        await self.store.apply(MACHINES, {"metadata": {"name": name, "annotations": annotations}}, manager="kubectl")

    async def worker(self, node: str, machine: str) -> None:
        """A worker with its Slurm node, on a machine."""
        owner = await self.store.get(CUSTOMS["NodeSet"], NODE_SET, NAMESPACE)
        reference = {"apiVersion": "slinky.slurm.net/v1beta1", "kind": "NodeSet", "name": NODE_SET}
        about = {
            "name": f"pod-{node}", "namespace": NAMESPACE,
            "labels": {labels.NAME: "slurmd", labels.POD_HOSTNAME: node},
            "ownerReferences": [{**reference, "uid": owner.metadata.uid, "controller": True}],
        }  # fmt: skip
        await self.store.create(PODS, {"metadata": about, "spec": {"nodeName": machine, "containers": []}})

    async def gone(self, node: str) -> None:
        """The worker of a node is gone."""
        await self.store.delete(PODS, f"pod-{node}", namespace=NAMESPACE, grace_seconds=0)

    async def observe(self) -> Snapshot:
        """What is known once the watch has shown everything and Slurm was asked."""
        await self._shown()
        caches = self.context.caches
        found = caches.decoded(("NodeSet", NAMESPACE, NODE_SET))
        assert isinstance(found, NodeSet)
        cluster = cluster_of(await self.context.inventory(NAMESPACE), found)
        assert cluster is not None
        await self.context.slurm.ask(cluster.controller)
        known = self.context.slurm.nodes(cluster.controller)
        return Snapshot(
            node_set=found,
            pods=tuple(caches.pods.by("owners", found.metadata.uid)),
            machines={machine.metadata.name: machine for machine in caches.machines.all()},
            slurm=known.nodes if known else None,
        )

    async def look(self, now: Snapshot | None = None, **changed: Any) -> Recorded:
        """Tell Slurm what it should be told now, or at the moment of another look."""
        now = replace(now or await self.observe(), **changed)
        item = self.context.caches.find(("NodeSet", NAMESPACE, NODE_SET))
        cluster = cluster_of(await self.context.inventory(NAMESPACE), now.node_set)
        assert item is not None
        assert cluster is not None
        return await self._recording.record(self.context, item, cluster, now)

    async def _shown(self) -> None:
        """Wait until the watch has shown everything."""
        caches = self.context.caches
        views: list[View[Any]] = [caches.customs["NodeSet"], caches.pods, caches.machines]
        async with asyncio.timeout(10):
            for view in views:
                there = {one.metadata.resource_version for one in (await self.store.list(view.resource)).items}
                while {one.metadata.resource_version for one in view.all()} != there:  # noqa: ASYNC110 - a view is asked
                    await asyncio.sleep(0)


@asynccontextmanager
async def telling(key: bytes, *, url: str = "http://played", connect: Connect = Transport) -> AsyncIterator[Telling]:
    """A NodeSet without workers, and the Slurm at an address."""
    async with Store() as store:
        await _applied(store, key)
        context = _context(store, url, connect)
        async with asyncio.TaskGroup() as group:
            informers = [informer for view in context.caches.views for informer in view.informers]
            tasks = [group.create_task(one.run()) for one in informers]
            tasks.append(group.create_task(context.events.run()))
            await context.caches.synced()
            stage = Telling(store, context)
            await stage.node_set()
            try:
                yield stage
            finally:
                await context.slurm.close()
                for task in tasks:
                    task.cancel()


async def _applied(store: Store, key: bytes) -> None:
    about = {"name": "slurm", "namespace": NAMESPACE}
    controller = {"slurmKeyRef": {"name": "keys", "key": "slurm.key"}, "jwtKeyRef": _KEY}
    await store.create(CUSTOMS["Controller"], {"metadata": about, "spec": controller})
    await store.create(CUSTOMS["RestApi"], {"metadata": about, "spec": {"controllerRef": _REF}})
    texts: Json = {"jwt.key": base64.b64encode(key).decode(), "slurm.key": "a2V5"}
    await store.create(SECRETS, {"metadata": {"name": "keys", "namespace": NAMESPACE}, "data": texts})


def _context(store: Store, url: str, connect: Connect) -> Context:
    def look(_key: object, _seconds: float) -> None:
        """Nobody looks by itself here."""

    caches, now = Caches.over(store), lambda: datetime.now(UTC)
    contents = Contents(store, caches.config_maps, caches.secrets)
    links = Links(caches, contents, locate=lambda _: url, now=now, connect=connect)
    return Context(
        cluster=store, caches=caches, contents=contents, owned=Owned(store, caches.owned), look=look, now=now,
        slurm=Slurm(caches, look=look, links=links), metrics=Metrics(),
        events=Recorder(store, instance="test"), reports=Reports(store, caches, look), domain=Domain(),
    )  # fmt: skip


class DeskTransport(Transport):
    """The way to a played slurmrestd without a network; every request is noted."""

    def __init__(self, desk: Desk) -> None:
        super().__init__("http://played")
        self.requests: list[tuple[str, str]] = []
        self.broken = False
        self._desk = desk

    async def send(self, method: str, path: str, headers: dict[str, str], body: bytes = b"") -> Reply:
        """Ask the desk."""
        address = urlsplit(path)
        query = {name: values[-1] for name, values in parse_qs(address.query).items()}
        small = {name.lower(): text for name, text in headers.items()}
        asked = Request(method, unquote(address.path), query, small, body)
        self.requests.append((method, asked.path.split("/", 3)[3]))
        if self.broken:
            raise SlurmUnreachable("nobody answers")
        answer = self._desk.answer(asked)
        return Reply(answer.status, answer.body)

    def orders(self) -> list[str]:
        """What was ordered since this was asked before."""
        found = [f"{method} {path}" for method, path in self.requests if method != "GET"]
        self.requests.clear()
        return found
