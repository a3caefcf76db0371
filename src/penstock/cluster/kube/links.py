"""The sockets of one session with an API server: kept alive while they are used, and ended with it."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from weakref import WeakSet

import aiohttp

_KEEP_ALIVE = {socket.TCP_KEEPIDLE: 30, socket.TCP_KEEPINTVL: 10, socket.TCP_KEEPCNT: 3}
"""Seconds of silence before the first question, between two of them, and how many stay without an answer: a dead link
is noticed after a minute, and no gateway on the way forgets a quiet one (they do after some minutes)."""
_FAREWELL = 1.0
"""Seconds; a few turns of the loop are enough."""


class Links:
    """Makes sockets, and knows which of them are open."""

    def __init__(self) -> None:
        self._made: WeakSet[socket.socket] = WeakSet()

    def make(self, address: aiohttp.AddrInfoType) -> socket.socket:
        """A socket that looks after the other end while nothing comes from it; aiohttp's own do not."""
        family, kind, protocol, _, _ = address
        made = socket.socket(family, kind, protocol)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in _KEEP_ALIVE.items():
            made.setsockopt(socket.IPPROTO_TCP, option, value)
        self._made.add(made)
        return made

    async def end(self) -> None:
        """End what the closed session has left behind.

        TLS waits for the other side's farewell, aiohttp does not, and the loop may be over before it comes.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(_FAREWELL):
                while left := [one for one in self._made if one.fileno() != -1]:
                    for one in left:
                        with suppress(OSError):
                            one.shutdown(socket.SHUT_RDWR)
                    await asyncio.sleep(0)
