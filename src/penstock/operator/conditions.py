"""Conditions: what people and `kubectl wait` are told about an object. Pure.

Every kind says Ready, Progressing and Degraded; they are independent, for a cluster can serve well while an edit of it
was refused. `lastTransitionTime` moves only when the status does, and nothing is written when nothing changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from penstock.api.objects import Json

_LONGEST = 32768
"""Characters the API server takes in a message."""


class Condition(msgspec.Struct, frozen=True):
    """One statement about an object."""

    type: str
    status: bool | None
    """None: not known."""
    reason: str
    """One word, for programs."""
    message: str
    """A sentence, for people."""

    @classmethod
    def read(cls, written: Json) -> Condition:
        """One that stands in a status."""
        status = {"True": True, "False": False}.get(written.get("status", ""))
        return cls(written.get("type", ""), status, written.get("reason", ""), written.get("message", ""))


@dataclass(frozen=True, slots=True)
class Cause:
    """Why an object is not as it should be."""

    reason: str
    message: str


def summary(
    *, ready: Cause | None, progressing: Cause | None = None, degraded: Cause | None = None, well: str
) -> list[Condition]:
    """The three conditions of every kind; a cause for `ready` says why it is not."""
    return [
        Condition("Ready", True, "Ready", well) if ready is None else _from("Ready", False, ready),
        _from("Progressing", True, progressing) if progressing else Condition("Progressing", False, "Settled", well),
        _from("Degraded", True, degraded) if degraded else Condition("Degraded", False, "AsExpected", well),
    ]


def waiting(cause: Cause) -> list[Condition]:
    """Not there yet, and nothing is wrong."""
    return summary(ready=cause, progressing=cause, well="Nothing is wrong.")


def broken(cause: Cause) -> list[Condition]:
    """Not there, and somebody has to do something."""
    return summary(ready=cause, degraded=cause, well="Waits for somebody to mend it.")


def troubled(written: Iterable[Json], cause: Cause) -> list[Condition]:
    """Somebody has to do something; but what ran goes on running, so what was told of it stays as it stands."""
    told = {one.type: one for one in broken(cause)}
    before = map(Condition.read, written)
    stays = {one.type: one for one in before if one.type not in told or (one.type == "Ready" and one.status)}
    return [*(told | stays).values()]


def counted(count: int, one: str, several: str) -> str:
    """A number with what is said of one, or of several: `counted(1, "worker is wanted", "workers are wanted")`."""
    return f"{count} {one if count == 1 else several}"


def _from(kind: str, status: bool, cause: Cause) -> Condition:
    return Condition(kind, status, cause.reason, cause.message)


def updated(current: Sequence[Json], wanted: Iterable[Condition], *, generation: int, now: str) -> list[Json]:
    """The conditions to write: the wanted ones, with the times of those whose status stays."""
    since = {one.get("type"): (one.get("status"), one.get("lastTransitionTime")) for one in current}
    return [_written(one, since.get(one.type), generation, now) for one in wanted]


def _written(one: Condition, before: tuple[Any, Any] | None, generation: int, now: str) -> Json:
    status = {True: "True", False: "False", None: "Unknown"}[one.status]
    changed_at = before[1] if before and before[0] == status and before[1] else now
    return {
        "type": one.type,
        "status": status,
        "reason": one.reason,
        "message": one.message[:_LONGEST],
        "observedGeneration": generation,
        "lastTransitionTime": changed_at,
    }
