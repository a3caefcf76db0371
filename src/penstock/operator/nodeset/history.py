"""Keeping the revisions of NodeSets in the cluster, as ControllerRevisions.

A revision is written down before a worker of it is made, so that there is a way back from every worker there is. All of
it can be done twice, and broken off anywhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from contextlib import suppress

from penstock.api.nodeset import NodeSet
from penstock.api.objects import Json
from penstock.cluster.errors import AlreadyExists, Conflict, NotFound
from penstock.cluster.port import Cluster, Preconditions
from penstock.cluster.resources import OwnerReference
from penstock.operator import fresh
from penstock.operator.nodeset.revisions import as_newest, asked_for, body, is_ours, lined_up, surplus, taken_over
from penstock.operator.owned import NameTaken
from penstock.operator.resources import REVISIONS, Revision
from penstock.operator.views import View

_SHOWN_WITHIN = 30.0
"""Seconds in which the watch shows what we wrote."""
_TRIES_FOR_A_NAME = 8


class History:
    """The revisions of all NodeSets: as the watch shows them, and as we left them where it is behind."""

    def __init__(self, cluster: Cluster, view: View[Revision]) -> None:
        self._cluster = cluster
        self._view = view
        self._written: dict[tuple[str, str], tuple[Revision, float]] = {}
        view.subscribe(self._shown)

    def of(self, node_set: NodeSet) -> list[Revision]:
        """The revisions of a NodeSet."""
        uid = node_set.metadata.uid
        if not self._written:
            return [*self._view.by("owners", uid)]
        oldest = _time() - _SHOWN_WITHIN
        for key in [key for key, (_, at) in self._written.items() if at < oldest]:
            del self._written[key]
        found = {_place(one): one for one in self._view.by("owners", uid)}
        ours = {key: one for key, (one, _) in self._written.items() if _is_of(one, uid)}
        return [*(found | ours).values()]

    async def record(self, node_set: NodeSet) -> list[Revision]:
        """Have what the NodeSet says now as its newest revision; all of its revisions, that one among them."""
        if not any(map(is_ours, self.of(node_set))):
            await self._take_over(node_set)
        found = self.of(node_set)
        one = asked_for(node_set, found)
        if one is None:
            await self._make(node_set, max((each.revision for each in found), default=0) + 1)
        elif patch := as_newest(node_set, one, found):
            await self._change(one, patch)
        return self.of(node_set)

    async def trim(self, node_set: NodeSet, used: Collection[str]) -> None:
        """Delete old revisions beyond those to be kept; `used` are the hashes of all workers there are."""
        for one in surplus(node_set, self.of(node_set), used):
            meta, only_if = one.metadata, Preconditions(uid=one.metadata.uid)
            with suppress(NotFound, Conflict):
                await self._cluster.delete(REVISIONS, meta.name, namespace=meta.namespace, only_if=only_if)

    async def _take_over(self, node_set: NodeSet) -> None:
        """Find the revisions that Slinky made, which lack the labels to watch them by; once, before our own first one.

        Asked for without labels: it is one question in the life of a NodeSet.
        """
        meta = node_set.metadata
        found = await fresh.listed(self._cluster, REVISIONS, meta.namespace)
        for one, number in lined_up([one for one in found if _is_of(one, meta.uid)]):
            patch = taken_over(node_set, one, number)
            if patch:
                await self._change(one, patch)
            else:
                self._note(one)

    async def _make(self, node_set: NodeSet, number: int) -> None:
        """Under the first name that is free, or has been ours all along and the watch has not shown it."""
        for collisions in range(_TRIES_FOR_A_NAME):
            wanted = body(node_set, number, collisions=collisions)
            try:
                self._note(await self._cluster.create(REVISIONS, wanted))
            except AlreadyExists:
                if not await self._is_that(node_set, wanted["metadata"]["name"]):
                    continue
            return
        name = node_set.metadata.name
        raise NameTaken(f'ControllerRevisions named "{name}-…" belong to somebody else; rename the NodeSet, or these')

    async def _is_that(self, node_set: NodeSet, name: str) -> bool:
        """Whether an object in our way is the revision that we meant to make; one that has lost its owner gets us."""
        there = await self._cluster.get(REVISIONS, name, node_set.metadata.namespace)
        owner = _controller(there)
        if asked_for(node_set, [there]) is None or (owner and owner.uid != node_set.metadata.uid):
            return False
        if patch := taken_over(node_set, there, there.revision):
            await self._change(there, patch)
        else:
            self._note(there)
        return True

    async def _change(self, one: Revision, patch: Json) -> None:
        """Patch a revision, if it is as we know it."""
        meta = one.metadata
        about = {**patch.get("metadata", {}), "resourceVersion": meta.resource_version}
        changed = self._cluster.patch(REVISIONS, meta.name, {**patch, "metadata": about}, namespace=meta.namespace)
        self._note(await changed)

    def _note(self, one: Revision) -> None:
        self._written[_place(one)] = (one, _time())

    def _shown(self, old: Revision | None, new: Revision | None) -> None:
        if self._written and (one := new or old) is not None:
            self._written.pop(_place(one), None)


def _place(one: Revision) -> tuple[str, str]:
    return one.metadata.namespace, one.metadata.name


def _is_of(one: Revision, uid: str) -> bool:
    return any(owner.uid == uid for owner in one.metadata.owner_references)


def _controller(one: Revision) -> OwnerReference | None:
    return next((owner for owner in one.metadata.owner_references if owner.controller), None)


def _time() -> float:
    return asyncio.get_running_loop().time()
