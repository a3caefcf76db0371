"""Connections of this machine, carried to a port of a pod."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from penstock.api.objects import Json
from penstock.cli.objects.complaint import Complaint, Misuse
from penstock.cli.objects.fields import at, items, name_of, text
from penstock.cluster.errors import ClusterError
from penstock.cluster.streams import SocketWire, Wire

_PORTS = re.compile(r"(?:(?P<local>\d*):)?(?P<remote>[a-z0-9-]+)")
_LINGER = 10.0
"""Seconds that the pod may still answer somebody who has nothing more to say; a wire cannot be closed by half."""


@dataclass(frozen=True, slots=True)
class Ports:
    """A port of this machine (0: any) and one of a pod."""

    local: int
    remote: int
    name: str = ""
    """Of the remote one, where a name was given."""


def ports(word: str) -> Ports:
    """`8080:80`, `80`, `:80`, `8080:http`; `Misuse` says what it may be."""
    found = _PORTS.fullmatch(word)
    if found is None:
        raise Misuse(f"{word!r} is no port; write REMOTE, LOCAL:REMOTE or :REMOTE")
    remote = int(found["remote"]) if found["remote"].isdecimal() else 0
    name = "" if found["remote"].isdecimal() else found["remote"]
    local = int(found["local"] or 0) if found["local"] is not None else remote
    if max(local, remote) > 65535 or (not name and remote == 0):
        raise Misuse(f"{word!r}: ports are numbers from 1 to 65535")
    return Ports(local, remote, name)


def resolved(asked: Ports, service: Json | None, pod: Json) -> Ports:
    """The same with the port of the pod: those of a Service lead elsewhere, names are looked up."""
    wanted: Any = asked.name or asked.remote
    if service is not None:
        known = items(service, "spec", "ports")
        found = next((one for one in known if wanted in (text(one, "name"), at(one, "port"))), None)
        if found is None:
            there = ", ".join(str(at(one, "port")) for one in known)
            raise Complaint(f"service {name_of(service)} has no port {wanted}; it has {there}")
        wanted = at(found, "targetPort") or at(found, "port")
    number = wanted if isinstance(wanted, int) else _named(pod, str(wanted))
    return replace(asked, remote=number, local=asked.local or (number if asked.name else 0))


def _named(pod: Json, name: str) -> int:
    for container in items(pod, "spec", "containers") + items(pod, "spec", "initContainers"):
        for port in items(container, "ports"):
            if text(port, "name") == name:
                return int(port["containerPort"])
    raise Complaint(f"pod {name_of(pod)} has no port called {name!r}; give its number")


async def listen(address: str, one: Ports, connect: Callable[[], Awaitable[Wire]]) -> asyncio.Server:
    """A server that carries each connection to the pod."""
    hosts = ["127.0.0.1", "::1"] if address == "localhost" else address.split(",")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        near = SocketWire(reader, writer)
        try:
            far = await connect()
        except ClusterError as problem:
            sys.stderr.write(f"penstock port-forward: {problem}\n")
        else:
            await join(near, far)
        finally:
            await near.close()

    try:
        return await _serving(serve, hosts, one.local, forgiving=address == "localhost")
    except OSError as problem:
        raise Complaint(
            f"port {one.local} of {address}: {os.strerror(problem.errno or 0)}; choose another: OTHER:{one.remote}"
        ) from None


async def _serving(serve: Any, hosts: list[str], port: int, *, forgiving: bool) -> asyncio.Server:
    if port == 0 and len(hosts) > 1:
        hosts = hosts[:1]  # each would get a free port of its own
    try:
        return await asyncio.start_server(serve, hosts, port)
    except OSError:
        if not forgiving or len(hosts) == 1:
            raise
        return await asyncio.start_server(serve, hosts[:1], port)  # a machine without IPv6


def addresses(server: asyncio.Server) -> list[str]:
    """Where it listens, as people write it."""
    names = [one.getsockname() for one in server.sockets]
    return [f"[{name[0]}]:{name[1]}" if ":" in name[0] else f"{name[0]}:{name[1]}" for name in names]


async def join(near: Wire, far: Wire) -> None:
    """Carry bytes both ways until the pod has no more to say, or nobody listens to it any more."""
    back = asyncio.create_task(_carry(far, near))
    there = asyncio.create_task(_carry(near, far))
    try:
        await asyncio.wait((back, there), return_when=asyncio.FIRST_COMPLETED)
        if not back.done():
            await asyncio.wait((back,), timeout=_LINGER)
    finally:
        back.cancel()
        there.cancel()
        await asyncio.gather(back, there, return_exceptions=True)
        await far.close()


async def _carry(source: Wire, sink: Wire) -> None:
    while block := await source.receive():
        await sink.send(block)
