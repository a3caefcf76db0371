"""A server with leases and a log of writes, and candidates at the other end of bad links."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import msgspec

from penstock.api.objects import Json
from penstock.cluster import permit
from penstock.cluster.errors import AlreadyExists, Conflict, NotFound, Unreachable
from penstock.cluster.fence import Fenced
from penstock.cluster.leader import LEASES, Election, LeaseObject, Terms
from penstock.cluster.port import MANAGER, Cluster
from penstock.cluster.resources import Resource, Whole

V = TypeVar("V")
THINGS = Resource("", "v1", "things", "Thing", Whole)


class LeaseServer:
    """What is true."""

    def __init__(self) -> None:
        self.lease: Json | None = None
        self.version = 0
        self.written: list[tuple[str, str | None, float]] = []
        """Who wrote, who held the lease then, and when."""

    @property
    def holder(self) -> str | None:
        """Who holds the lease."""
        return None if self.lease is None else self.lease["spec"].get("holderIdentity")

    def get(self) -> LeaseObject:
        """The lease."""
        if self.lease is None:
            raise NotFound("no lease")
        return msgspec.convert(self.lease, LeaseObject)

    def create(self, body: Json) -> LeaseObject:
        """Make the lease."""
        if self.lease is not None:
            raise AlreadyExists("there is a lease")
        self.lease = {"metadata": dict(body["metadata"]), "spec": {}}
        return self.change(body["spec"])

    def patch(self, patch: Json) -> LeaseObject:
        """Change the lease, if its version is the one given."""
        if self.get().metadata.resource_version != patch["metadata"]["resourceVersion"]:
            raise Conflict("somebody was faster")
        return self.change(patch["spec"])

    def change(self, spec: Json) -> LeaseObject:
        """Change the lease, whatever it was."""
        assert self.lease is not None
        self.version += 1
        self.lease["metadata"]["resourceVersion"] = str(self.version)
        self.lease["spec"] |= spec
        return self.get()


@dataclass
class Link:
    """One candidate's way to the server, as the port. Delays are asked for anew at each call."""

    server: LeaseServer
    name: str
    queued: Callable[[], float] = lambda: 0.0
    """Seconds before a request leaves the process; cancelling still helps."""
    there: Callable[[], float] = lambda: 0.0
    """Seconds on the way; nothing helps any more."""
    back: Callable[[], float] = lambda: 0.0
    down: bool = False
    calls: list[str] = field(default_factory=list)

    async def get(self, resource: object, name: str, namespace: str) -> LeaseObject:
        """The lease."""
        assert (resource, name, namespace) == (LEASES, "penstock", "system")
        return await self._carry("get", self.server.get)

    async def create(self, resource: object, body: Json, *, manager: str = MANAGER, dry_run: bool = False) -> Any:
        """Make the lease, or write something else."""
        del manager, dry_run
        if resource is LEASES:
            return await self._carry("create", lambda: self.server.create(body))
        return await self._carry("write", self._written)

    async def patch(self, resource: object, name: str, patch: Json, *, namespace: str) -> LeaseObject:
        """Change the lease."""
        assert (resource, name, namespace) == (LEASES, "penstock", "system")
        return await self._carry("patch", lambda: self.server.patch(patch))

    def _written(self) -> None:
        self.server.written.append((self.name, self.server.holder, asyncio.get_running_loop().time()))

    async def _carry(self, verb: str, effect: Callable[[], V]) -> V:
        await asyncio.sleep(self.queued())
        permit.ask()
        self.calls.append(verb)
        if self.down:
            await asyncio.sleep(self.there())
            raise Unreachable("the link is down")
        answer: asyncio.Future[V] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(self.there(), _arrive, effect, answer)
        result = await answer
        await asyncio.sleep(self.back())
        return result


def _arrive(effect: Callable[[], V], answer: asyncio.Future[V]) -> None:
    """It happens, whether or not anybody still waits for the answer."""
    try:
        result = effect()
    except Exception as error:
        if not answer.done():
            answer.set_exception(error)
    else:
        if not answer.done():
            answer.set_result(result)


class Candidate:
    """An election over a link, and what it may write."""

    def __init__(self, server: LeaseServer, name: str, terms: Terms | None = None) -> None:
        self.link = Link(server, name)
        self.lost: list[float] = []
        self.election = Election(
            cast(Cluster, self.link),
            name="penstock",
            namespace="system",
            identity=name,
            on_lost=lambda: self.lost.append(asyncio.get_running_loop().time() - 1000.0),
            terms=terms,
        )
        self.fenced = Fenced(cast(Cluster, self.link), self.election)

    async def write(self) -> None:
        """Write something through the fence."""
        await self.fenced.create(THINGS, {"metadata": {"name": "x", "namespace": "n"}})
