"""Sockets inside of a pod's network, while we stay outside.

A socket belongs to the namespace of the thread that makes it, for ever (`namespaces`). Connecting and listening are as
with any socket.
"""

from __future__ import annotations

import asyncio
import socket
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from penstock.engine import namespaces
from penstock.engine.namespaces import NoSuchNetwork

__all__ = ["NoSuchNetwork", "connect", "create", "factory", "listen"]


def create(
    namespace: Path | None, family: int = socket.AF_INET, kind: int = socket.SOCK_STREAM, protocol: int = 0
) -> socket.socket:
    """Make a socket in a network namespace, given by its file; None is our own. It does not block its reader."""
    if namespace is None:
        made = socket.socket(family, kind, protocol)
    else:
        made = namespaces.inside(namespace, lambda: socket.socket(family, kind, protocol))
    made.setblocking(False)
    return made


async def connect(
    namespace: Path | None,
    host: str,
    port: int,
    *,
    timeout: float,  # noqa: ASYNC109 - a probe's own limit
) -> tuple[StreamReader, StreamWriter]:
    """Connect from within a namespace to an address there; `host` is an address, not a name."""
    async with asyncio.timeout(timeout):
        made = await _connected(namespace, host, port)
        return await asyncio.open_connection(sock=made)


async def listen(
    namespace: Path | None,
    host: str,
    port: int,
    serve: Callable[[StreamReader, StreamWriter], Awaitable[None]],
) -> asyncio.Server:
    """Listen inside of a namespace; what comes in is served out here."""
    made = await asyncio.to_thread(create, namespace, _family(host))
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        return await asyncio.start_server(serve, sock=made)
    except BaseException:
        made.close()
        raise


def factory(namespace: Path | None) -> Callable[[Any], socket.socket]:
    """For aiohttp's `TCPConnector(socket_factory=...)`: its connections are made in the namespace."""

    def make(address: Any) -> socket.socket:
        family, kind, protocol, *_ = address
        return create(namespace, family, kind, protocol)

    return make


async def _connected(namespace: Path | None, host: str, port: int) -> socket.socket:
    made = await asyncio.to_thread(create, namespace, _family(host))
    try:
        await asyncio.get_running_loop().sock_connect(made, (host, port))
    except BaseException:
        made.close()
        raise
    return made


def _family(host: str) -> int:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
