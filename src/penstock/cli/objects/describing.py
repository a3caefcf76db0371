"""One object as a page: what it is, what it should be, how it is, what happened to it.

Every kind begins and ends alike; `pages.py` has the middle of those that deserve better than a list of fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from penstock.api.objects import Json
from penstock.cli.objects import ages, event
from penstock.cli.objects.event import Told
from penstock.cli.objects.fields import NONE, at, items, mapping, name_of, namespace_of, text
from penstock.cli.objects.outline import Block
from penstock.cli.objects.pages import PAGES
from penstock.cli.objects.selecting import Where, everything
from penstock.cli.objects.session import Session
from penstock.cluster.catalogue import Entry
from penstock.cluster.errors import ClusterError

_HIDDEN = {"apiVersion", "kind", "metadata", "status"}
_LONGEST = 200
"""Characters of an annotation; whole manifests are kept in some."""


def page(entry: Entry, item: Json, events: Sequence[Told] | None, now: datetime) -> str:
    """The page of an object; `events` None: they were not asked for."""
    block = Block()
    _head(block, entry, item, now)
    PAGES.get(entry.name, _fields)(block, item, now)
    _conditions(block, item, now)
    if events is not None:
        _events(block, events, now)
    return block.text()


async def events_of(session: Session, entry: Entry, item: Json) -> list[Told] | None:
    """What happened to an object, the oldest first; None when it cannot be told."""
    try:
        kind = await session.kinds.find("events")
        namespace = namespace_of(item)
        told = await everything(session, kind, Where(everywhere=not namespace or namespace != session.namespace))
    except ClusterError:
        return None
    uid, about = text(item, "metadata", "uid"), (entry.kind, name_of(item))
    read = [event.read(one) for one in told.items]
    mine = [one for one in read if (one.uid == uid if one.uid and uid else (one.kind, one.name) == about)]
    return sorted(mine, key=lambda one: one.order)


def _head(block: Block, entry: Entry, item: Json, now: datetime) -> None:
    block.say("Name", name_of(item))
    if entry.namespaced:
        block.say("Namespace", namespace_of(item))
    block.say("Kind", f"{entry.kind} ({entry.api_version})")
    block.say("Created", _when(at(item, "metadata", "creationTimestamp"), now))
    if leaving := at(item, "metadata", "deletionTimestamp"):
        block.say("Deleted", f"{_when(leaving, now)}; it goes once nothing holds it")
        block.say("Held By", items(item, "metadata", "finalizers") or "its containers")
    block.say("Labels", _marks(mapping(item, "metadata", "labels")))
    block.say("Annotations", _marks(mapping(item, "metadata", "annotations")))
    owners = [one for one in items(item, "metadata", "ownerReferences") if at(one, "controller")]
    for one in owners:
        block.say("Controlled By", f"{text(one, 'kind')}/{text(one, 'name')}")


def _marks(marks: Json) -> list[str]:
    shown = [f"{key}: {value}" if len(str(value)) > 63 else f"{key}={value}" for key, value in sorted(marks.items())]
    return [one if len(one) <= _LONGEST else f"{one[:_LONGEST]}..." for one in shown] or [NONE]


def _when(timestamp: Any, now: datetime) -> str:
    return f"{timestamp} ({ages.age(timestamp, now)} ago)" if ages.moment(timestamp) else NONE


def _fields(block: Block, item: Json, _now: datetime) -> None:
    """The fields of a kind that has no page of its own."""
    for key, value in item.items():
        if key not in _HIDDEN:
            block.show(_title(key), value)
    if status := {key: value for key, value in mapping(item, "status").items() if key != "conditions"}:
        block.show("Status", status)


def _title(key: str) -> str:
    return key[:1].upper() + key[1:]


def _conditions(block: Block, item: Json, now: datetime) -> None:
    found = items(item, "status", "conditions")
    if not found:
        return
    rows = [
        [
            text(one, "type"),
            text(one, "status"),
            ages.age(at(one, "lastTransitionTime"), now) if at(one, "lastTransitionTime") else "",
            text(one, "reason"),
            " ".join(text(one, "message").split()),
        ]
        for one in found
    ]
    block.table("Conditions", ["Type", "Status", "Since", "Reason", "Message"], rows)


def _events(block: Block, events: Sequence[Told], now: datetime) -> None:
    if not events:
        block.say("Events", NONE)
        return
    rows = [[one.type, one.reason, one.when(now), one.source, " ".join(one.message.split())] for one in events]
    block.table("Events", ["Type", "Reason", "Age", "From", "Message"], rows)
