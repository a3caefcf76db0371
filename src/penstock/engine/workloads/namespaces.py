"""A namespace that is deleted takes along what is in it: it goes when nothing is left.

A finalizer holds it until then; Kubernetes has that in `spec`, where its API server alone looks.
"""

from __future__ import annotations

from contextlib import suppress

from penstock.cluster.errors import NotFound
from penstock.cluster.port import Preconditions, Selection
from penstock.engine.workloads.context import Context
from penstock.engine.workloads.kinds import MANAGER, NAMESPACED, NAMESPACES, Namespace

FINALIZER = "kubernetes"
_AGAIN = 0.5
"""Seconds before another look at what takes its time to go."""


class Namespaces:
    """The controller of namespaces."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def look(self, _: str, name: str) -> float | None:
        """Hold a namespace, or empty it and let it go."""
        item = self._context.caches.namespaces.get(name)
        if item is None:
            return None
        held = FINALIZER in item.metadata.finalizers
        if item.metadata.deletion_timestamp is None:
            if not held:
                await self._hold(item, [*item.metadata.finalizers, FINALIZER])
            return None
        if not held:
            return None
        await self._context.tell_status(NAMESPACES, item, item.status, {**item.status, "phase": "Terminating"})
        if await self._left_in(name):
            return _AGAIN
        there = await self._context.cluster.get(NAMESPACES, name)
        await self._hold(there, [one for one in there.metadata.finalizers if one != FINALIZER])
        return None

    async def _left_in(self, name: str) -> int:
        """Delete what is there; tells how much still was."""
        left = 0
        for resource in NAMESPACED:
            found = await self._context.cluster.list(resource, Selection(namespace=name), limit=0)
            left += len(found.items)
            for one in found.items:
                if one.metadata.deletion_timestamp is None:
                    with suppress(NotFound):
                        await self._context.cluster.delete(
                            resource, one.metadata.name, namespace=name, only_if=Preconditions(uid=one.metadata.uid)
                        )
        return left

    async def _hold(self, item: Namespace, finalizers: list[str]) -> None:
        meta = item.metadata
        patch = {"metadata": {"resourceVersion": meta.resource_version, "finalizers": finalizers}}
        with suppress(NotFound):
            await self._context.cluster.patch(NAMESPACES, meta.name, patch, manager=MANAGER)
