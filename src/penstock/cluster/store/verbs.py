"""What can be done to objects, each verb one step on the ledger: it happens whole or is refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from penstock.api.deletion import ends_jobs, refusal
from penstock.api.objects import Json
from penstock.cluster import permit
from penstock.cluster.errors import AlreadyExists, Conflict, Forbidden, NotFound, Refused
from penstock.cluster.port import MANAGER, Preconditions, Propagation
from penstock.cluster.resources import Resource
from penstock.cluster.store import admission
from penstock.cluster.store.budgets import Budgets
from penstock.cluster.store.deletion import Deletion, rfc3339
from penstock.cluster.store.ledger import Ledger
from penstock.cluster.store.managers import Manager, Moment, Ownership
from penstock.cluster.store.patches import merge_patched
from penstock.cluster.store.records import Key, Record
from penstock.cluster.store.traits import Traits, traits_of

W = TypeVar("W")

_TRIES_FOR_A_NAME = 8
_Parted = tuple[Json, list[Json]]
"""An object without its `managedFields`, and these."""

STATUS, SCALE = "status", "scale"
"""Doors beside the front door."""


Unfit = Callable[[str, Json], str]
"""Why an object of a resource cannot be what it is; empty when it can."""


def nothing_unfit(_resource: str, _body: Json) -> str:
    """Whatever the store itself takes is fit."""
    return ""


class Verbs:
    """Writes to one ledger."""

    def __init__(
        self, ledger: Ledger, *, clock: Callable[[], datetime], uids: Callable[[], str], unfit: Unfit = nothing_unfit
    ) -> None:
        self._ledger = ledger
        self._unfit = unfit
        self._clock = clock
        self._uids = uids
        self._deletion = Deletion(ledger, clock)

    def create(self, resource: Resource[Any], body: Json, *, manager: str, dry_run: bool = False) -> Record:
        """Make an object."""
        traits = traits_of(resource.name)
        asked = admission.identified(resource, body)
        if asked["metadata"].get("resourceVersion"):
            raise Refused("resourceVersion should not be set on objects to be created")
        new = self._newborn(resource, traits, asked)
        owned = self._ownership(resource, traits, [], Manager(manager, "Update")).updated({}, new)
        return self._made(resource, traits, new, owned, dry_run=dry_run)

    def _newborn(self, resource: Resource[Any], traits: Traits, asked: Json) -> Json:
        """The new object; a name that was made up and is taken is made up anew."""
        now = rfc3339(self._clock())
        for _ in range(_TRIES_FOR_A_NAME):
            new = admission.newborn(asked, traits, uid=self._uids(), now=now)
            if asked["metadata"].get("name") or self._ledger.get(admission.key_of(resource, new["metadata"])) is None:
                break
        return new

    def _made(self, resource: Resource[Any], traits: Traits, new: Json, owned: list[Json], *, dry_run: bool) -> Record:
        key = admission.key_of(resource, new["metadata"])
        admission.check(key, traits, new, None)
        self._judge(key, new)
        if self._ledger.get(key) is not None:
            raise AlreadyExists(f"{key} already exists")
        body = _managed(new, owned)
        return _draft(key, 0, body) if dry_run else self._written(lambda: self._ledger.put(key, body))

    def apply(
        self,
        resource: Resource[Any],
        body: Json,
        *,
        manager: str,
        force: bool,
        dry_run: bool = False,
        door: str = "",
    ) -> Record:
        """Server-side apply, through the front door or that of the status."""
        traits = _open(resource, door)
        config = _stated(admission.identified(resource, body), traits, door)
        key = admission.key_of(resource, config["metadata"])
        live, who = self._ledger.get(key), Manager(manager, "Apply", door)
        if live is None:
            return self._applied_anew(resource, traits, config, who, dry_run=dry_run)
        admission.same_object(live, config["metadata"])
        old, entries = _apart(live)
        merged, owned = self._ownership(resource, traits, entries, who).applied(old, config, force=force)
        new = admission.let_through(old, merged, traits, door=door)
        return self._changed(live, traits, (old, entries), (new, owned), dry_run=dry_run)

    def _applied_anew(
        self, resource: Resource[Any], traits: Traits, config: Json, who: Manager, *, dry_run: bool
    ) -> Record:
        if who.subresource:
            raise NotFound(f"{admission.key_of(resource, config['metadata'])} not found")
        merged, owned = self._ownership(resource, traits, [], who).applied({}, config, force=False)
        return self._made(resource, traits, self._newborn(resource, traits, merged), owned, dry_run=dry_run)

    def patch(
        self,
        resource: Resource[Any],
        name: str,
        patch: Json,
        *,
        namespace: str,
        door: str = "",
        manager: str = MANAGER,
        dry_run: bool = False,
    ) -> Record:
        """A JSON merge patch through one of the doors."""
        traits = _open(resource, door)
        live = self.live(Key(resource.name, namespace, name))
        admission.same_object(live, patch.get("metadata") or {})
        old, entries = _apart(live)
        new = admission.let_through(old, merge_patched(old, patch), traits, door=door)
        owned = self._ownership(resource, traits, entries, Manager(manager, "Update", door)).updated(old, new)
        return self._changed(live, traits, (old, entries), (new, owned), dry_run=dry_run)

    def scale(self, resource: Resource[Any], name: str, replicas: int, *, namespace: str) -> Record:
        """Set the size of something that has one."""
        if replicas < 0:
            told = f"spec.replicas: Invalid value: {replicas}: must be greater than or equal to 0"
            raise Refused(f'{resource.kind} "{name}" is invalid: {told}')
        return self.patch(resource, name, {"spec": {"replicas": replicas}}, namespace=namespace, door=SCALE)

    def _changed(
        self, live: Record, traits: Traits, before: _Parted, after: _Parted, *, dry_run: bool = False
    ) -> Record:
        """Write what a change made of an object, if it made anything of it; it may have let the object go."""
        if after == before:
            return live
        (old, _), (new, owned) = before, after
        if traits.has_generation:
            new = {**new, "metadata": {**new["metadata"], "generation": admission.next_generation(old, new)}}
        meta, body = admission.check(live.key, traits, new, old), _managed(new, owned)
        self._judge(live.key, new)
        if dry_run:
            return _draft(live.key, live.version, body)
        if meta.may_go:
            self._written(lambda: self._ledger.remove(live.key))
            return _draft(live.key, live.version, body)
        return self._written(lambda: self._ledger.put(live.key, body))

    def _judge(self, key: Key, new: Json) -> None:
        if why := self._unfit(key.resource, new):
            raise Refused(f"{key} is invalid: {why}")

    def may_delete(self, key: Key, *, only_if: Preconditions, propagation: Propagation) -> Record:
        """The object, if it may be deleted like this; `Forbidden` when jobs would end by it."""
        live = self.live(key)
        _hold(live, only_if)
        if ends_jobs(key.resource, propagation.value):
            raise Forbidden(refusal(key.name, key.namespace))
        return live

    def delete(self, key: Key, *, only_if: Preconditions, propagation: Propagation, grace_seconds: int | None) -> None:
        """Delete an object and what goes with it."""
        live = self.may_delete(key, only_if=only_if, propagation=propagation)
        self._written(lambda: self._deletion.delete(live, propagation, grace_seconds))

    def evict(self, key: Key, *, only_if: Preconditions) -> None:
        """Delete a pod if the budgets allow it."""
        Budgets(self._ledger).allow(self.live(key))
        self.delete(key, only_if=only_if, propagation=Propagation.BACKGROUND, grace_seconds=None)

    def live(self, key: Key) -> Record:
        """The object, or `NotFound`."""
        record = self._ledger.get(key)
        if record is None:
            raise NotFound(f"{key} not found")
        return record

    def _written(self, write: Callable[[], W]) -> W:
        """Write, if we may, and let follow what has to."""
        permit.ask()
        first = len(self._ledger.staged)
        written = write()
        self._deletion.sweep(first)
        return written

    def _ownership(self, resource: Resource[Any], traits: Traits, entries: list[Json], who: Manager) -> Ownership:
        return Ownership(traits.shape, entries, who, Moment(rfc3339(self._clock()), resource.api_version))


def _open(resource: Resource[Any], door: str) -> Traits:
    """The traits of a resource that has such a door."""
    traits = traits_of(resource.name)
    if not {"": True, STATUS: traits.has_status, SCALE: traits.has_scale}.get(door, False):
        raise NotFound(f"the server could not find the requested resource: {resource.name}/{door}")
    return traits


def _stated(config: Json, traits: Traits, door: str) -> Json:
    """What of a configuration counts at a door."""
    if "managedFields" in config["metadata"]:
        raise Refused("metadata.managedFields must be nil")
    if door == STATUS:
        return {name: config[name] for name in ("apiVersion", "kind", "metadata", "status") if name in config}
    return {name: part for name, part in config.items() if name != "status" or not traits.has_status}


def _apart(record: Record) -> _Parted:
    """An object and, apart from it, who owns what of it."""
    body = record.decoded()
    return body, body["metadata"].pop("managedFields", [])


def _managed(body: Json, owned: list[Json]) -> Json:
    managed = {"managedFields": owned} if owned else {}
    return {**body, "metadata": {**body["metadata"], **managed}}


def _draft(key: Key, version: int, body: Json) -> Record:
    """An object as it would be; it is not stored."""
    return Record.of(key, version, msgspec.json.encode(body))


def _hold(live: Record, only_if: Preconditions) -> None:
    """Conflict when what must still be true of an object is not."""
    for name, wanted, found, why in (
        ("UID", only_if.uid, live.meta.uid, "deleted and then recreated"),
        ("ResourceVersion", only_if.resource_version, live.meta.resource_version, "modified"),
    ):
        if wanted not in {None, found}:
            raise Conflict(
                f"Operation cannot be fulfilled on {live.key}: the {name} in the precondition ({wanted}) does not match"
                f" the {name} in record ({found}). The object might have been {why}"
            )
