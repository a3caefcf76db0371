"""Writing on pods what `marks` says. Labels first: they protect; the rest only tells."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from penstock.api.objects import Json
from penstock.cluster.errors import Conflict
from penstock.cluster.port import Cluster
from penstock.cluster.resources import Meta, Whole
from penstock.operator.fresh import unless_gone
from penstock.operator.nodeset.abreast import abreast
from penstock.operator.nodeset.marks import Mark, is_ours, marks
from penstock.operator.nodeset.snapshot import Snapshot
from penstock.operator.resources import PODS, Pod
from penstock.operator.status import Now, stamp

AT_MOST = 200
"""Pods in one look: other things wait for its end."""


class Marking:
    """Writes on pods. What was written and the watch has not shown is remembered, only to save requests."""

    def __init__(self, cluster: Cluster, now: Now) -> None:
        self._cluster = cluster
        self._now = now
        self._written: dict[str, dict[str, Mark]] = {}
        """By the uids of the NodeSet and of the pod."""

    def forget(self, uid: str) -> None:
        """A NodeSet is gone."""
        self._written.pop(uid, None)

    async def mark(self, now: Snapshot) -> bool:
        """Bring pods up to date; tells whether there are more than fit in one look."""
        wanted, owner = marks(now), now.node_set.metadata.uid
        before = self._written.pop(owner, {})
        written = {one.pod.metadata.uid: one for one in wanted if before.get(one.pod.metadata.uid) == one}
        fresh = [one for one in wanted if one.pod.metadata.uid not in written]
        if not fresh and not written:
            return False
        self._written[owner] = written

        async def write(one: Mark) -> None:
            with unless_gone():
                await self._describe(one)
                await self._tell_state(one)
            written[one.pod.metadata.uid] = one

        await abreast(fresh[:AT_MOST], write)
        return len(fresh) > AT_MOST

    async def _describe(self, one: Mark) -> None:
        about: Json = {"labels": one.labels, "annotations": one.annotations}
        changed = {name: texts for name, texts in about.items() if texts}
        if changed:
            meta = one.pod.metadata
            patch = {"metadata": {"uid": meta.uid, **changed}}
            await self._cluster.patch(PODS, meta.name, patch, namespace=meta.namespace)

    async def _tell_state(self, one: Mark) -> None:
        """By server-side apply: what we no longer state goes, and what kubelet states stays."""
        if one.conditions is None:
            return
        meta = one.pod.metadata
        about = {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid}
        told = _timed(one.pod, one.conditions, stamp(self._now()))
        left = await self._cluster.apply_status(PODS, {"metadata": about, "status": {"conditions": told}})
        if any(_is_over(condition.type, one.conditions) for condition in left.status.conditions):
            await self._sweep(meta, one.conditions)

    async def _sweep(self, meta: Meta, wanted: Mapping[str, str]) -> None:
        """Take away what another operator, here before us, said of a state that is over."""
        there = await self._cluster.get(PODS.reading(Whole), meta.name, meta.namespace)
        kept = [one for one in there.status.get("conditions") or [] if not _is_over(str(one.get("type")), wanted)]
        # The list is replaced whole, so nobody may have said anything since.
        version = {"uid": meta.uid, "resourceVersion": there.metadata.resource_version}
        patch = {"metadata": version, "status": {"conditions": kept}}
        with suppress(Conflict):
            await self._cluster.patch(PODS, meta.name, patch, namespace=meta.namespace, subresource="status")


def _timed(pod: Pod, wanted: Mapping[str, str], now: str) -> list[Json]:
    since = {one.type: one.last_transition_time for one in pod.status.conditions if one.status == "True"}
    return [
        {"type": kind, "status": "True", "message": message, "lastTransitionTime": since.get(kind) or now}
        for kind, message in wanted.items()
    ]


def _is_over(kind: str, wanted: Mapping[str, str]) -> bool:
    return is_ours(kind) and kind not in wanted
