"""The columns of each kind, as kubectl shows them.

An API server makes these tables for kubectl; here they are made from the objects, so that one machine, a watch and a
cluster show the same. Kinds that we serve have theirs below, ours have those of their CRD, others name and age.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from penstock.api.objects import Json
from penstock.cli.objects import ages
from penstock.cli.objects.fields import name_of, text
from penstock.cli.objects.jsonpath import Template, shown

if TYPE_CHECKING:
    from penstock.cluster.catalogue import Entry

Cell = Callable[[Json, datetime], str]


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its title, and how to fill its cells."""

    title: str
    cell: Cell
    wide: bool = False
    """Only shown with `-o wide`."""


def age_cell(thing: Json, now: datetime) -> str:
    """How old an object is."""
    return ages.age(thing.get("metadata", {}).get("creationTimestamp"), now)


NAME = Column("NAME", lambda thing, _: name_of(thing))
AGE = Column("AGE", age_cell)
PLAIN = (NAME, AGE)
CREATED = Column("CREATED AT", lambda thing, _: text(thing, "metadata", "creationTimestamp"))


def columns_of(entry: Entry, printer_columns: Sequence[Json] | None = None) -> tuple[Column, ...]:
    """The columns of a kind; `printer_columns` are those of its CRD, where somebody has read it."""
    if printer_columns is not None:
        return (NAME, *map(printed, printer_columns)) if printer_columns else PLAIN
    from penstock.cli.objects.builtin_columns import BUILTIN  # noqa: PLC0415  (not needed for help)

    if entry.name in BUILTIN:
        return BUILTIN[entry.name]
    return _ours(entry) or PLAIN


def _ours(entry: Entry) -> tuple[Column, ...]:
    from penstock.api.crd import crd  # noqa: PLC0415  (200 ms of schemas, only for kinds of ours)
    from penstock.api.kinds import BY_NAME, GROUP  # noqa: PLC0415

    if entry.group != GROUP or entry.kind not in BY_NAME:
        return ()
    version = crd(BY_NAME[entry.kind])["spec"]["versions"][0]
    return (NAME, *map(printed, version["additionalPrinterColumns"]))


def printed(column: Json) -> Column:
    """A column as a CRD describes it (`additionalPrinterColumns`)."""
    template, is_date = Template.relaxed(str(column["jsonPath"])), column["type"] == "date"

    def cell(thing: Json, now: datetime) -> str:
        found: list[Any] = template.values(thing)
        if not found:
            return ""
        return ages.age(found[0], now) if is_date else shown(found[0])

    return Column(str(column["name"]).upper(), cell, wide=bool(column.get("priority")))
