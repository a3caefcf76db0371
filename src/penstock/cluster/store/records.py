"""An object as the store keeps it: immutable JSON, with the few things beside it that every step asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import msgspec

from penstock.api.objects import Json
from penstock.cluster.errors import Refused
from penstock.cluster.resources import Lean, Meta, Resource

T = TypeVar("T", bound=Lean)

FIRST_VERSION = 1
"""The version of a store in which nothing has happened; to a watch, "0" would mean something else."""
FOREGROUND = "foregroundDeletion"
"""The finalizer of an object that waits for what it owns to go first."""


class Key(NamedTuple):
    """Which object."""

    resource: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f'{self.resource} "{self.name}"'


class KeptMeta(Meta, frozen=True):
    """Metadata as the store needs it."""

    deletion_grace_period_seconds: int | None = None

    @property
    def owner_uids(self) -> list[str]:
        """The uids of the owners, each once."""
        return list(dict.fromkeys(owner.uid for owner in self.owner_references))

    @property
    def waits_for_dependents(self) -> bool:
        """Whether the object is being deleted and what it owns has to go first."""
        return self.deletion_timestamp is not None and FOREGROUND in self.finalizers

    @property
    def may_go(self) -> bool:
        """Whether it is being deleted and nothing holds it back any more."""
        held = self.finalizers or self.deletion_grace_period_seconds
        return self.deletion_timestamp is not None and not held


class _Kept(Lean, frozen=True):
    metadata: KeptMeta


@dataclass(frozen=True, slots=True)
class Record:
    """One version of one object."""

    key: Key
    version: int
    body: bytes
    meta: KeptMeta

    @classmethod
    def of(cls, key: Key, version: int, body: bytes) -> Record:
        """Read what stands beside the body; `Refused` when metadata is not metadata."""
        try:
            return cls(key, version, body, msgspec.json.decode(body, type=_Kept).metadata)
        except msgspec.ValidationError as problem:
            raise Refused(f"{key}: {problem}") from problem

    @classmethod
    def written(cls, key: Key, version: int, body: Json) -> Record:
        """The same for a body that is still in its parts."""
        try:
            return cls(key, version, msgspec.json.encode(body), msgspec.convert(body["metadata"], KeptMeta))
        except msgspec.ValidationError as problem:
            raise Refused(f"{key}: {problem}") from problem

    def decoded(self) -> Json:
        """The whole object, the caller's own to change."""
        decoded: Json = msgspec.json.decode(self.body)
        return decoded

    def read_as(self, resource: Resource[T]) -> T:
        """The object as the caller reads it."""
        return msgspec.json.decode(self.body, type=resource.struct)

    def at(self, version: int) -> Record:
        """The same content under another resource version, for events that tell of its end."""
        body = self.decoded()
        body["metadata"]["resourceVersion"] = str(version)
        return Record.of(self.key, version, msgspec.json.encode(body))


class Change(NamedTuple):
    """One write: an object before and after it. Without an after it was deleted, without a before it was made."""

    version: int
    key: Key
    before: Record | None
    after: Record | None

    @property
    def uid(self) -> str:
        """The object's uid."""
        return (self.after or self._known).meta.uid

    @property
    def last(self) -> Record:
        """What is left to see of an object that went: the content it had, under the version of its end."""
        return self._known.at(self.version)

    @property
    def _known(self) -> Record:
        if self.before is None:
            raise ValueError(f"{self.key} was not there before")
        return self.before
