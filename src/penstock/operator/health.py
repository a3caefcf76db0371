"""Health and metrics over HTTP: `/livez` (the process works), `/readyz` (its knowledge is whole and fresh), `/metrics`.

Ready means it: a stand-by whose knowledge is fresh is ready, a leader whose watches are dead is not.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web

Trouble = Callable[[], str]
"""Says what is wrong; nothing when all is well."""


@asynccontextmanager
async def serving(address: str, *, ready: Trouble, metrics: Callable[[], bytes]) -> AsyncIterator[int]:
    """Serve at `host:port` while inside; gives the port, which for 0 is the system's choice."""
    host, _, port = address.rpartition(":")

    async def livez(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(_: web.Request) -> web.Response:
        trouble = ready()
        return web.Response(text=f"{trouble or 'ok'}\n", status=503 if trouble else 200)

    async def page(_: web.Request) -> web.Response:
        return web.Response(body=metrics(), headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})

    app = web.Application()
    app.add_routes([
        web.get("/livez", livez), web.get("/healthz", livez), web.get("/readyz", readyz), web.get("/metrics", page)
    ])  # fmt: skip
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host.strip("[]") or "0.0.0.0", int(port))  # noqa: S104 - kubelet asks from outside
        await site.start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()
