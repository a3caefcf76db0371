"""Changes to objects, in each of the forms that clients send."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
from aiohttp import web

from penstock.api.kinds import GROUP
from penstock.api.objects import Json
from penstock.cluster.errors import Conflict, NotFound, Refused
from penstock.cluster.store import Store
from penstock.cluster.store.patches import merge_patched
from penstock.machine.api import forms, options, patches, scaling, statuses
from penstock.machine.api.address import Target
from penstock.machine.api.reading import object_response
from penstock.machine.api.strategic import strategic_patched

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
_TRIES, _PAUSE = 16, 0.01
"""How often a change is worked out anew because somebody else was faster, and seconds before that, more each time."""

Change = Callable[[Json], Json]
"""The object that a client wants to have, given the one there is."""


async def create(request: web.Request, store: Store, target: Target) -> web.Response:
    """Make an object."""
    how = _how(request)
    body = _placed(target, await mapping(request))
    made = await store.create(target.raw, body, manager=how.manager, dry_run=how.dry_run)
    return object_response(bytes(made), 201)


async def replace(request: web.Request, store: Store, target: Target) -> web.Response:
    """Put an object in the place of the one there is."""
    body = await mapping(request)
    if target.subresource != "scale":
        body = _placed(target, body)
        _right_kind(target, body)
    return await _change(request, store, target, lambda _: body)


async def patch(request: web.Request, store: Store, target: Target) -> web.Response:
    """Change an object by a patch of one of the kinds we know."""
    kind = request.content_type
    if kind == APPLY:
        return await _apply(request, store, target, await mapping(request))
    if kind == JSON_PATCH:
        operations = decoded(await request.read())
        return await _change(request, store, target, lambda live: patches.json_patched(live, operations))
    # As on any API server: of kinds that are not Kubernetes' own nobody knows how their lists are merged.
    merges = {MERGE: merge_patched} | ({STRATEGIC: strategic_patched} if target.entry.group != GROUP else {})
    if kind not in merges:
        known = ", ".join((APPLY, JSON_PATCH, *merges))
        raise web.HTTPUnsupportedMediaType(text=f'a patch of type "{kind}" is not known here; known are {known}')
    body = await mapping(request)
    if kind == MERGE and target.subresource != "scale":
        return await _patch(request, store, target, body)
    return await _change(request, store, target, lambda live: merges[kind](live, body))


async def delete(request: web.Request, store: Store, target: Target) -> web.Response:
    """Delete an object, or begin to."""
    asked = options.delete_options(await mapping(request) if request.can_read_body else {}, request.query)
    namespace, only_if, propagation = target.namespace or "", asked.only_if, asked.propagation
    uid = _uid(await store.get(target.raw, target.name, namespace))
    if asked.is_dry_run:
        store.rehearse_delete(target.raw, target.name, namespace=namespace, only_if=only_if, propagation=propagation)
    else:
        await store.delete(
            target.raw,
            target.name,
            namespace=namespace,
            only_if=only_if,
            propagation=propagation,
            grace_seconds=asked.grace_period_seconds,
        )
    entry = target.entry
    told = statuses.success(name=target.name, group=entry.group, kind=entry.plural, uid=uid)
    return object_response(msgspec.json.encode(told))


async def evict(request: web.Request, store: Store, target: Target) -> web.Response:
    """Ask a pod to go, as far as budgets allow."""
    body = await mapping(request)
    asked = options.converted(body.get("deleteOptions") or {}, options.DeleteOptions)
    if asked.is_dry_run or _how(request).dry_run:
        raise Refused("an eviction cannot be rehearsed here; leave out dryRun")
    await store.evict(target.name, namespace=target.namespace or "", only_if=asked.only_if)
    return object_response(msgspec.json.encode(statuses.success(name=target.name, group="", kind="pods", uid="")), 201)


async def mapping(request: web.Request) -> Json:
    """The body of a request: a JSON object, or `Refused`."""
    if "protobuf" in request.content_type or "cbor" in request.content_type:
        told = f"this server reads JSON, not {request.content_type}; write a manifest and use apply -f or create -f"
        raise web.HTTPUnsupportedMediaType(text=told)
    body = decoded(await request.read())
    if not isinstance(body, dict) or not isinstance(body.get("metadata") or {}, dict):
        raise Refused("the body is not a JSON object with metadata that is one")
    return body


def decoded(body: bytes) -> Any:
    """The body of a request as JSON, or `Refused`."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise Refused(f"the body is not JSON: {problem}") from None


