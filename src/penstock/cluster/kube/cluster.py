"""A Kubernetes API server, behind the port."""

from __future__ import annotations

import math
import re
from collections.abc import AsyncGenerator
from types import TracebackType
from typing import Any, Generic, Self

import msgspec

from penstock.api.objects import Json
from penstock.cluster.errors import Refused
from penstock.cluster.kube import answers, loglines, paths
from penstock.cluster.kube.changes import Changes
from penstock.cluster.kube.connection import Connection
from penstock.cluster.kube.streams import PODS, KubeStreams
from penstock.cluster.kube.transport import Call, Limits, Peek, Transport
from penstock.cluster.port import (
    ALWAYS,
    EVERYTHING,
    MANAGER,
    Early,
    Event,
    EventType,
    Listing,
    Preconditions,
    Propagation,
    Selection,
    T,
)
from penstock.cluster.resources import Resource

_APPLY = "application/apply-patch+yaml"
"""JSON is YAML."""
_MERGE = "application/merge-patch+json"
_ESCAPED = tuple((letter.encode(), f"\\u{ord(letter):04x}".encode()) for letter in "<>&\u2028\u2029")
"""What Go escapes in texts, and nobody else has to."""


_NEXT = re.compile(rb'\{"kind":"\w+","apiVersion":"[^"]+","metadata":\{"resourceVersion":"\d+","continue":"([^"\\]+)"')
"""How an API server begins a page that is not the last; should it once begin otherwise, nothing is known early."""


class _PageMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str | None = msgspec.field(default=None, name="continue")


class _Page(msgspec.Struct, Generic[T]):
    metadata: _PageMeta
    items: list[T] | None = None


class KubeCluster(KubeStreams):
    """The port (`penstock.cluster.port.Cluster`) to a real API server. Use as an async context manager."""

    def __init__(self, connection: Connection, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._transport = Transport(connection, self._limits)

    async def __aenter__(self) -> Self:
        await self._transport.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._transport.__aexit__(kind, error, trace)

    async def get(self, resource: Resource[T], name: str, namespace: str = "") -> T:
        """One object, or `NotFound`."""
        what = f"get {paths.label(resource, name, namespace)}"
        body = await self._send("GET", paths.one(resource, name, namespace), what)
        return answers.read(body, resource.struct, what)

    async def list(
        self,
        resource: Resource[T],
        where: Selection = EVERYTHING,
        *,
        limit: int = 500,
        continue_token: str = "",
        early: Early | None = None,
    ) -> Listing[T]:
        """One page of objects, straight from the store behind the server: a cached list would ignore the limit."""
        what = f"list {paths.label(resource, namespace=where.namespace)}"
        query = _selectors(where) | {"limit": str(limit)}
        if continue_token:
            query["continue"] = continue_token
        peek = (lambda block: _tell_next(block, early)) if early else None
        body = await self._send("GET", paths.collection(resource, where.namespace), what, query=query, peek=peek)
        page: _Page[T] = answers.read(body, _Page[resource.struct], what)  # type: ignore[name-defined]
        return Listing(page.items or [], page.metadata.resource_version, page.metadata.continue_ or "")

    async def watch(
        self, resource: Resource[T], where: Selection = EVERYTHING, *, since: str
    ) -> AsyncGenerator[Event[T], None]:
        """What happens after `since`, until the server closes the stream. Begins with a bookmark: we are connected."""
        # By chance a little shorter, so that watches that began together do not end together.
        seconds = math.ceil(self._limits.watch * (1 - self._limits.backoff.chance() / 4))
        query = {"watch": "1", "allowWatchBookmarks": "true", "resourceVersion": since, "timeoutSeconds": str(seconds)}
        call = Call(
            method="GET",
            path=paths.collection(resource, where.namespace),
            what=f"watch {paths.label(resource, namespace=where.namespace)}",
            query=_selectors(where) | query,
        )
        changes = Changes(resource.struct, call.what)
        async with self._transport.stream(call, seconds=seconds) as blocks:
            yield Event(EventType.BOOKMARK, None, since)
            async for block in blocks:
                for event in changes.feed(block):
                    yield event
        changes.end()

    async def logs(self, name: str, *, namespace: str, container: str, tail: int = 0) -> AsyncGenerator[str, None]:
        """The lines of a container's log, until the container ends or the server closes the stream."""
        call = Call(
            method="GET",
            path=paths.one(PODS, name, namespace, "log"),
            what=f"logs of {paths.label(PODS, name, namespace)}, container {container}",
            query={"container": container, "follow": "true", "tailLines": str(tail)},
        )
        lines = loglines.Lines()
        try:
            async with self._transport.stream(call) as blocks:
                async for block in blocks:
                    for line in lines.feed(block):
                        yield line
        except Refused as error:
            raise loglines.explained(error) from None
        for line in lines.end():
            yield line

    async def create(self, resource: Resource[T], body: Json, *, manager: str = MANAGER, dry_run: bool = False) -> T:
        """Make an object; `AlreadyExists` when it is there."""
        name, namespace = _place(body)
        what = f"create {paths.label(resource, name, namespace)}"
        answer = await self._send(
            "POST",
            paths.collection(resource, namespace),
            what,
            query={"fieldManager": manager} | _dry(dry_run),
            body=_typed(resource, body),
        )
        return answers.read(answer, resource.struct, what)

    async def apply(
        self, resource: Resource[T], body: Json, *, manager: str = MANAGER, force: bool = True, dry_run: bool = False
    ) -> T:
        """Server-side apply."""
        return await self._apply(resource, body, "", _ownership(manager, force) | _dry(dry_run))

    async def apply_status(self, resource: Resource[T], body: Json, *, manager: str = MANAGER, force: bool = True) -> T:
        """Server-side apply of the status alone."""
        return await self._apply(resource, body, "status", _ownership(manager, force))

    async def patch(
        self,
        resource: Resource[T],
        name: str,
        patch: Json,
        *,
        namespace: str = "",
        subresource: str = "",
        manager: str = MANAGER,
    ) -> T:
        """A JSON merge patch."""
        what = f"patch {paths.label(resource, name, namespace)}"
        path = paths.one(resource, name, namespace, subresource)
        answer = await self._send("PATCH", path, what, query={"fieldManager": manager}, body=patch, content_type=_MERGE)
        return answers.read(answer, resource.struct, what)

    async def scale(self, resource: Resource[T], name: str, replicas: int, *, namespace: str = "") -> None:
        """Set the size through the scale subresource."""
        await self._send(
            "PATCH",
            paths.one(resource, name, namespace, "scale"),
            f"scale {paths.label(resource, name, namespace)}",
            query={"fieldManager": MANAGER},
            body={"spec": {"replicas": replicas}},
            content_type=_MERGE,
        )

    async def delete(
        self,
        resource: Resource[T],
        name: str,
        *,
        namespace: str = "",
        only_if: Preconditions = ALWAYS,
        propagation: Propagation = Propagation.BACKGROUND,
        grace_seconds: int | None = None,
    ) -> None:
        """Delete; `Conflict` when the preconditions do not hold, `NotFound` when it is gone already."""
        options = _delete_options(only_if) | {"propagationPolicy": propagation.value}
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        what = f"delete {paths.label(resource, name, namespace)}"
        await self._send("DELETE", paths.one(resource, name, namespace), what, body=options)

    async def evict(self, name: str, *, namespace: str, only_if: Preconditions = ALWAYS) -> None:
        """Ask for a pod to go; `Overloaded`, at once, when a budget says not now."""
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": _delete_options(only_if),
        }
        path = paths.one(PODS, name, namespace, "eviction")
        await self._send("POST", path, f"evict {paths.label(PODS, name, namespace)}", body=body, patient=False)

    async def _apply(self, resource: Resource[T], body: Json, subresource: str, query: dict[str, str]) -> T:
        name, namespace = _place(body)
        what = f"apply {paths.label(resource, name, namespace)}"
        path = paths.one(resource, name, namespace, subresource)
        answer = await self._send("PATCH", path, what, query=query, body=_typed(resource, body), content_type=_APPLY)
        return answers.read(answer, resource.struct, what)

    async def _send(
        self,
        method: str,
        path: str,
        what: str,
        *,
        query: dict[str, str] | None = None,
        body: Json | None = None,
        content_type: str = "application/json",
        patient: bool = True,
        peek: Peek | None = None,
    ) -> bytes:
        call = Call(
            method=method,
            path=path,
            what=what,
            # The server gives up when we do, so that a write we gave up on does not happen much later.
            query=(query or {}) | {"timeout": f"{self._limits.answer:g}s"},
            body=None if body is None else _as_go_writes(body),
            content_type=content_type,
            patient=patient,
            peek=peek,
        )
        return await self._transport.send(call)


