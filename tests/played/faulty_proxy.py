"""A proxy between an operator and the real API server, that loses, delays, breaks and refuses when told to.

```
async with proxied(control_plane.kubeconfig, tmp_path) as proxy:
    cluster = KubeCluster(find(proxy.kubeconfig))
    proxy.board.on(Answer(503), verbs={"create"}, resources={"pods"}, times=3)
    proxy.cut_watches()
    await proxy.until(lambda: len(proxy.asked("watch", "pods")) == 2)
    assert not proxy.writes()
```

To the operator it is plain HTTP on loopback; to the server it is whoever the kubeconfig says. Everything that passes
is written down, so that a test can say "no writes" and "no full lists".
"""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import yaml
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from penstock.cluster.kube.links import Links

from . import kube_requests
from .faults import Answer, Break, Delay, Expire, Swallow, Switchboard
from .kube_requests import Seen

_HOP_BY_HOP = {"host", "connection", "keep-alive", "transfer-encoding", "content-length", "authorization", "expect"}
_BLOCK = 1 << 18
_EXPIRED = json.dumps({"type": "ERROR", "object": json.loads(Answer(410).body)}).encode() + b"\n"


class _Lost(Exception):
    """The answer shall not arrive."""


@dataclass(slots=True)
class Proxy:
    """What passes, and the levers."""

    server: str
    session: aiohttp.ClientSession
    kubeconfig: Path
    """Points at the proxy."""
    board: Switchboard = field(default_factory=Switchboard)
    seen: list[Seen] = field(default_factory=list)
    port: int = 0
    runner: web.AppRunner | None = None
    _site: web.TCPSite | None = None
    _watches: dict[int, asyncio.Transport] = field(default_factory=dict)
    _flowing: asyncio.Event = field(default_factory=asyncio.Event)
    _news: asyncio.Condition = field(default_factory=asyncio.Condition)

    def asked(self, verb: str = "", resource: str = "") -> list[Seen]:
        """What was asked, of all or of one verb and resource."""
        return [one for one in self.seen if verb in {"", one.verb} and resource in {"", one.resource}]

    def writes(self) -> list[Seen]:
        """What was changed or tried to be, leases apart."""
        return [one for one in self.seen if one.writes]

    def full_lists(self) -> list[Seen]:
        """Lists of whole collections."""
        return [one for one in self.seen if one.lists_anew]

    @property
    def open_watches(self) -> int:
        """How many watches are under way."""
        return len(self._watches)

    async def until(self, true: Callable[[], bool], *, seconds: float = 20.0) -> None:
        """Wait until what has passed makes it true."""
        async with self._news, asyncio.timeout(seconds):
            await self._news.wait_for(true)

    def cut_watches(self) -> int:
        """Break every open watch, and tell how many there were."""
        broken = list(self._watches.values())
        for transport in broken:
            transport.abort()
        return len(broken)

    def cut_everything(self) -> None:
        """Break every connection, wherever its answer is."""
        links = self.runner.server.connections if self.runner and self.runner.server else []
        for transport in [link.transport for link in links if link.transport is not None]:
            transport.abort()

    def freeze_watches(self) -> None:
        """Let no byte of any watch pass, open links or new ones; nobody hangs up."""
        self._flowing.clear()

    def thaw_watches(self) -> None:
        """Let watches go on where they stopped."""
        self._flowing.set()

    async def refuse(self) -> None:
        """Refuse connections, and break those that there are."""
        if self._site is not None:
            await self._site.stop()
            self._site = None
        self.cut_everything()

    async def accept(self) -> None:
        """Be there, again at the same address."""
        if self._site is None and self.runner is not None:
            self._site = web.TCPSite(self.runner, "127.0.0.1", self.port, reuse_address=True)
            await self._site.start()
            self.port = self.port or self.runner.addresses[0][1]

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """One request, with whatever goes wrong with it."""
        seen = kube_requests.read(request.method, request.path, dict(request.query))
        self.seen.append(seen)
        await self._tell()
        try:
            return await self._passed(request, seen)
        except (_Lost, ConnectionError, aiohttp.ClientError):
            seen.lost = True
            if request.transport is not None:
                request.transport.abort()
            return web.Response()
        finally:
            self._watches.pop(id(seen), None)
            await self._tell()

    async def _passed(self, request: web.Request, seen: Seen) -> web.StreamResponse:
        fault = self.board.fault_for(seen)
        if isinstance(fault, Delay):
            await asyncio.sleep(fault.seconds)
        if isinstance(fault, Answer):
            seen.status = fault.status
            return web.Response(status=fault.status, body=fault.body, headers=fault.headers)
        if isinstance(fault, Expire):
            seen.status = 200
            return web.Response(body=_EXPIRED, content_type="application/json")
        async with self._forwarded(request) as upstream:
            seen.status = upstream.status
            if isinstance(fault, Swallow):
                await upstream.read()
                raise _Lost
            return await self._streamed(request, upstream, seen, fault.after if isinstance(fault, Break) else None)

    @asynccontextmanager
    async def _forwarded(self, request: web.Request) -> AsyncIterator[aiohttp.ClientResponse]:
        url = URL(f"{self.server}{request.raw_path}", encoded=True)
        body = await request.read() if request.can_read_body else None
        async with self.session.request(
            request.method, url, headers=_end_to_end(request.headers), data=body, allow_redirects=False
        ) as upstream:
            yield upstream

    async def _streamed(
        self, request: web.Request, upstream: aiohttp.ClientResponse, seen: Seen, left: int | None
    ) -> web.StreamResponse:
        response = web.StreamResponse(status=upstream.status, headers=_end_to_end(upstream.headers))
        watching = seen.verb == "watch"
        if watching and request.transport is not None:
            self._watches[id(seen)] = request.transport
        await response.prepare(request)
        await self._tell()
        async for block in upstream.content.iter_any():
            if watching:
                await self._flowing.wait()
            await response.write(block if left is None else block[:left])
            left = None if left is None else max(left - len(block), 0)
            if left == 0:
                raise _Lost
        await response.write_eof()
        return response

    async def _tell(self) -> None:
        async with self._news:
            self._news.notify_all()


