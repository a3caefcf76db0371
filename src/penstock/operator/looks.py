"""One look at one object: find it, let its reconciler work, tell what came of it."""

from __future__ import annotations

from typing import Any

from penstock.api.accounting import Accounting
from penstock.api.controller import Controller
from penstock.api.kinds import Kind
from penstock.api.loginset import LoginSet
from penstock.api.nodeset import NodeSet
from penstock.api.restapi import RestApi
from penstock.api.token import Token
from penstock.cluster.errors import NotFound, Refused
from penstock.operator import accounting, controller, departure, loginset, restapi, token
from penstock.operator.conditions import Cause, troubled
from penstock.operator.context import MENDABLE, Context, Outcome
from penstock.operator.customs import Invalid, Key
from penstock.operator.doubts import Doubts
from penstock.operator.duplicates import Duplicates
from penstock.operator.finalizer import is_held
from penstock.operator.nodeset.preview import Preview
from penstock.operator.nodeset.reconcile import NodeSets
from penstock.operator.nodeset.telling import MARKS
from penstock.operator.partitions import Partitions
from penstock.operator.resources import CUSTOMS, Custom
from penstock.operator.slurm_links import SLURM
from penstock.operator.status import Statuses
from penstock.slurm.conf import ConfError


class Looks:
    """All reconcilers behind one door."""

    def __init__(self, context: Context, statuses: Statuses) -> None:
        self._context = context
        self._statuses = statuses
        self._node_sets = NodeSets(context)
        self._partitions = Partitions(context)
        self._duplicates = Duplicates(context)
        self._doubts = Doubts(context)
        self._deleted = departure.Companions()
        for view in context.caches.customs.values():
            view.subscribe(self._forget)

    async def at(self, key: Key) -> float | None:
        """Look at an object; tells in how many seconds to look again, or None."""
        if key[0] == SLURM:
            return await self._at_slurm(key)
        if key[0] == MARKS:
            return await self._at_marks(key)
        item, decoded = self._context.caches.find(key), self._context.caches.decoded(key)
        if item is None or decoded is None or (item.metadata.deletion_timestamp is not None and not is_held(item)):
            # What it owned goes with it: Kubernetes collects what has lost its owner.
            return None
        if isinstance(decoded, Invalid):
            await self._tell_trouble(key, item, Cause("InvalidSpec", decoded.message))
            return await departure.of_unreadable(self._context, key[0], item)
        try:
            outcome = await self._reconcile(item, decoded)
        except (*MENDABLE, ConfError) as error:
            await self._tell_trouble(key, item, Cause(type(error).__name__, str(error)))
            raise
        await self._statuses.write(key[0], item, outcome.conditions, **outcome.status)
        if outcome.refused is not None:
            self._context.events.warning(CUSTOMS[key[0]], item, type(outcome.refused).__name__, str(outcome.refused))
            if outcome.again is not None:
                self._context.look(key, outcome.again)
            raise outcome.refused
        return outcome.again

    async def preview(self, key: Key) -> Preview:
        """What a look at a NodeSet would come to."""
        item, decoded = self._context.caches.find(key), self._context.caches.decoded(key)
        if item is None or decoded is None:
            raise NotFound(f"{key[0]} {key[1]}/{key[2]} is not there any more")
        if not isinstance(decoded, NodeSet):
            why = decoded.message if isinstance(decoded, Invalid) else "plans are made for NodeSets"
            raise Refused(f"{key[0]} {key[1]}/{key[2]}: {why}")
        return await self._node_sets.preview(self._context, item, decoded)

    def _forget(self, old: Custom | None, new: Custom | None) -> None:
        if old is not None and new is None:
            self._statuses.forget(old.metadata.uid)
            self._deleted.forget(old.metadata.uid)

    async def _reconcile(self, item: Custom, kind: Kind) -> Outcome:
        match kind:
            case Controller():
                return await controller.reconcile(self._context, self._partitions, item, kind)
            case NodeSet():
                return await self._node_sets.reconcile(self._context, item, kind)
            case Accounting():
                return await accounting.reconcile(self._context, self._deleted, item, kind)
            case RestApi():
                return await restapi.reconcile(self._context, self._deleted, item, kind)
            case LoginSet():
                return await loginset.reconcile(self._context, item, kind)
            case Token():
                return await token.reconcile(self._context, item, kind)

    async def _at_marks(self, key: Key) -> float | None:
        node_set = (NodeSet.kind, *key[1:])
        item, decoded = self._context.caches.find(node_set), self._context.caches.decoded(node_set)
        if item is None or not isinstance(decoded, NodeSet):
            return None
        return await self._node_sets.mark(self._context, item, decoded)

    async def _at_slurm(self, key: Key) -> float | None:
        _, namespace, name = key
        slurm, found = self._context.slurm, self._context.caches.decoded(("Controller", namespace, name))
        if not isinstance(found, Controller):
            await slurm.forget(key)
            self._partitions.forget(key)
            self._duplicates.forget(key)
            self._doubts.forget(key)
            return None
        again = [await slurm.ask(found), await self._duplicates.heal(found), await self._doubts.heal(found)]
        return min(seconds for seconds in again if seconds is not None)

    async def _tell_trouble(self, key: Key, item: Custom, cause: Cause) -> None:
        """Say what is wrong; what else the status says was true before and stays."""
        self._context.events.warning(CUSTOMS[key[0]], item, cause.reason, cause.message)
        kept: dict[str, Any] = {name: value for name, value in item.status.items() if name != "conditions"}
        for name in _REQUIRED.get(key[0], ()):
            kept.setdefault(name, "")
        await self._statuses.write(key[0], item, troubled(item.status.get("conditions") or [], cause), **kept)


_REQUIRED = {"NodeSet": ("nodeSetHash", "selector"), "LoginSet": ("selector",)}
"""Fields of a status that the schema insists on."""
