"""Keeping owned objects as they should be: by server-side apply, and only when something differs.

An object is applied when we have not applied it yet, when what we want of it has changed, or when somebody else changed
it. What is remembered here only saves requests: an apply of what is there already changes nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec

from penstock.api.objects import Json
from penstock.cluster.errors import ClusterError, Conflict, NotFound, Refused
from penstock.cluster.informer import Listener
from penstock.cluster.port import Cluster, Preconditions
from penstock.cluster.resources import Lean, Resource
from penstock.operator.resources import CLAIMS, OWNED, SERVICE_MONITORS, SERVICES
from penstock.operator.views import View

Place = tuple[str, str, str]
"""Kind, namespace and name of an object."""


_SHOWN_WITHIN = 30.0
"""Seconds in which the watch shows what we made."""


class NameTaken(Conflict):
    """An object of this name belongs to somebody else."""


class KindMissing(ClusterError):
    """The cluster does not know the kind of an object that somebody asked for."""


@dataclass(frozen=True, slots=True)
class _Applied:
    digest: bytes
    versions: frozenset[str]
    """What the watch showed when we applied, and what came of it: neither is somebody else's change."""
    generation: int
    at: float


class Owned:
    """The objects of our kinds, other than workers."""

    def __init__(self, cluster: Cluster, views: Iterable[View[Any]]) -> None:
        self._cluster = cluster
        self._views = {view.resource.kind: view for view in views}
        self._applied: dict[Place, _Applied] = {}
        self._absent: set[Place] = set()
        """What no watch shows, and was found not to be there."""
        for view in self._views.values():
            view.subscribe(self._forgetting(view))

    def live(self, kind: str, namespace: str, name: str) -> Lean | None:
        """An object as the watch last showed it."""
        view = self._views.get(kind)
        return view.get(name, namespace) if view else None

    async def keep(self, body: Json) -> bool:
        """Make an object so, unless it is; tells whether that changed anything."""
        place, digest = _place(body), _digest(body)
        live, known = self.live(*place), self._applied.get(place)
        if live is not None:
            _refuse_foreign(place, live, body)
        if known and known.digest == digest and _untouched(place, live, known, body):
            return False
        result = await self._apply(place, live, body)
        shown = {live.metadata.resource_version} if live else set[str]()
        versions = frozenset(shown | {result.metadata.resource_version})
        self._absent.discard(place)
        self._applied[place] = _Applied(digest, versions, result.metadata.generation, _time())
        return result.metadata.resource_version not in shown

    async def _apply(self, place: Place, live: Lean | None, body: Json) -> Lean:
        """By force only what is ours already: what somebody else wrote under that name is not ours to overwrite."""
        ours = live is not None and _is_of(live, _owners(body))
        try:
            return await self._applied_to(OWNED[place[0]], body, ours=ours)
        except Conflict as error:
            kind, namespace, name = place
            raise NameTaken(
                f'{kind} "{name}" in namespace "{namespace}" was written by somebody else ({error}); '
                "delete it, or rename one of the two"
            ) from error
        except NotFound as error:
            raise KindMissing(
                f"the cluster has no {body['apiVersion']} {body['kind']}; install it, or do not ask for it"
            ) from error

    async def _applied_to(self, resource: Resource[Lean], body: Json, *, ours: bool) -> Lean:
        try:
            return await self._cluster.apply(resource, body, force=ours)
        except Conflict:
            if ours or not await self._is_ours_unseen(resource, body):
                raise
            return await self._applied_to(resource, body, ours=True)
        except Refused:
            if not (ours and resource.kind == SERVICES.kind):
                raise
            # Ports are told apart by their number: one that somebody changed would stay beside ours, with its name.
            meta, ports = body["metadata"], {"spec": {"ports": body["spec"]["ports"]}}
            await self._cluster.patch(resource, meta["name"], ports, namespace=meta["namespace"])
            return await self._cluster.apply(resource, body, force=ours)

    async def _is_ours_unseen(self, resource: Resource[Lean], body: Json) -> bool:
        """Whether an object that the watch does not show, for want of its labels, is ours all the same."""
        meta = body["metadata"]
        there = await self._cluster.get(resource, meta["name"], meta["namespace"])
        return _is_of(there, _owners(body))

    async def remove_unwatched(self, resource: Resource[Lean], namespace: str, name: str, *, owner: str) -> None:
        """Delete an object that no watch shows, if there is one of this owner; looked for once."""
        place = (resource.kind, namespace, name)
        if place in self._absent:
            return
        with suppress(NotFound):
            there = await self._cluster.get(resource, name, namespace)
            if _is_of(there, {owner}):
                only_if = Preconditions(uid=there.metadata.uid)
                await self._cluster.delete(resource, name, namespace=namespace, only_if=only_if)
        self._absent.add(place)
        self._applied.pop(place, None)

    async def prune(self, owner_uid: str, wanted: Iterable[Json]) -> list[Place]:
        """Delete what an owner made and does not want any more. Claims are never among it: they hold people's data."""
        keep = {_place(body) for body in wanted}
        unwanted = [(view, item) for view, item in self._of(owner_uid) if _place_of(view, item) not in keep]
        return [_place_of(view, item) for view, item in unwanted if await self._delete(view, item)]

    def _forgetting(self, view: View[Lean]) -> Listener[Lean]:
        def listen(old: Lean | None, new: Lean | None) -> None:
            if old is not None and new is None:
                self._applied.pop(_place_of(view, old), None)

        return listen

    def _of(self, owner_uid: str) -> list[tuple[View[Lean], Lean]]:
        return [
            (view, item)
            for kind, view in self._views.items()
            if kind != CLAIMS.kind
            for item in view.by("owners", owner_uid)
            if any(owner.controller and owner.uid == owner_uid for owner in item.metadata.owner_references)
            and item.metadata.deletion_timestamp is None
        ]

    async def _delete(self, view: View[Lean], item: Lean) -> bool:
        meta = item.metadata
        try:
            await self._cluster.delete(
                view.resource, meta.name, namespace=meta.namespace, only_if=Preconditions(uid=meta.uid)
            )
        except (NotFound, Conflict):
            # Gone already; and what has its name by now is not what was meant.
            return False
        return True


