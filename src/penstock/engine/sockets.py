"""Sockets inside of a pod's network, while we stay outside.

A socket belongs to the namespace of the thread that makes it, for ever. So a thread goes there, makes the socket and
ends; it is never used again, and no other thread of ours ever leaves. Connecting and listening are as with any socket.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import socket
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from pathlib import Path
from threading import Thread
from typing import Any

_LIBC = ctypes.CDLL(None, use_errno=True)
_NETWORK = 0x40000000  # CLONE_NEWNET


class NoSuchNetwork(OSError):
    """The namespace is gone, with its pod."""


def create(
    namespace: Path | None, family: int = socket.AF_INET, kind: int = socket.SOCK_STREAM, protocol: int = 0
) -> socket.socket:
    """Make a socket in a network namespace, given by its file; None is our own. It does not block its reader."""
    if namespace is None:
        made = socket.socket(family, kind, protocol)
    else:
        made = _made_there(namespace, family, kind, protocol)
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


def _made_there(namespace: Path, family: int, kind: int, protocol: int) -> socket.socket:
    """In a thread of its own, which ends where it went."""
    result: Future[socket.socket] = Future()
    traveller = Thread(target=_travel, args=(result, namespace, family, kind, protocol), daemon=True)
    traveller.start()
    traveller.join()
    return result.result()


def _travel(result: Future[socket.socket], namespace: Path, family: int, kind: int, protocol: int) -> None:
    try:
        _enter(namespace)
        result.set_result(socket.socket(family, kind, protocol))
    except BaseException as problem:
        result.set_exception(problem)


def _enter(namespace: Path) -> None:
    try:
        descriptor = os.open(namespace, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError as problem:
        raise NoSuchNetwork(problem.errno, f"network namespace {namespace} is gone; so may be its pod") from problem
    try:
        if _LIBC.setns(descriptor, _NETWORK) != 0:
            number = ctypes.get_errno()
            raise NoSuchNetwork(number, f"enter network namespace {namespace}: {os.strerror(number)}")
    finally:
        os.close(descriptor)


def _family(host: str) -> int:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
