"""Writing status: through its own door, only when it changed, and never twice for one change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from penstock.api.objects import Json
from penstock.cluster.errors import NotFound, Refused
from penstock.cluster.port import Cluster
from penstock.operator.conditions import Condition, updated
from penstock.operator.resources import CUSTOMS, Custom

Now = Callable[[], datetime]


def now_in_utc() -> datetime:
    """The time, for people."""
    return datetime.now(UTC)


def soonest(*seconds: float | None) -> float | None:
    """In how many seconds the first of some moments comes; None: none of them ever does."""
    return min((one for one in seconds if one is not None), default=None)


def stamp(moment: datetime) -> str:
    """A time as Kubernetes writes it."""
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


class Statuses:
    """The statuses that we wrote."""

    def __init__(self, cluster: Cluster, now: Now = now_in_utc) -> None:
        self._cluster = cluster
        self._now = now
        self._written: dict[str, tuple[str, Json]] = {}
        """By uid: the version that came of our writing, and what we wrote."""

    async def write(self, kind: str, item: Custom, conditions: Sequence[Condition], **fields: object) -> bool:
        """Bring the status of an object up to date; tells whether it had to be written."""
        meta, current = item.metadata, self._current(item)
        told = updated(current.get("conditions") or [], conditions, generation=meta.generation, now=stamp(self._now()))
        status: Json = {**fields, "conditions": told}
        if _says(current, status):
            return False
        resource = CUSTOMS[kind]
        body = {"metadata": {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid}, "status": status}
        try:
            written = await self._cluster.apply_status(resource, body)
        except (NotFound, Refused) as error:
            # Gone, or made anew, while we looked at it: whoever is there now is looked at for its own sake.
            if isinstance(error, Refused) and "metadata.uid" not in str(error):
                raise
            return False
        self._written[meta.uid] = (written.metadata.resource_version, status)
        return True

    def forget(self, uid: str) -> None:
        """An object is gone."""
        self._written.pop(uid, None)

    def _current(self, item: Custom) -> Json:
        """The status that counts: ours, while the watch still shows the object as it was before we wrote.

        It may show what we wrote the time before: who took that for the last word would not correct the last word.
        """
        version, status = self._written.get(item.metadata.uid, ("", {}))
        return status if _is_before(item.metadata.resource_version, version) else item.status


def _is_before(one: str, other: str) -> bool:
    """Whether a version of an object is older than another one. Kubernetes' versions are numbers that grow."""
    return one.isdecimal() and other.isdecimal() and int(one) < int(other)


def _says(current: Json, wanted: Json) -> bool:
    """Whether a status says all that it should. Others may have conditions of their own in it."""
    told = {one.get("type"): one for one in current.get("conditions") or []}
    return all(told.get(one["type"]) == one for one in wanted["conditions"]) and all(
        current.get(name) == value for name, value in wanted.items() if name != "conditions"
    )
