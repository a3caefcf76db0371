"""Where the API listens: on a socket that only its owner can open, and on loopback for those who show a token."""

from __future__ import annotations

import os
import socket
import ssl
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from penstock.cluster.errors import Misconfigured
from penstock.cluster.kube import tls
from penstock.cluster.store import Store
from penstock.machine.api.containers import Containers
from penstock.machine.api.deadlines import Deadlines
from penstock.machine.api.dispatch import application

_LOOPBACK = "127.0.0.1"
_PATIENCE = 5.0
"""Seconds that answers under way get at the end."""
_BACKLOG = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """A second way in, for programs that know no sockets in the file system, such as kubectl."""

    token: str = field(repr=False)
    """What to show; whoever has it may do everything."""
    port: int = 0
    """On loopback; 0: any that is free."""


@dataclass(frozen=True, slots=True)
class Serving:
    """An API that is being served."""

    socket: Path
    address: str = ""
    """Of the second way in: `https://127.0.0.1:12345`; empty when there is none."""
    certificate: bytes = b""
    """What to trust there (PEM)."""


@asynccontextmanager
async def serve(
    store: Store, containers: Containers, *, path: Path, door: Door | None = None
) -> AsyncIterator[Serving]:
    """Serve a store on a socket while inside; then let answers under way come to their end.

    The store is the caller's: close it afterwards.
    """
    if door is not None and not door.token:
        raise Misconfigured("a second way to the API needs a token; make one with secrets.token_urlsafe()")
    deadlines = Deadlines()
    app = application(store, containers, deadlines, token=door.token if door else "")
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=_PATIENCE, handler_cancellation=True)
    await runner.setup()
    try:
        with _listening(path) as listening:
            await web.SockSite(runner, listening, backlog=_BACKLOG).start()
            yield Serving(path, *(await _open(runner, door) if door else ()))
    finally:
        deadlines.end_all()
        await runner.cleanup()


async def _open(runner: web.AppRunner, door: Door) -> tuple[str, bytes]:
    """Listen on loopback, with TLS: kubectl keeps a token to itself without."""
    site = socket.socket()
    site.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        site.bind((_LOOPBACK, door.port))
    except OSError as error:
        site.close()
        raise Misconfigured(f"port {door.port} of {_LOOPBACK}: {error.strerror}; choose another") from None
    from penstock.machine.api import certificates  # noqa: PLC0415  (cryptography: only for a door that is asked for)

    pair = certificates.self_signed(_LOOPBACK)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.show(context, pair)
    await web.SockSite(runner, site, backlog=_BACKLOG, ssl_context=context).start()
    return f"https://{_LOOPBACK}:{site.getsockname()[1]}", pair.certificate


@contextmanager
def _listening(path: Path) -> Iterator[socket.socket]:
    """A socket in the file system that only we can open; the file goes when we do, unless it is another's by then."""
    _make_room(path)
    made = socket.socket(socket.AF_UNIX)
    try:
        # On Linux the file gets the mode that the socket has: there is no moment in which others could open it.
        os.fchmod(made.fileno(), 0o600)
        made.bind(str(path))
    except OSError as error:
        made.close()
        raise Misconfigured(f"{path} cannot be made ({error.strerror or error}); choose another place") from None
    ours = path.stat().st_ino
    try:
        yield made
    finally:
        with suppress(FileNotFoundError):
            if path.stat().st_ino == ours:
                path.unlink()


def _make_room(path: Path) -> None:
    """Take away what a server that was killed left behind; `Misconfigured` when one is alive there."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise Misconfigured(f"{path} is there and is no socket; take it away or choose another place")
    with socket.socket(socket.AF_UNIX) as knocking:
        if knocking.connect_ex(str(path)) == 0:
            raise Misconfigured(f"another process serves {path}; stop it first, or use another name")
    path.unlink()