def _untouched(place: Place, live: Lean | None, known: _Applied, body: Json) -> bool:
    if live is None:
        # Gone objects are forgotten when the watch tells. One that it has not told of was made a moment ago, or, once
        # in a blue moon, has come and gone while the watch was away.
        return place[0] == SERVICE_MONITORS.kind or _time() < known.at + _SHOWN_WITHIN
    if live.metadata.resource_version in known.versions:
        return True
    # Status changes make new versions all the time; the generation tells them from changes that concern us.
    return 0 < known.generation == live.metadata.generation and _describes(body["metadata"], live)


def _describes(metadata: Json, live: Lean) -> bool:
    owners = _owners({"metadata": metadata})
    return (
        metadata.get("labels", {}).items() <= live.metadata.labels.items()
        and metadata.get("annotations", {}).items() <= live.metadata.annotations.items()
        and owners <= {owner.uid for owner in live.metadata.owner_references}
    )


def _refuse_foreign(place: Place, live: Lean, body: Json) -> None:
    ours = _owners(body)
    for owner in live.metadata.owner_references:
        if owner.controller and ours and owner.uid not in ours:
            kind, namespace, name = place
            raise NameTaken(
                f'{kind} "{name}" in namespace "{namespace}" belongs to {owner.kind} "{owner.name}"; '
                "rename one of the two"
            )


def _is_of(item: Lean, owners: set[str]) -> bool:
    return any(owner.uid in owners for owner in item.metadata.owner_references)


def _owners(body: Json) -> set[str]:
    return {owner["uid"] for owner in body["metadata"].get("ownerReferences", ())}


def _place(body: Json) -> Place:
    return body["kind"], body["metadata"].get("namespace", ""), body["metadata"].get("name", "")


def _place_of(view: View[Lean], item: Lean) -> Place:
    return view.resource.kind, item.metadata.namespace, item.metadata.name


def _time() -> float:
    return asyncio.get_running_loop().time()


def _digest(body: Json) -> bytes:
    return hashlib.sha256(msgspec.json.encode(body, order="sorted")).digest()
