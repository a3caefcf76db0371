"""What happens to objects, line by line, until the time is up.

Nothing is kept for a reader who is slow: each line waits for the socket, and the store remembers only so much. One that
falls too far behind is told that it has to list again.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any

import msgspec
from aiohttp import web

from penstock.cluster.errors import ClusterError, Refused
from penstock.cluster.port import Event, EventType, Selection
from penstock.cluster.store import Store
from penstock.cluster.store.selection import Chosen
from penstock.machine.api import options, statuses
from penstock.machine.api.address import Target
from penstock.machine.api.deadlines import Deadlines

_LONGEST = 3600.0
"""Seconds; an API server does not let a watch live for ever either."""
_INITIAL_END = {"k8s.io/initial-events-end": "true"}


async def watch(request: web.Request, store: Store, target: Target, deadlines: Deadlines) -> web.StreamResponse:
    """Stream what happens to the objects that were asked for."""
    query = request.query
    where, since = options.selection(target, query), query.get("resourceVersion", "")
    _check(target, where, since)
    seconds = options.number(query, "timeoutSeconds") or _LONGEST
    events = _from_the_start(store, target, where) if options.flag(query, "sendInitialEvents") else None
    events = events or _events(store, target, where, since)
    response = web.StreamResponse(headers={"Content-Type": statuses.JSON})
    await response.prepare(request)
    with suppress(ConnectionError):
        async with deadlines.bound(seconds), aclosing(events):
            marks = options.flag(query, "allowWatchBookmarks")
            async for line in events:
                if marks or not line.startswith(_MARK):
                    await response.write(line)
    with suppress(ConnectionError):
        await response.write_eof()
    return response


def _check(target: Target, where: Selection, since: str) -> None:
    """Refuse what is wrong with a request while there is still an answer to do it with."""
    Chosen(target.entry.name, where)
    if since and not (since.isascii() and since.isdecimal()):
        raise Refused(f'resourceVersion: Invalid value: "{since}": it is not a number')


async def _events(store: Store, target: Target, where: Selection, since: str) -> AsyncGenerator[bytes, None]:
    try:
        async with aclosing(store.watch(target.raw, where, since=since)) as events:
            async for event in events:
                yield _line(target, event)
    except ClusterError as error:
        yield _encoded("ERROR", statuses.of(error).body())


async def _from_the_start(store: Store, target: Target, where: Selection) -> AsyncGenerator[bytes, None]:
    """Everything that is there, a mark that this was all, and then what happens (`sendInitialEvents`)."""
    page = await store.list(target.raw, where, limit=0)
    for item in page.items:
        yield _encoded("ADDED", item)
    yield _encoded("BOOKMARK", _mark(target, page.resource_version, annotations=_INITIAL_END))
    async with aclosing(_events(store, target, where, page.resource_version)) as lines:
        async for line in lines:
            yield line


_MARK = b'{"type":"BOOKMARK"'


def _line(target: Target, event: Event[Any]) -> bytes:
    if event.type is EventType.BOOKMARK:
        return _encoded("BOOKMARK", _mark(target, event.resource_version))
    return _encoded(event.type.value, event.object)


def _mark(target: Target, version: str, **metadata: object) -> object:
    entry = target.entry
    return {"kind": entry.kind, "apiVersion": entry.api_version, "metadata": {"resourceVersion": version, **metadata}}


def _encoded(kind: str, item: object) -> bytes:
    return msgspec.json.encode({"type": kind, "object": item}) + b"\n"
