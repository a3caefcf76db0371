"""The revisions of a NodeSet, for people: which there are, what each changed, and how many workers have it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from penstock.api.objects import Json
from penstock.cli.objects.ages import age
from penstock.cli.objects.field_changes import field_changes
from penstock.cli.objects.fields import NONE, items, name_of, namespace_of, text
from penstock.cli.objects.selecting import Where, everything, label
from penstock.cli.objects.session import Session
from penstock.cli.objects.table import Table
from penstock.cluster.catalogue import Entry
from penstock.operator.nodeset.revision import HASH
from penstock.operator.nodeset.revisions import hash_of, in_order, parts_in
from penstock.operator.resources import Revision
from penstock.render.labels import CHANGE_CAUSE, PIN

NODE_SETS = "nodesets.slinky.slurm.net"
_SHOWN = 3
"""Changed fields in a cell; the rest is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A revision as it is shown."""

    number: int
    hash: str
    created: str
    cause: str
    says: Json | None
    """What workers of it are made from; None: nothing that we can read."""
    changed: list[str]
    """Against the one before."""
    workers: int
    """How many have it."""

    @property
    def document(self) -> Json:
        """For programs."""
        return {
            "revision": self.number, "hash": self.hash, "created": self.created, "changeCause": self.cause or None,
            "workers": self.workers, "changed": self.changed, "spec": self.says,
        }  # fmt: skip


async def kept(session: Session, item: Json) -> list[Kept]:
    """The revisions of a NodeSet, the oldest first."""
    uid = text(item, "metadata", "uid")
    found = await everything(session, await session.kinds.find("controllerrevisions"))
    mine = in_order(msgspec.convert(one, Revision) for one in found.items if _is_of(one, uid))
    workers, says = await _counted(session, uid), [*map(parts_in, mine)]
    before = [None, *says]
    return [_kept(one, said, was, workers) for one, said, was in zip(mine, says, before, strict=False)]


def _kept(one: Revision, says: Json | None, before: Json | None, workers: Counter[str]) -> Kept:
    meta = one.metadata
    return Kept(
        number=one.revision,
        hash=hash_of(one),
        created=meta.creation_timestamp,
        cause=meta.annotations.get(CHANGE_CAUSE, ""),
        says=says,
        changed=[] if before is None or says is None else [*field_changes(before, says)],
        workers=workers[hash_of(one)],
    )


async def _counted(session: Session, uid: str) -> Counter[str]:
    """How many workers there are of each hash."""
    pods = await everything(session, await session.kinds.find("pods"), Where(labels=HASH))
    return Counter(text(one, "metadata", "labels", HASH) for one in pods.items if _is_of(one, uid))


def _is_of(one: Json, uid: str) -> bool:
    return any(text(owner, "uid") == uid for owner in items(one, "metadata", "ownerReferences"))


def page(session: Session, entry: Entry, item: Json, found: Sequence[Kept]) -> str:
    """The revisions as a table, and the one that workers are pinned to."""
    rows = [
        [
            str(one.number), one.hash, age(one.created, session.now()), str(one.workers), one.cause or NONE,
            _cell(one) if one is not found[0] else "(the first that is kept)",
        ]
        for one in found
    ]  # fmt: skip
    table = Table(["REVISION", "HASH", "AGE", "WORKERS", "CHANGE-CAUSE", "CHANGED"]).lines(rows)
    note = f'workers are pinned to "{word}" by annotation {PIN}\n' if (word := pinned_to(item)) else ""
    return f"{label(entry, name_of(item))} \n{table}{note}\n"


def _cell(one: Kept) -> str:
    more = f"; and {len(one.changed) - _SHOWN} more" if len(one.changed) > _SHOWN else ""
    return "; ".join(one.changed[:_SHOWN]) + more or NONE


def document(item: Json, found: Sequence[Kept]) -> Json:
    """The same for programs."""
    about = {"name": name_of(item), "namespace": namespace_of(item), "pinned": pinned_to(item) or None}
    return about | {"revisions": [one.document for one in found]}


def pinned_to(item: Json) -> str:
    """The revision that somebody pinned workers to; empty: they follow the spec."""
    return text(item, "metadata", "annotations", PIN).strip()
