"""`-o custom-columns=NAME:.metadata.name,PHASE:.status.phase`: tables of people's own."""

from __future__ import annotations

from datetime import datetime

from penstock.api.objects import Json
from penstock.cli.objects.columns import Column
from penstock.cli.objects.complaint import Misuse
from penstock.cli.objects.fields import NONE
from penstock.cli.objects.jsonpath import Template, shown


def custom_columns(spec: str) -> tuple[Column, ...]:
    """The columns that a text describes; several values in a cell are parted by commas."""
    return tuple(_column(part) for part in _parts(spec))


def _parts(spec: str) -> list[str]:
    """The columns of a text; a comma inside brackets belongs to a path."""
    parts, depth = [""], 0
    for letter in spec:
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _column(part: str) -> Column:
    title, colon, path = part.partition(":")
    if not (title and colon and path):
        raise Misuse(f"custom-columns: {part!r} is not TITLE:PATH, such as NAME:.metadata.name")
    template = Template.relaxed(path)

    def cell(thing: Json, _now: datetime) -> str:
        return ",".join(map(shown, template.values(thing))) or NONE

    return Column(title, cell)
