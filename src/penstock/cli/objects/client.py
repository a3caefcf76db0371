"""The adapter for a Kubernetes API, with what only a command line asks of it.

Reconcilers read lean structs; people want to see every field, so commands read objects as plain JSON (`WHOLE`).
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import Any, cast

import msgspec

from penstock.api.objects import Json
from penstock.cluster.catalogue import Entry
from penstock.cluster.errors import ClusterError, NotFound
from penstock.cluster.kube import KubeCluster, answers, paths
from penstock.cluster.kube.changes import Changes
from penstock.cluster.kube.transport import Call
from penstock.cluster.port import EVERYTHING, Event, EventType, Selection
from penstock.cluster.resources import Resource

_CRDS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", cast(Any, dict), False
)


class _Changes(Changes[Any]):
    """Reads a watch of whole objects."""

    def _events(self, lines: bytes) -> Iterator[Event[Any]]:
        return map(self._slowly, lines.splitlines())

    def _slowly(self, line: bytes) -> Event[Any]:
        told = msgspec.json.decode(line)
        if told["type"] not in {"ADDED", "MODIFIED", "DELETED"}:
            return super()._slowly(line)
        return Event(EventType(told["type"]), told["object"], told["object"]["metadata"]["resourceVersion"])


class Client(KubeCluster):
    """A `KubeCluster` that also watches whole objects and tells what kinds there are."""

    def watch(
        self, resource: Resource[Any], where: Selection = EVERYTHING, *, since: str
    ) -> AsyncGenerator[Event[Any], None]:
        """What happens after `since`, until the server closes the stream."""
        whole = resource.struct is dict
        return (self._watch_whole if whole else super().watch)(resource, where, since=since)

    async def _watch_whole(
        self, resource: Resource[Any], where: Selection, *, since: str
    ) -> AsyncGenerator[Event[Any], None]:
        seconds = math.ceil(self._limits.watch)
        query = {"watch": "1", "allowWatchBookmarks": "true", "resourceVersion": since, "timeoutSeconds": str(seconds)}
        asked = {"labelSelector": where.labels, "fieldSelector": where.fields}
        call = Call(
            method="GET",
            path=paths.collection(resource, where.namespace),
            what=f"watch {paths.label(resource, namespace=where.namespace)}",
            query=query | {name: text for name, text in asked.items() if text},
        )
        changes = _Changes(cast(Any, dict), call.what)
        async with self._transport.stream(call, seconds=seconds) as blocks:
            async for block in blocks:
                for event in changes.feed(block):
                    yield event
        changes.end()

    async def discover(self) -> Sequence[Entry]:
        """Everything the server serves, groups of aggregated servers that do not answer left out."""
        groups = await self._json("/apis", "discover the groups")
        versions = ["", *(group["preferredVersion"]["groupVersion"] for group in groups.get("groups", ()))]
        lists = await asyncio.gather(*(self._resources(version) for version in versions))
        return [entry for entries in lists for entry in entries]

    async def _resources(self, group_version: str) -> list[Entry]:
        try:
            listed = await self._json(f"/apis/{group_version}" if group_version else "/api/v1", "discover the kinds")
        except ClusterError:
            return []
        return list(_entries(listed.get("resources") or [], group_version or "v1"))

    async def printer_columns(self, entry: Entry) -> list[Json] | None:
        """The columns of a kind's CRD; None when it has none, or we may not look."""
        try:
            found = cast(Json, await self.get(_CRDS, entry.name))
        except ClusterError:
            return None
        for version in found["spec"]["versions"]:
            if version["name"] == entry.version:
                return version.get("additionalPrinterColumns") or []
        raise NotFound(f"{entry.name}: version {entry.version} is gone; try again")

    async def _json(self, path: str, what: str) -> Json:
        return answers.read(await self._send("GET", path, what), dict, what)


def _entries(resources: Sequence[Json], group_version: str) -> Iterator[Entry]:
    group, _, version = group_version.rpartition("/")
    doors = {one["name"] for one in resources}
    for one in resources:
        if "/" in one["name"] or "list" not in one.get("verbs", ()):
            continue
        yield Entry(
            group=group,
            version=version,
            plural=one["name"],
            singular=one.get("singularName") or one["kind"].lower(),
            kind=one["kind"],
            short_names=tuple(one.get("shortNames") or ()),
            namespaced=one["namespaced"],
            has_status=f"{one['name']}/status" in doors,
            has_scale=f"{one['name']}/scale" in doors,
            categories=tuple(one.get("categories") or ()),
        )
