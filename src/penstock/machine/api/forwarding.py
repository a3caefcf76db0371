"""A connection to a port of a pod, over a WebSocket.

The protocol is Kubernetes' own for WebSockets (`v4.channel.k8s.io`): one connection per WebSocket. kubectl itself wants
SPDY inside of WebSockets for this, which we do not speak: use `penstock port-forward`.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from aiohttp import WSMsgType, web

from penstock.cluster.errors import Refused
from penstock.cluster.kube import channels
from penstock.cluster.store import Store
from penstock.cluster.streams import Wire
from penstock.machine.api import pods
from penstock.machine.api.address import Target
from penstock.machine.api.containers import Containers
from penstock.machine.api.deadlines import Deadlines
from penstock.machine.api.executing import upgraded

_PROTOCOLS = (channels.V4,)


async def forward(
    request: web.Request, store: Store, containers: Containers, target: Target, deadlines: Deadlines
) -> web.StreamResponse:
    """Connect to a port of a pod, and carry bytes until one side hangs up."""
    socket = upgraded(request, _PROTOCOLS)
    port = _port(request.query.getall("ports", []))
    place = await pods.place(store, target, whichever=True)
    wire = await containers.forward(place.pod, namespace=place.namespace, port=port)
    try:
        await socket.prepare(request)
        with suppress(ConnectionError):
            async with deadlines.bound():
                for stream in (channels.DATA, channels.TROUBLE):
                    await socket.send_bytes(channels.message(stream, channels.port_number(port)))
                await _carry(socket, wire)
        await socket.close()
    finally:
        await wire.close()
    return socket


def _port(asked: list[str]) -> int:
    ports = [text for one in asked for text in one.split(",") if text]
    if len(ports) != 1 or not (ports[0].isascii() and ports[0].isdecimal() and 0 < int(ports[0]) < 2**16):
        raise Refused(f"one port between 1 and 65535 can be forwarded by a connection, not {ports}")
    return int(ports[0])


async def _carry(socket: web.WebSocketResponse, wire: Wire) -> None:
    tasks = {asyncio.create_task(_out(socket, wire)), asyncio.create_task(_in(socket, wire))}
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _out(socket: web.WebSocketResponse, wire: Wire) -> None:
    while data := await wire.receive():
        await socket.send_bytes(channels.message(channels.DATA, data))


async def _in(socket: web.WebSocketResponse, wire: Wire) -> None:
    async for message in socket:
        if message.type is WSMsgType.BINARY and message.data[:1] == bytes((channels.DATA,)):
            await wire.send(message.data[1:])