def _as_go_writes(body: Json) -> bytes:
    """JSON as the server itself writes it.

    It keeps raw fields, such as a ControllerRevision's data, byte by byte; at the next patch it reads what it wrote of
    them, and takes another spelling for a change.
    """
    text = msgspec.json.encode(body)
    for letter, escaped in _ESCAPED:
        text = text.replace(letter, escaped)
    return text


def _tell_next(beginning: bytes, early: Early) -> None:
    """Read from the first bytes of a page where the next one begins."""
    if found := _NEXT.match(beginning):
        early(found[1].decode())


def _place(body: Json) -> tuple[str, str]:
    metadata: dict[str, Any] = body.get("metadata", {})
    return metadata.get("name", ""), metadata.get("namespace", "")


def _typed(resource: Resource[T], body: Json) -> Json:
    return {"apiVersion": resource.api_version, "kind": resource.kind} | body


def _selectors(where: Selection) -> dict[str, str]:
    asked = {"labelSelector": where.labels, "fieldSelector": where.fields}
    return {name: text for name, text in asked.items() if text}


def _ownership(manager: str, force: bool) -> dict[str, str]:
    return {"fieldManager": manager, "force": "true" if force else "false"}


def _dry(dry_run: bool) -> dict[str, str]:
    return {"dryRun": "All"} if dry_run else {}


def _delete_options(only_if: Preconditions) -> Json:
    asked = {"uid": only_if.uid, "resourceVersion": only_if.resource_version}
    preconditions = {name: text for name, text in asked.items() if text is not None}
    return {"apiVersion": "v1", "kind": "DeleteOptions"} | ({"preconditions": preconditions} if preconditions else {})
