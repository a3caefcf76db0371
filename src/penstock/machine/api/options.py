"""What a request says beside its path: query parameters and the options in its body. Read once, at the door. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from penstock.api.objects import Json
from penstock.cluster.errors import Refused
from penstock.cluster.port import MANAGER, Preconditions, Propagation, Selection
from penstock.cluster.streams import LogOptions
from penstock.machine.api.address import Target

Query = Mapping[str, str]

_TRUE, _FALSE = {"true", "1", "t"}, {"", "false", "0", "f"}
_LONGEST = 2**31


def flag(query: Query, name: str) -> bool:
    """A parameter that is true or false; Kubernetes also takes 1 and 0, and what is not said is false."""
    text = query.get(name, "").lower()
    if text not in _TRUE | _FALSE:
        raise Refused(f'{name}: "{query[name]}" is neither true nor false')
    return text in _TRUE


def number(query: Query, name: str) -> int | None:
    """A parameter that is a number of things; None when it is not said."""
    text = query.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and int(text) < _LONGEST):
        raise Refused(f'{name}: "{text}" is not a number')
    return int(text)


def selection(target: Target, query: Query) -> Selection:
    """Which objects are meant."""
    return Selection(
        namespace=target.namespace, labels=query.get("labelSelector", ""), fields=query.get("fieldSelector", "")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """How something is to be written."""

    manager: str
    dry_run: bool
    force: bool

    @classmethod
    def of(cls, query: Query, user_agent: str) -> Writing:
        """As the query has it; who does not name itself is called by its program, as an API server does."""
        manager = query.get("fieldManager") or user_agent.partition("/")[0][:128] or MANAGER
        return cls(manager=manager, dry_run=_dry(query.get("dryRun", "")), force=flag(query, "force"))


def _dry(word: str) -> bool:
    if word not in {"", "All"}:
        raise Refused(f'dryRun: Unsupported value: "{word}": supported values: "All"')
    return word == "All"


class _Preconditions(msgspec.Struct, rename="camel"):
    uid: str | None = None
    resource_version: str | None = None


class DeleteOptions(msgspec.Struct, rename="camel", frozen=True):
    """How something is to be deleted."""

    preconditions: _Preconditions | None = None
    propagation_policy: str | None = None
    orphan_dependents: bool | None = None
    grace_period_seconds: int | None = None
    dry_run: list[str] | None = None

    @property
    def only_if(self) -> Preconditions:
        """What must be true of the object."""
        asked = self.preconditions or _Preconditions()
        return Preconditions(uid=asked.uid, resource_version=asked.resource_version)

    @property
    def propagation(self) -> Propagation:
        """What becomes of what the object owns."""
        if self.propagation_policy is None:
            return Propagation.ORPHAN if self.orphan_dependents else Propagation.BACKGROUND
        try:
            return Propagation(self.propagation_policy)
        except ValueError:
            known = ", ".join(f'"{one.value}"' for one in Propagation)
            wrong = f'propagationPolicy: Unsupported value: "{self.propagation_policy}"'
            raise Refused(f"DeleteOptions is invalid: {wrong}: supported values: {known}") from None

    @property
    def is_dry_run(self) -> bool:
        """Whether nothing is to happen."""
        return any(_dry(word) for word in self.dry_run or ())


def delete_options(body: Json, query: Query) -> DeleteOptions:
    """The options of a deletion, in its body or, for those who send none, in the query."""
    asked: Json = {name: query[name] for name in ("propagationPolicy",) if name in query}
    asked |= {"gracePeriodSeconds": grace} if (grace := number(query, "gracePeriodSeconds")) is not None else {}
    asked |= {"dryRun": [query["dryRun"]]} if "dryRun" in query else {}
    return converted(body or asked, DeleteOptions)


S = TypeVar("S", bound=msgspec.Struct)


def converted(value: Any, kind: type[S]) -> S:
    """A JSON value as a struct, or `Refused`."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as problem:
        raise Refused(f"{kind.__name__} cannot be read: {problem}") from None


def log_options(query: Query) -> LogOptions:
    """Which part of a log is asked for."""
    return LogOptions(
        follow=flag(query, "follow"),
        previous=flag(query, "previous"),
        tail=number(query, "tailLines"),
        since_seconds=number(query, "sinceSeconds"),
        since_time=query.get("sinceTime") or None,
        timestamps=flag(query, "timestamps"),
        limit_bytes=number(query, "limitBytes"),
    )
