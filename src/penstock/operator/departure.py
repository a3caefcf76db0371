"""Who is deleted with a cluster, and stays as long as its jobs need it.

A NodeSet that is deleted waits for its jobs, and Slurm has to say when they are over: slurmctld, which goes with its
Controller, and slurmrestd, which goes with its RestApi. So finalizers hold both until no NodeSet refers to the
Controller; and slurmdbd, to whom slurmctld tells how the jobs ended, until no Controller refers to its Accounting.
A RestApi or an Accounting that is deleted alone goes, for another one may come: it stays for those that go with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from penstock.api.controller import Controller
from penstock.api.nodeset import NodeSet
from penstock.api.restapi import RestApi
from penstock.operator import finalizer, fresh
from penstock.operator.conditions import Cause
from penstock.operator.context import Context
from penstock.operator.resources import CUSTOMS, Custom

TOGETHER = 5.0
"""Seconds within which who deletes a whole cluster has deleted all of it."""
_AGAIN = 2.0
_FOREGROUND = "foregroundDeletion"
"""Kubernetes' own, while it deletes what an object owns before the object itself."""
_FINALIZERS = {
    "Controller": finalizer.CONTROLLER, "RestApi": finalizer.REST_API, "Accounting": finalizer.ACCOUNTING,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Stay:
    """What becomes of an object."""

    makes: bool = True
    """What it asks for is to be there."""
    kept_by: Cause | None = None
    """It is deleted, and stays for somebody."""
    again: float | None = None
    """Seconds until somebody has to look again; those that it stays for wake us when they are gone."""


_TAKEN_APART = Stay(makes=False, again=_AGAIN)
"""Kubernetes deletes what it owns: who makes that again now would fight it. Afterwards it is made for who is left."""


@dataclass(frozen=True, slots=True)
class _Need:
    """Who needs a deleted object, and for how many seconds at most; None: until they are gone."""

    kinds: str
    whose: Sequence[Custom]
    seconds: float | None = None

    def stay(self) -> Stay:
        """What it comes to, in words."""
        told = f"goes when {self.kinds} {_named(self.whose)} are gone"
        if rest := [item for item in self.whose if not _is_deleted(item)]:
            told += f"; delete {_named(rest)}, too"
        return Stay(kept_by=Cause(f"{self.kinds}Left", told), again=self.seconds)


async def of_controller(context: Context, item: Custom) -> Stay:
    """Have a Controller, whether it can be read or not, stay while NodeSets refer to it."""
    meta, need = item.metadata, None
    if _is_deleted(item):
        seen = _of(context, meta.name, context.caches.customs["NodeSet"].by("namespace", meta.namespace))
        # The watch may be behind, and a Controller goes but once.
        sets = seen or _of(context, meta.name, await fresh.listed(context.cluster, CUSTOMS["NodeSet"], meta.namespace))
        need = _Need("NodeSets", sets) if sets else None
    return await _stay(context, "Controller", item, need)


class Companions:
    """RestApis and Accountings that are deleted, and since when."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}
        """By uid: the loop's time when one was first seen to be deleted, for clocks differ."""

    async def of_rest_api(self, context: Context, item: Custom, rest_api: RestApi) -> Stay:
        """Have a RestApi stay while NodeSets need it that are deleted with it."""
        namespace, name = item.metadata.namespace, rest_api.spec.controller_ref.name
        sets = _of(context, name, context.caches.customs["NodeSet"].by("namespace", namespace))
        its = context.caches.find(("Controller", namespace, name))
        return await _stay(context, "RestApi", item, self._need(item, "NodeSets", sets, its))

    async def of_accounting(self, context: Context, item: Custom) -> Stay:
        """Have an Accounting stay while Controllers need it that are deleted with it."""
        return await _stay(context, "Accounting", item, self._need(item, "Controllers", _controllers(context, item)))

    def _need(self, item: Custom, kinds: str, whose: Sequence[Custom], *others: Custom | None) -> _Need | None:
        """Of those who go with it. Until somebody else of its cluster is deleted, too, they have a moment for that."""
        if not whose or not _is_deleted(item):
            return None
        if any(map(_is_deleted, [*whose, *others])):
            return _Need(kinds, whose)
        now = asyncio.get_running_loop().time()
        left = self._since.setdefault(item.metadata.uid, now) + TOGETHER - now
        return _Need(kinds, whose, left) if left > 0 else None

    def forget(self, uid: str) -> None:
        """One is gone."""
        self._since.pop(uid, None)


async def of_unreadable(context: Context, kind: str, item: Custom) -> float | None:
    """The same for an object that cannot be read; tells in how many seconds to look again."""
    if kind not in _FINALIZERS or not _is_deleted(item):
        return None
    stay = await (of_controller(context, item) if kind == "Controller" else _stay(context, kind, item, None))
    return stay.again


async def _stay(context: Context, kind: str, item: Custom, need: _Need | None) -> Stay:
    """Hold an object, and let it go when it is deleted and nobody needs it."""
    meta, name = item.metadata, _FINALIZERS[kind]
    if not _is_deleted(item):
        await finalizer.hold(context, item, name, kind=kind)
        return Stay()
    if _FOREGROUND in meta.finalizers:
        return _TAKEN_APART
    # Who leaves orphans has pods that go on as they are, and are not to be taken back.
    if need and not finalizer.leaves_orphans(meta):
        return need.stay()
    released = await finalizer.release(context, item, name, kind=kind)
    return Stay(makes=False, again=None if released else _AGAIN)


def has_lost_slurmctld(context: Context, controller: Controller) -> bool:
    """Whether nobody waited for NodeSets, and slurmctld has gone before them, as with their namespace."""
    meta = controller.metadata
    if controller.spec.external or not _is_deleted(context.caches.find(("Controller", meta.namespace, meta.name))):
        return False
    return not context.caches.pods_of("slurmctld", controller)


def _is_deleted(item: Custom | None) -> bool:
    return item is not None and item.metadata.deletion_timestamp is not None


def _named(items: Iterable[Custom]) -> str:
    return ", ".join(sorted(item.metadata.name for item in items))


def _of(context: Context, controller: str, items: Iterable[Custom]) -> list[Custom]:
    """Of NodeSets those that refer to a Controller, or may: those that cannot be read."""
    found = ((item, context.caches.decoder.decode("NodeSet", item)) for item in items)
    return [one for one, its in found if not isinstance(its, NodeSet) or its.spec.controller_ref.name == controller]


def _controllers(context: Context, accounting: Custom) -> list[Custom]:
    """Those that refer to an Accounting."""
    meta, found = accounting.metadata, list[Custom]()
    for item in context.caches.customs["Controller"].by("namespace", meta.namespace):
        its = context.caches.decoder.decode("Controller", item)
        if isinstance(its, Controller) and its.spec.accounting_ref and its.spec.accounting_ref.name == meta.name:
            found.append(item)
    return found
