"""Doing what `reservation` decides: the maintenance windows of NodeSets, kept in Slurm.

A NodeSet is held by its finalizer before it has a reservation, and until it has none. Slurm is asked about a window
when something about it has changed, and else seldom.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass

from penstock.api.controller import Controller
from penstock.api.nodeset import NodeSet
from penstock.operator import finalizer
from penstock.operator.conditions import Cause, Condition
from penstock.operator.context import Context
from penstock.operator.finalizer import RESERVATION
from penstock.operator.nodeset.reservation import CONDITION, Change, Decision, Drop, Make, decide, name_of, wished
from penstock.operator.nodeset.snapshot import ON_DELETION
from penstock.operator.resources import CUSTOMS, Custom
from penstock.slurm.rest.errors import SlurmError, SlurmNotFound, SlurmRefused
from penstock.slurm.rest.messages import ReservationReport

_SELDOM = 30.0
"""Seconds between two questions about a window of which nothing has changed."""
SOON = 0.5
"""Seconds until a NodeSet is looked at again that changed while it was to be released."""
_USERS = ("slurm",)
_DONE = {Make: "WindowMade", Change: "WindowChanged", Drop: "WindowDropped"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What came of a look at a window."""

    condition: Condition | None = None
    """To be told with the others; None: there is nothing to tell."""
    again: float | None = None
    """Seconds."""
    trouble: Cause | None = None
    """Why the window is not as the NodeSet says."""


class Windows:
    """The windows of all NodeSets."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._rest: dict[str, tuple[object, float, Kept]] = {}
        """By the NodeSet's uid: what was looked at, until when that does, and what came of it."""

    def forget(self, uid: str) -> None:
        """A NodeSet is gone."""
        self._rest.pop(uid, None)

    async def let_go(self, item: Custom) -> float | None:
        """Release a NodeSet without a word to Slurm; tells in how many seconds to try again, if it was not to be."""
        self.forget(item.metadata.uid)
        return None if await finalizer.release(self._context, item, RESERVATION) else SOON

    async def abandon(self, item: Custom, why: str) -> Kept:
        """Release a NodeSet whose window stays in Slurm, and tell people to see to that."""
        note = f"{why}; delete the reservation by hand"
        self._context.events.warning(CUSTOMS["NodeSet"], item, "WindowNotDropped", note)
        return Kept(condition=_taken_back(remembered(item)), again=await self.let_go(item))

    async def keep(
        self, item: Custom, node_set: NodeSet, controller: Controller, nodes: Collection[str], now: int | None
    ) -> Kept:
        """Keep the window of a NodeSet as it says; `nodes` are its nodes that Slurm knows, `now` Slurm's time."""
        deleting = item.metadata.deletion_timestamp is not None
        told = remembered(item)
        if not finalizer.is_held(item, RESERVATION) and (deleting or wished(node_set) is None):
            return Kept(condition=_taken_back(told))
        if now is None:
            return self._unheard(controller, node_set, told) if deleting else Kept(condition=told)
        about = (item.metadata.generation, item.metadata.finalizers, frozenset(nodes), told, deleting)
        seen, until, kept = self._rest.get(item.metadata.uid, (None, 0.0, Kept()))
        moment = asyncio.get_running_loop().time()
        if seen == about and moment < until:
            return kept
        kept = await self._look(item, node_set, controller, nodes, told, now, deleting=deleting)
        self._rest[item.metadata.uid] = (about, moment + min(_SELDOM, kept.again or _SELDOM), kept)
        return kept

    def _unheard(self, controller: Controller, node_set: NodeSet, told: Condition | None) -> Kept:
        """Slurm does not answer: why a NodeSet that is deleted, and has no workers any more, stays all the same."""
        why = self._context.slurm.trouble(controller)
        cure = f"mend that, or have it left in Slurm, by the annotation {ON_DELETION}: Cancel"
        words = f"its reservation {name_of(node_set)} cannot be deleted: {why}; {cure}"
        return Kept(condition=told, again=_SELDOM, trouble=Cause("SlurmUnknown", words))

    async def _look(
        self,
        item: Custom,
        node_set: NodeSet,
        controller: Controller,
        nodes: Collection[str],
        told: Condition | None,
        now: int,
        *,
        deleting: bool,
    ) -> Kept:
        try:
            present = await self._present(controller, node_set)
            decision = decide(node_set, nodes, present, told, now, deleting=deleting)
            await self._do(item, controller, decision)
            if isinstance(decision.step, Drop) and decision.step.anew:
                decision = decide(node_set, nodes, None, None, now)
                await self._do(item, controller, decision)
        except SlurmRefused as error:
            return await self._refused(item, str(error), deleting=deleting or wished(node_set) is None)
        except SlurmError as error:
            return Kept(condition=told, again=_SELDOM, trouble=Cause("SlurmUnknown", str(error)))
        again = decision.again
        if decision.condition is None:
            again = await self.let_go(item) or again
        return Kept(condition=decision.condition or _taken_back(told), again=again)

    async def _present(self, controller: Controller, node_set: NodeSet) -> ReservationReport | None:
        client = await self._context.slurm.client(controller)
        try:
            return await client.reservation(name_of(node_set))
        except SlurmNotFound:
            return None

    async def _do(self, item: Custom, controller: Controller, decision: Decision) -> None:
        match decision.step:
            case Make() | Change():
                await finalizer.hold(self._context, item, RESERVATION)
                await self._put(controller, decision.step)
            case Drop(name=name):
                with suppress(SlurmNotFound):
                    await self._context.slurm.order(
                        controller, f"delete Slurm reservation {name}", lambda client: client.delete_reservation(name)
                    )
            case None:
                return
        if not self._context.slurm.rehearses:
            note = decision.step.why if isinstance(decision.step, Drop) else decision.step.words
            self._context.events.normal(CUSTOMS["NodeSet"], item, _DONE[type(decision.step)], note)

    async def _put(self, controller: Controller, step: Make | Change) -> None:
        window = step.window
        whole = {"start": window.start, "minutes": window.minutes} if _is_whole(step) else {}
        await self._context.slurm.order(
            controller,
            f"put Slurm reservation {step.words}",
            lambda client: client.put_reservation(
                window.name, nodes=window.nodes, flags=window.flags if whole else (), users=_USERS, **whole
            ),
        )

    async def _refused(self, item: Custom, words: str, *, deleting: bool) -> Kept:
        """Slurm will not: a person is told. A NodeSet that needs no window any more is not held for that."""
        if deleting:
            return await self.abandon(item, words)
        self._context.events.warning(CUSTOMS["NodeSet"], item, "WindowRefused", words)
        condition = Condition(CONDITION, False, "Refused", words)
        return Kept(condition=condition, again=_SELDOM, trouble=Cause("WindowRefused", words))


def _is_whole(step: Make | Change) -> bool:
    return isinstance(step, Make) or not step.only_nodes


def _taken_back(told: Condition | None) -> Condition | None:
    """What is said about a window that nobody asks for any more; nothing where there never was one.

    Said, and not left out: a status that lacks a condition says all that it should, so nobody would write it.
    """
    return None if told is None else Condition(CONDITION, False, "NotAskedFor", "No window is asked for.")


def remembered(item: Custom) -> Condition | None:
    """What the NodeSet's status says of its window: to be told again by whoever writes the status without a look."""
    written = item.status.get("conditions") or []
    return next((Condition.read(one) for one in written if one.get("type") == CONDITION), None)
