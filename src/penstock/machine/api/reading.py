"""One object, or a page of them, as the store keeps them: bytes in, bytes out."""

from __future__ import annotations

from typing import Any

import msgspec
from aiohttp import web

from penstock.cluster.port import Listing
from penstock.cluster.store import Store
from penstock.machine.api import options, scaling
from penstock.machine.api.address import Target
from penstock.machine.api.statuses import JSON

_NO_LIMIT = 0


async def get(store: Store, target: Target) -> web.Response:
    """One object, or its size."""
    found = await store.get(target.raw, target.name, target.namespace or "")
    return object_response(scaling.seen(bytes(found)) if target.subresource == "scale" else bytes(found))


async def list_page(store: Store, target: Target, query: options.Query) -> web.Response:
    """One page of objects."""
    page = await store.list(
        target.raw,
        options.selection(target, query),
        limit=options.number(query, "limit") or _NO_LIMIT,
        continue_token=query.get("continue", ""),
    )
    return object_response(_written(target, page))


def object_response(body: bytes, status: int = 200) -> web.Response:
    """The answer that carries an object."""
    return web.Response(status=status, body=body, content_type=JSON)


def _written(target: Target, page: Listing[Any]) -> bytes:
    """A page, with its metadata in front: who reads it learns from there where the next one begins."""
    metadata = {"resourceVersion": page.resource_version}
    if page.continue_token:
        metadata["continue"] = page.continue_token
    entry = target.entry
    beginning = {"kind": f"{entry.kind}List", "apiVersion": entry.api_version, "metadata": metadata}
    return msgspec.json.encode({**beginning, "items": page.items})
