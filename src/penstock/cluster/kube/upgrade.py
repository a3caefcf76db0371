"""Why there is no WebSocket: aiohttp throws the server's words away, and they are what a person needs."""

from __future__ import annotations

import aiohttp


class NotUpgraded(Exception):
    """The server answered instead of speaking WebSocket."""

    def __init__(self, code: int, body: bytes) -> None:
        super().__init__(code)
        self.code = code
        self.body = body


async def or_told(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Keep the words of a server that does not upgrade a connection (a middleware of aiohttp's client)."""
    response = await handler(request)
    if "Upgrade" in request.headers and response.status != 101:
        raise NotUpgraded(response.status, await response.read())
    return response
