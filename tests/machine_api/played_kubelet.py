"""A machine of a real cluster whose kubelet is played: it has a log, and a service at every port that shouts back."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import WSMsgType, web

from penstock.cluster.catalogue import find
from penstock.cluster.kube import KubeCluster, channels, tls
from penstock.cluster.resources import Whole
from penstock.machine.api.certificates import self_signed

NODES = find("nodes").reading(Whole)


async def _forward(request: web.Request) -> web.StreamResponse:
    """Forward a port as kubelet does it over WebSockets."""
    socket, port = web.WebSocketResponse(protocols=(channels.V4,)), int(request.query["port"])
    await socket.prepare(request)
    for stream in (channels.DATA, channels.TROUBLE):
        await socket.send_bytes(channels.message(stream, channels.port_number(port)))
    async for message in socket:
        if message.type is WSMsgType.BINARY and message.data[0] == channels.DATA:
            if message.data[1:] == b"?":
                await socket.send_bytes(channels.message(channels.TROUBLE, b"nobody listens"))
            else:
                await socket.send_bytes(channels.message(channels.DATA, message.data[1:].upper()))
    return socket


async def _log(request: web.Request) -> web.StreamResponse:
    return web.Response(text="".join(f"{name}={value}\n" for name, value in sorted(request.query.items())))


@asynccontextmanager
async def played_kubelet(cluster: KubeCluster, name: str) -> AsyncIterator[None]:
    """Have such a machine."""
    app = web.Application()
    app.router.add_get("/portForward/{namespace}/{pod}", _forward)
    app.router.add_get("/containerLogs/{namespace}/{pod}/{container}", _log)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.show(context, self_signed("127.0.0.1"))
    runner = web.AppRunner(app, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        port = runner.addresses[0][1]
        await cluster.create(NODES, {"metadata": {"name": name}})
        status = {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        }
        await cluster.patch(NODES, name, {"status": status}, subresource="status")
        yield
        await cluster.delete(NODES, name)
    finally:
        await runner.cleanup()
