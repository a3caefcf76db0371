"""A server on loopback that answers as told: one answer per request, the last one for all that come after."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from penstock.cluster.backoff import Backoff
from penstock.cluster.kube import Connection, KubeCluster, Limits
from penstock.cluster.kube.identity import Credentials, Fixed, Identity
from penstock.cluster.kube.tls import Trust
from penstock.cluster.resources import Resource, Whole

PODS = Resource("", "v1", "pods", "Pod", Whole)
SETS = Resource("slinky.slurm.net", "v1beta1", "nodesets", "NodeSet", Whole)
NODES = Resource("", "v1", "nodes", "Node", Whole, namespaced=False)
QUICK = Limits(
    answer=0.5,
    patience=1.0,
    watch=1.0,
    grace=0.2,
    connect=0.5,
    backoff=Backoff(first=0.01, longest=0.05, chance=lambda: 0.9),
)
"""As in production, a hundred times faster."""

_SESAME = Fixed(Identity(Trust().context(), "sesame"))

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Seen:
    """A request as the server got it."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any

    @property
    def line(self) -> str:
        """Method and path."""
        return f"{self.method} {self.path}"


class Server:
    """What was asked, and where to ask."""

    def __init__(self, answers: tuple[Answer, ...]) -> None:
        self.seen: list[Seen] = []
        self.at_once = 0
        self.most_at_once = 0
        self.gone = asyncio.Event()
        """Set when a client went away before its answer was complete."""
        self.url = ""
        self._answers = list(answers)
        self._asked = asyncio.Condition()

    def connection(self, credentials: Credentials | None = None, *, prefix: str = "") -> Connection:
        """How to reach it."""
        return Connection(server=self.url + prefix, credentials=credentials or _SESAME)

    async def asked(self, times: int) -> None:
        """Wait for so many requests."""
        async with self._asked, asyncio.timeout(5):
            await self._asked.wait_for(lambda: len(self.seen) >= times)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Write the request down, and give the next answer."""
        text = await request.text()
        path = request.raw_path.partition("?")[0]
        body = json.loads(text) if text else None
        self.seen.append(Seen(request.method, path, dict(request.query), dict(request.headers), body))
        async with self._asked:
            self._asked.notify_all()
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            return await (self._answers.pop(0) if len(self._answers) > 1 else self._answers[0])(request)
        except (ConnectionError, asyncio.CancelledError):
            self.gone.set()
            raise
        finally:
            self.at_once -= 1


@asynccontextmanager
async def serving(*answers: Answer, port: int = 0, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    """Serve on loopback."""
    server = Server(answers)
    application = web.Application(client_max_size=2**24)
    application.router.add_route("*", "/{path:.*}", server.answer)
    runner = web.AppRunner(application, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, ssl_context=tls)
    await site.start()
    server.url = f"{'https' if tls else 'http'}://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await runner.cleanup()


Pair = tuple[KubeCluster, Server]


@asynccontextmanager
async def client(*answers: Answer, limits: Limits = QUICK, prefix: str = "") -> AsyncIterator[Pair]:
    """A cluster over a server that answers so."""
    async with serving(*answers) as server, KubeCluster(server.connection(prefix=prefix), limits) as cluster:
        yield cluster, server


def says(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    """A whole answer."""
    text = body if isinstance(body, str) else json.dumps(body)

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(text=text, status=status, headers=headers, content_type="application/json")

    return answer


def refuses(code: int, reason: str = "", message: str = "the server's own words", **details: Any) -> Answer:
    """A Status, as Kubernetes sends them."""
    status = {"kind": "Status", "status": "Failure", "reason": reason, "message": message, "code": code}
    return says(status | {"details": details}, code)


def pod(name: str, version: int = 1, **fields: Any) -> dict[str, Any]:
    """A pod as JSON."""
    metadata = {"name": name, "namespace": "n", "uid": f"uid-{name}", "resourceVersion": str(version)}
    return {"metadata": metadata, "spec": {}, "status": {}} | fields


def page(*items: dict[str, Any], version: int = 9, more: str = "") -> Answer:
    """A listing."""
    return says({"metadata": {"resourceVersion": str(version), "continue": more}, "items": list(items)})


def event(kind: str, body: Any) -> bytes:
    """A line of a watch."""
    return json.dumps({"type": kind, "object": body}).encode() + b"\n"


def bookmark(version: int) -> bytes:
    """A bookmark of pods as Kubernetes 1.36 sends it, nulls and all."""
    metadata = {"resourceVersion": str(version), "creationTimestamp": None}
    return event("BOOKMARK", {"kind": "Pod", "metadata": metadata, "spec": {"containers": None}, "status": {}})


def after(seconds: float, answer: Answer) -> Answer:
    """An answer, some time later."""

    async def late(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return await answer(request)

    return late


def streams(*blocks: bytes, then: Callable[[web.Request], Awaitable[None]] | None = None) -> Answer:
    """A watch: blocks, each flushed; then the end, or what `then` does."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for block in blocks:
            await response.write(block)
        if then is not None:
            await then(request)
        return response

    return answer


async def cut(request: web.Request) -> None:
    """The connection breaks."""
    assert request.transport is not None
    request.transport.abort()
    await asyncio.sleep(0)


async def silence(_: web.Request) -> None:
    """Nothing comes any more, and nobody hangs up."""
    await asyncio.Event().wait()


def breaks(before: Callable[[web.Request], Awaitable[None]] = cut) -> Answer:
    """No answer at all: the connection breaks, or nothing comes."""

    async def answer(request: web.Request) -> web.StreamResponse:
        await before(request)
        return web.Response()

    return answer
