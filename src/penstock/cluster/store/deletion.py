"""How objects end: finalizers and grace hold them back, and what they owned goes with them.

A Kubernetes cluster has a controller that comes round a little later to collect what lost its owners; here that is
part of the write itself, so that a simulation has no timers to wait for. The rules are that controller's own
(kube-controller-manager, `garbagecollector`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from typing import Any

from penstock.api.deletion import ends_jobs
from penstock.api.objects import Json
from penstock.cluster.port import Propagation
from penstock.cluster.store.ledger import Ledger
from penstock.cluster.store.managers import Manager, Moment, Ownership
from penstock.cluster.store.records import FOREGROUND, Change, Record
from penstock.cluster.store.traits import traits_of

_COLLECTOR = Manager("kube-controller-manager", "Update")
_POLICIES = (FOREGROUND, "orphan")
_DEFAULT_GRACE = 30
"""Seconds that a pod gets when it does not say."""


class Deletion:
    """Deletes objects of a ledger, and whatever has to go with them."""

    def __init__(self, ledger: Ledger, clock: Callable[[], datetime]) -> None:
        self._ledger = ledger
        self._clock = clock

    def delete(
        self, record: Record, propagation: Propagation = Propagation.BACKGROUND, grace: int | None = None
    ) -> None:
        """Delete an object, or mark it as being deleted when something holds it back."""
        if propagation is Propagation.ORPHAN:
            for dependent in self._ledger.owned_by(record.meta.uid):
                self._disown(dependent, {record.meta.uid})
        body = record.decoded()
        ends, period = self._end(record, body, grace)
        finalizers = [name for name in record.meta.finalizers if name not in _POLICIES]
        finalizers += [FOREGROUND] if propagation is Propagation.FOREGROUND else []
        if not finalizers and not period:
            self._ledger.remove(record.key)
        elif (ends, period, tuple(finalizers)) != _as_marked(record):
            self._ledger.put(record.key, _marked(body, ends, period, finalizers))

    def _end(self, record: Record, body: Json, grace: int | None) -> tuple[str, int]:
        """When the object ends, and how many seconds it has until then; a second request can only hasten it."""
        period = _period(record, body, grace)
        began = record.meta.deletion_timestamp
        if began is None:
            return rfc3339(self._clock() + timedelta(seconds=period)), period
        before = record.meta.deletion_grace_period_seconds or 0
        if grace is None or period >= before:
            return began, before
        return rfc3339(datetime.fromisoformat(began) - timedelta(seconds=before - period)), period

    def sweep(self, first: int) -> None:
        """Follow up what was written, beginning with the staged change `first`; what that writes is followed up too."""
        staged = self._ledger.staged
        while first < len(staged):
            self._follow(staged[first])
            first += 1

    def _follow(self, change: Change) -> None:
        before, after = change.before, change.after
        if after is None or (after.meta.waits_for_dependents and not (before and before.meta.waits_for_dependents)):
            self._begin_end(change.uid)
        if before and after and before.meta.owner_references == after.meta.owner_references:
            return
        if after:
            self._collect(after)
        for uid in before.meta.owner_uids if before else ():
            self._release(uid)

    def _begin_end(self, uid: str) -> None:
        """What an object owns goes once the object is gone, or before it, when it waits for that."""
        for dependent in self._ledger.owned_by(uid):
            self._collect(dependent)
        self._release(uid)

    def _collect(self, record: Record) -> None:
        """Delete an object that has no owner left, or take the lost ones off its list."""
        current = self._ledger.get(record.key)
        if current is None or current.meta.deletion_timestamp is not None:
            return
        lost = [uid for uid in current.meta.owner_uids if self._is_lost(uid, current)]
        if lost and len(lost) < len(current.meta.owner_uids):
            self._disown(current, lost)
        elif lost:
            in_turn = any(self._ledger.with_uid(uid) for uid in lost) and self._ledger.owned_by(current.meta.uid)
            # Whoever owns a NodeSet and waits for it waits for its jobs, too.
            waits = in_turn and not ends_jobs(current.key.resource, Propagation.FOREGROUND.value)
            self.delete(current, Propagation.FOREGROUND if waits else Propagation.BACKGROUND)

    def _is_lost(self, uid: str, dependent: Record) -> bool:
        """Whether an owner is gone, is out of reach in another namespace, or waits for its dependents to go."""
        owner = self._ledger.with_uid(uid)
        return (
            owner is None or owner.meta.waits_for_dependents or owner.key.namespace not in {"", dependent.key.namespace}
        )

    def _release(self, uid: str) -> None:
        """Let an owner go that waited for its dependents, once none is left that blocks it."""
        owner = self._ledger.with_uid(uid)
        if owner is None or not owner.meta.waits_for_dependents or self._is_blocked(uid):
            return
        finalizers = [name for name in owner.meta.finalizers if name != FOREGROUND]
        if finalizers or owner.meta.deletion_grace_period_seconds:
            self._ledger.put(owner.key, _with_metadata(owner.decoded(), finalizers=finalizers))
        else:
            self._ledger.remove(owner.key)

    def _is_blocked(self, uid: str) -> bool:
        dependents = self._ledger.owned_by(uid)
        return any(
            owner.block_owner_deletion
            for record in dependents
            for owner in record.meta.owner_references
            if owner.uid == uid
        )

    def _disown(self, record: Record, uids: Collection[str]) -> None:
        old = record.decoded()
        entries = old["metadata"].pop("managedFields", [])
        kept = [owner for owner in old["metadata"]["ownerReferences"] if owner["uid"] not in uids]
        new = _with_metadata(old, ownerReferences=kept)
        moment = Moment(rfc3339(self._clock()), old["apiVersion"])
        owned = Ownership(traits_of(record.key.resource).shape, entries, _COLLECTOR, moment).updated(old, new)
        self._ledger.put(record.key, _with_metadata(new, managedFields=owned))


def rfc3339(moment: datetime) -> str:
    """A time as Kubernetes writes it, to the second."""
    return f"{moment.isoformat()[:19]}Z"


def _period(record: Record, body: Json, grace: int | None) -> int:
    """Seconds of grace: only a pod that runs somewhere needs any."""
    spec, status = body.get("spec", {}), body.get("status", {})
    runs = spec.get("nodeName") and status.get("phase") not in {"Succeeded", "Failed"}
    if record.key.resource != "pods" or not runs:
        return 0
    period: int = spec.get("terminationGracePeriodSeconds", _DEFAULT_GRACE) if grace is None else grace
    return period if period >= 0 else 1


def _as_marked(record: Record) -> tuple[str | None, int, tuple[str, ...]]:
    meta = record.meta
    return meta.deletion_timestamp, meta.deletion_grace_period_seconds or 0, meta.finalizers


def _marked(body: Json, ends: str, period: int, finalizers: list[str]) -> Json:
    before = body["metadata"]
    begins = "deletionTimestamp" not in before and "generation" in before
    generation = {"generation": before["generation"] + 1} if begins else {}
    ending = {"deletionTimestamp": ends, "deletionGracePeriodSeconds": period}
    return _with_metadata(body, finalizers=finalizers, **ending, **generation)


def _with_metadata(body: Json, **changed: Any) -> Json:
    """The object with other metadata; an empty list says nothing and goes."""
    metadata = {**body["metadata"], **changed}
    return {**body, "metadata": {name: part for name, part in metadata.items() if part != []}}
