"""Sockets in a pod's network while we stay in ours."""

from __future__ import annotations

import asyncio
import ctypes
import fcntl
import socket
import struct
from asyncio import StreamReader, StreamWriter
from collections.abc import Iterator
from pathlib import Path
from threading import Thread, get_native_id

import aiohttp
import pytest
from aiohttp import web

from penstock.engine import mounts, sockets
from penstock.engine.sockets import NoSuchNetwork


@pytest.fixture
def network(tmp_path: Path) -> Iterator[Path]:
    """The file of a network namespace that has nothing but its loopback."""
    place = tmp_path / "network"
    place.touch()
    before = Path("/proc/self/ns/net").readlink()
    maker = Thread(target=_make, args=(place,))
    maker.start()
    maker.join()
    _raise_loopback(place)
    yield place
    mounts.unmount(place)
    assert mounts.mounted_below(tmp_path) == []
    # Every thread is still at home.
    homes = {(task / "ns/net").readlink() for task in Path("/proc/self/task").iterdir()}
    assert homes == {before}


async def echo(reader: StreamReader, writer: StreamWriter) -> None:
    writer.write(await reader.readline())
    writer.close()


def test_what_is_said_inside_is_answered_out_here(network: Path) -> None:
    async def story() -> None:
        async with await sockets.listen(network, "127.0.0.1", 7001, echo):
            reader, writer = await sockets.connect(network, "127.0.0.1", 7001, timeout=5)
            writer.write(b"hello\n")
            assert await reader.read() == b"hello\n"
            writer.close()
            await writer.wait_closed()
            with pytest.raises(ConnectionRefusedError):
                await sockets.connect(None, "127.0.0.1", 7001, timeout=5)
        with pytest.raises(ConnectionRefusedError):
            await sockets.connect(network, "127.0.0.1", 7001, timeout=5)

    asyncio.run(story())


def test_the_same_port_may_be_taken_in_every_network(network: Path) -> None:
    async def story() -> None:
        async with await sockets.listen(None, "127.0.0.1", 0, echo) as ours:
            port = ours.sockets[0].getsockname()[1]
            async with await sockets.listen(network, "127.0.0.1", port, echo):
                pass

    asyncio.run(story())


def test_nobody_waits_longer_than_asked(network: Path) -> None:
    async def story() -> None:
        # A full queue of one: the kernel drops whatever comes next.
        full = sockets.create(network)
        full.bind(("127.0.0.1", 7002))
        full.listen(0)
        first = await sockets.connect(network, "127.0.0.1", 7002, timeout=5)
        with pytest.raises(TimeoutError):
            await sockets.connect(network, "127.0.0.1", 7002, timeout=0.2)
        first[1].close()
        full.close()

    asyncio.run(story())


def test_aiohttp_asks_inside(network: Path) -> None:
    async def story() -> None:
        listening = sockets.create(network)
        listening.bind(("127.0.0.1", 7003))
        served = web.Application()
        served.router.add_get("/livez", _answered)
        runner = web.AppRunner(served)
        await runner.setup()
        await web.SockSite(runner, listening).start()
        connector = aiohttp.TCPConnector(socket_factory=sockets.factory(network))
        address = "http://127.0.0.1:7003/livez"
        async with aiohttp.ClientSession(connector=connector) as session, session.get(address) as answer:
            assert await answer.text() == "well"
        await runner.cleanup()

    asyncio.run(story())


def test_a_network_that_is_gone_is_said(tmp_path: Path) -> None:
    with pytest.raises(NoSuchNetwork, match="/none is gone"):
        sockets.create(tmp_path / "none")
    (tmp_path / "plain").touch()
    with pytest.raises(NoSuchNetwork, match=r"enter network namespace .*/plain: Invalid argument"):
        sockets.create(tmp_path / "plain")


def test_a_socket_is_of_the_kind_that_was_asked_for(network: Path) -> None:
    with sockets.create(network, socket.AF_INET6, socket.SOCK_DGRAM) as made:
        assert (made.family, made.type, made.getblocking()) == (socket.AF_INET6, socket.SOCK_DGRAM, False)


async def _answered(_: web.Request) -> web.Response:
    return web.Response(text="well")


def _make(place: Path) -> None:
    assert ctypes.CDLL(None).unshare(0x40000000) == 0
    mounts.bind(Path(f"/proc/self/task/{get_native_id()}/ns/net"), place)


def _raise_loopback(place: Path) -> None:
    with sockets.create(place, kind=socket.SOCK_DGRAM) as made:
        fcntl.ioctl(made, 0x8914, struct.pack("16sh14x", b"lo", 0x1 | 0x40))  # SIOCSIFFLAGS: IFF_UP, IFF_RUNNING
