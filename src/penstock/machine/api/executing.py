"""A command in a container, over a WebSocket, as kubectl and `penstock exec` speak it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from aiohttp import WSMsgType, web

from penstock.cluster.errors import ClusterError, Refused
from penstock.cluster.groups import TaskGroup
from penstock.cluster.kube import channels
from penstock.cluster.store import Store
from penstock.cluster.streams import Session
from penstock.machine.api import options, pods
from penstock.machine.api.address import Target
from penstock.machine.api.containers import Containers
from penstock.machine.api.deadlines import Deadlines
from penstock.machine.api.pods import Place

_PROTOCOLS = (channels.V5, channels.V4)
_GOODBYE = 2.0
"""Seconds for the other side to say goodbye as well."""


async def execute(
    request: web.Request, store: Store, containers: Containers, target: Target, deadlines: Deadlines
) -> web.StreamResponse:
    """Run a command, and carry its streams until it ends or the other side leaves."""
    query = request.query
    socket = upgraded(request, _PROTOCOLS)
    command = query.getall("command", [])
    if not command:
        raise Refused("you must specify at least one command for the container")
    place = await pods.place(store, target, query.get("container", ""))
    asked = {"stdin": options.flag(query, "stdin"), "tty": options.flag(query, "tty")}
    await socket.prepare(request)
    with suppress(ConnectionError):
        async with deadlines.bound():
            await _begin(socket, containers, place, command, **asked)
    await socket.close()
    return socket


def upgraded(request: web.Request, protocols: tuple[str, ...]) -> web.WebSocketResponse:
    """A WebSocket in a protocol that both sides know, yet to be prepared; else `Refused`."""
    offered = [one.strip() for one in request.headers.get("Sec-WebSocket-Protocol", "").split(",") if one.strip()]
    socket = web.WebSocketResponse(protocols=protocols, timeout=_GOODBYE)
    if not socket.can_prepare(request):
        raise Refused(f"Upgrade request required: this speaks WebSocket ({', '.join(protocols)}), and not SPDY")
    if not set(offered) & set(protocols):
        raise Refused(f"none of the protocols {offered} is known here; known are {', '.join(protocols)}")
    return socket


async def _begin(
    socket: web.WebSocketResponse, containers: Containers, place: Place, command: list[str], *, stdin: bool, tty: bool
) -> None:
    """Start the command. What keeps it from starting is told on its own stream: kubectl reads nothing else."""
    try:
        session = await containers.execute(
            place.pod, namespace=place.namespace, container=place.container, command=command, stdin=stdin, tty=tty
        )
    except ClusterError as error:
        await socket.send_bytes(channels.message(channels.ERROR, channels.trouble(str(error))))
        return
    try:
        await _carry(socket, session)
    finally:
        await session.close()


async def _carry(socket: web.WebSocketResponse, session: Session) -> None:
    """Carry everything both ways; done when the command is, or when nobody listens any more."""
    # kubelet does so too: the first message, though empty, tells that the command runs.
    await socket.send_bytes(channels.message(channels.STDOUT))
    listening = asyncio.create_task(_listen(socket, session))
    running = asyncio.create_task(_run(socket, session))
    try:
        await asyncio.wait({listening, running}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (listening, running):
            task.cancel()
        await asyncio.gather(listening, running, return_exceptions=True)
    if not running.cancelled() and (error := running.exception()):
        raise error


async def _run(socket: web.WebSocketResponse, session: Session) -> None:
    try:
        async with TaskGroup() as group:
            group.create_task(_pass_on(socket, channels.STDOUT, session.stdout))
            group.create_task(_pass_on(socket, channels.STDERR, session.stderr))
        told = channels.outcome(await session.wait())
    except* (ClusterError, OSError) as errors:
        told = channels.trouble("; ".join(map(str, errors.exceptions)))
    await socket.send_bytes(channels.message(channels.ERROR, told))


async def _pass_on(socket: web.WebSocketResponse, stream: int, blocks: AsyncIterator[bytes]) -> None:
    async for block in blocks:
        await socket.send_bytes(channels.message(stream, block))


async def _listen(socket: web.WebSocketResponse, session: Session) -> None:
    """Take in what the other side says, until it leaves."""
    async for message in socket:
        if message.type is not WSMsgType.BINARY or not message.data:
            continue
        stream, data = message.data[0], message.data[1:]
        if stream == channels.STDIN:
            await session.write(data)
        elif stream == channels.RESIZE and (size := channels.size_of(data)):
            await session.resize(size)
        elif stream == channels.CLOSE and data == bytes((channels.STDIN,)):
            await session.close_stdin()
