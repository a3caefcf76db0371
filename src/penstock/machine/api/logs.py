"""A container's log, passed on as its keeper gives it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

from aiohttp import web

from penstock.cluster.errors import NotYet
from penstock.cluster.store import Store
from penstock.machine.api import options, pods
from penstock.machine.api.address import Target
from penstock.machine.api.containers import Containers
from penstock.machine.api.deadlines import Deadlines
from penstock.machine.api.pods import Place


async def log(
    request: web.Request, store: Store, containers: Containers, target: Target, deadlines: Deadlines
) -> web.StreamResponse:
    """Stream a log. The answer begins with its first bytes, so that whatever is wrong before can still be told."""
    place = await pods.place(store, target, request.query.get("container", ""))
    asked = options.log_options(request.query)
    response = web.StreamResponse(headers={"Content-Type": "text/plain"})
    with suppress(ConnectionError):
        async with deadlines.bound():
            blocks = containers.read_log(place.pod, namespace=place.namespace, container=place.container, options=asked)
            async with aclosing(blocks):
                await _pass_on(request, response, blocks, place)
    if not response.prepared:
        await response.prepare(request)
    with suppress(ConnectionError):
        await response.write_eof()
    return response


async def _pass_on(
    request: web.Request, response: web.StreamResponse, blocks: AsyncGenerator[bytes, None], place: Place
) -> None:
    try:
        async for block in blocks:
            if not response.prepared:
                await response.prepare(request)
            await response.write(block)
    except NotYet as error:
        # kubelet's sentence: clients know by it that waiting helps.
        waits = f'container "{place.container}" in pod "{place.pod}" is waiting to start'
        raise NotYet(f"{waits}: {error}") from None
