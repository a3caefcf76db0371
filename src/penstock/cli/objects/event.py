"""An event, whichever of Kubernetes' two ways it is written in: core/v1 (`message`) or events.k8s.io/v1 (`note`)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from penstock.api.objects import Json
from penstock.cli.objects import ages
from penstock.cli.objects.fields import at, number, text

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What an event tells."""

    type: str
    reason: str
    kind: str
    name: str
    uid: str
    field: str
    message: str
    source: str
    count: int
    first: datetime | None
    last: datetime | None

    @property
    def object(self) -> str:
        """Whom it is about: `pod/worker-0`."""
        return f"{self.kind.lower()}/{self.name}"

    @property
    def order(self) -> datetime:
        """To sort by: when it was last seen."""
        return self.last or _LONG_AGO

    def when(self, now: datetime) -> str:
        """How long ago, and how often since when, as `describe` tells it."""
        if self.count > 1 and self.first is not None:
            return f"{_ago(self.last, now)} (x{self.count} over {_ago(self.first, now)})"
        return _ago(self.last, now)


def read(thing: Json) -> Told:
    """Read an event."""
    about = at(thing, "regarding") or at(thing, "involvedObject")
    source = at(thing, "deprecatedSource") or at(thing, "source")
    told_by = text(source, "component") or text(thing, "reportingController") or text(thing, "reportingComponent")
    host = text(source, "host") or text(thing, "reportingInstance")
    first = _first_moment(thing, "deprecatedFirstTimestamp", "firstTimestamp", "eventTime")
    last = ages.moment(at(thing, "series", "lastObservedTime")) or _first_moment(
        thing, "deprecatedLastTimestamp", "lastTimestamp", "eventTime"
    )
    return Told(
        type=text(thing, "type"),
        reason=text(thing, "reason"),
        kind=text(about, "kind"),
        name=text(about, "name"),
        uid=text(about, "uid"),
        field=text(about, "fieldPath"),
        message=(text(thing, "note") or text(thing, "message")).strip(),
        source=", ".join(filter(None, (told_by, host))),
        count=number(thing, "series", "count") or number(thing, "deprecatedCount") or number(thing, "count") or 1,
        first=first or _created(thing),
        last=last or _created(thing),
    )


def last_seen_cell(thing: Json, now: datetime) -> str:
    """When it was last seen."""
    return _ago(read(thing).last, now)


def first_seen_cell(thing: Json, now: datetime) -> str:
    """When it was first seen."""
    return _ago(read(thing).first, now)


def _ago(when: datetime | None, now: datetime) -> str:
    return "<unknown>" if when is None else ages.span((now - when).total_seconds())


def _first_moment(thing: Json, *names: str) -> datetime | None:
    return next((when for name in names if (when := ages.moment(at(thing, name)))), None)


def _created(thing: Json) -> datetime | None:
    return ages.moment(at(thing, "metadata", "creationTimestamp"))