def _how(request: web.Request) -> options.Writing:
    return options.Writing.of(request.query, request.headers.get("User-Agent", ""))


def _placed(target: Target, body: Json) -> Json:
    """The body with the name and the namespace that its address has; `Refused` when it has others."""
    forms.check(target.entry, body)
    metadata: Json = dict(body.get("metadata") or {})
    for field, wanted in (("namespace", target.namespace), ("name", target.name)):
        said = metadata.get(field)
        if wanted and said not in {None, "", wanted}:
            raise Refused(
                f"the {field} of the provided object does not match the {field} sent on the request"
                f' ("{said}" and "{wanted}")'
            )
        metadata |= {field: wanted} if wanted else {}
    return {**body, "metadata": metadata}


async def _apply(request: web.Request, store: Store, target: Target, body: Json) -> web.Response:
    if target.subresource == "scale":
        raise web.HTTPUnsupportedMediaType(text=f"a scale cannot be applied; patch it with {MERGE}")
    how, body = _how(request), _placed(target, body)
    if not request.query.get("fieldManager"):
        raise Refused("PatchOptions is invalid: fieldManager: Required value: is required for apply patch")
    if target.subresource:
        if how.dry_run:
            raise Refused("the application of a status cannot be rehearsed here; leave out dryRun")
        return object_response(bytes(await store.apply_status(target.raw, body, manager=how.manager, force=how.force)))
    existed = await _exists(store, target)
    made = await store.apply(target.raw, body, manager=how.manager, force=how.force, dry_run=how.dry_run)
    return object_response(bytes(made), 200 if existed else 201)


async def _exists(store: Store, target: Target) -> bool:
    try:
        await store.get(target.raw, target.name, target.namespace or "")
    except NotFound:
        return False
    return True


def _right_kind(target: Target, body: Json) -> None:
    entry = target.entry
    said = (body.get("apiVersion", entry.api_version), body.get("kind", entry.kind))
    if said != (entry.api_version, entry.kind):
        raise Refused(f"the object is a {said[1]} of {said[0]}, but this is the place of a {entry.kind}")


async def _patch(request: web.Request, store: Store, target: Target, body: Json) -> web.Response:
    forms.check(target.entry, body)
    how = _how(request)
    named = {"namespace": target.namespace or "", "subresource": target.subresource, "manager": how.manager}
    if how.dry_run:
        made = store.rehearse_patch(target.raw, target.name, body, **named)
    else:
        made = await store.patch(target.raw, target.name, body, **named)
    return object_response(scaling.seen(bytes(made)) if target.subresource == "scale" else bytes(made))


async def _change(request: web.Request, store: Store, target: Target, change: Change) -> web.Response:
    """Work out a change on the object as it is; anew when it moved meanwhile, unless it was meant for one version."""
    for attempt in range(_TRIES):
        live = bytes(await store.get(target.raw, target.name, target.namespace or ""))
        before, patch = _worked_out(live, change, target)
        try:
            return await _patch(request, store, target, patch)
        except Conflict:
            if patch["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"]:
                raise
            # What is read is on disk; what it conflicts with may be on its way there.
            await asyncio.sleep(_PAUSE * attempt)
    raise Conflict(f'{target.entry.name} "{target.name}": others change it all the time; try again')


def _worked_out(live: bytes, change: Change, target: Target) -> tuple[Json, Json]:
    """What is, and the merge patch that makes of it what was asked for."""
    if target.subresource == "scale":
        scale: Json = msgspec.json.decode(scaling.seen(live))
        return scale, scaling.patch(change(scale), scale)
    before: Json = msgspec.json.decode(live)
    wanted = change(before)
    forms.check(target.entry, wanted)
    return before, patches.difference(before, wanted)


def _uid(found: Any) -> str:
    body: Json = msgspec.json.decode(found)
    return str(body["metadata"].get("uid", ""))