def _end_to_end(headers: Mapping[str, str]) -> CIMultiDict[str]:
    return CIMultiDict((name, value) for name, value in headers.items() if name.lower() not in _HOP_BY_HOP)


@asynccontextmanager
async def proxied(kubeconfig: Path, directory: Path) -> AsyncIterator[Proxy]:
    """Stand before the API server of a kubeconfig; `directory` gets the kubeconfig that leads here."""
    server, context = _access(kubeconfig)
    links = Links()
    connector = aiohttp.TCPConnector(ssl=context, limit=0, socket_factory=links.make)
    forever = aiohttp.ClientTimeout(total=None)
    async with AsyncExitStack() as at_the_end:
        at_the_end.push_async_callback(links.end)
        session = await at_the_end.enter_async_context(
            aiohttp.ClientSession(connector=connector, timeout=forever, auto_decompress=False, read_bufsize=_BLOCK)
        )
        proxy = Proxy(server, session, directory / "proxied.kubeconfig")
        proxy.thaw_watches()
        application = web.Application(client_max_size=2**26)
        application.router.add_route("*", "/{path:.*}", proxy.handle)
        proxy.runner = web.AppRunner(application, handler_cancellation=True, shutdown_timeout=0.1, access_log=None)
        await proxy.runner.setup()
        await proxy.accept()
        _write_kubeconfig(proxy.kubeconfig, f"http://127.0.0.1:{proxy.port}")
        try:
            yield proxy
        finally:
            await proxy.refuse()
            await proxy.runner.cleanup()


def _access(kubeconfig: Path) -> tuple[str, ssl.SSLContext]:
    config = yaml.safe_load(kubeconfig.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
    with tempfile.NamedTemporaryFile(suffix=".pem") as pair:  # ssl reads keys from files only
        pair.write(base64.b64decode(user["client-certificate-data"]) + base64.b64decode(user["client-key-data"]))
        pair.flush()
        context.load_cert_chain(pair.name)
    return str(cluster["server"]), context


def _write_kubeconfig(path: Path, server: str) -> None:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "proxied", "cluster": {"server": server}}],
        "users": [{"name": "nobody", "user": {}}],
        "contexts": [{"name": "proxied", "context": {"cluster": "proxied", "user": "nobody"}}],
        "current-context": "proxied",
    }
    path.write_text(json.dumps(config, indent=2))
