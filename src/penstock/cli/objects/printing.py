"""Objects into text: tables, YAML, JSON, names, templates. What `-o` can say."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.api.objects import Json
from penstock.cli.objects.columns import Column
from penstock.cli.objects.complaint import Misuse
from penstock.cli.objects.customcolumns import custom_columns
from penstock.cli.objects.fields import at, name_of, namespace_of, pairs, text
from penstock.cli.objects.jsonpath import Template
from penstock.cli.objects.selecting import Found, label
from penstock.cli.objects.table import Table
from penstock.cluster.catalogue import Entry

_FORMATS = ("json", "yaml", "name", "wide", "jsonpath=TEMPLATE", "custom-columns=COLUMNS")


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How objects are to be shown."""

    output: str = ""
    """As `-o` says it."""
    headed: bool = True
    show_namespace: bool = False
    show_kind: bool = False
    show_labels: bool = False
    label_columns: tuple[str, ...] = ()
    show_managed_fields: bool = False

    def __post_init__(self) -> None:
        word = self.output.partition("=")[0]
        if self.output and word not in {one.partition("=")[0] for one in _FORMATS}:
            raise Misuse(f"-o {word!r} is not known; write one of {', '.join(_FORMATS)}")
        if word in {"jsonpath", "custom-columns"} and not self.argument:
            raise Misuse(f"-o {word} needs its text: -o {next(one for one in _FORMATS if one.startswith(word))}")

    @property
    def is_table(self) -> bool:
        """Whether objects become rows."""
        return self.output in {"", "wide"} or self.output.startswith("custom-columns=")

    @property
    def argument(self) -> str:
        """What stands behind `jsonpath=` or `custom-columns=`."""
        return self.output.partition("=")[2]


class Rows:
    """A table of one kind that can grow, as `--watch` needs it."""

    def __init__(self, found: Found, columns: Sequence[Column], style: Style) -> None:
        self._entry = found.entry
        self._columns = tuple(_shown_columns(columns, style, self._name))
        self._table = Table([column.title for column in self._columns], headed=style.headed)
        self._kind_shown = style.show_kind

    def lines(self, items: Iterable[Json], now: datetime) -> str:
        """The rows of these objects."""
        return self._table.lines([[column.cell(item, now) for column in self._columns] for item in items])

    def _name(self, item: Json, _now: datetime) -> str:
        return label(self._entry, name_of(item)) if self._kind_shown else name_of(item)


def _shown_columns(columns: Sequence[Column], style: Style, name: Callable[[Json, datetime], str]) -> Iterable[Column]:
    if style.output.startswith("custom-columns="):
        yield from custom_columns(style.argument)
        return
    if style.show_namespace:
        yield Column("NAMESPACE", lambda item, _: namespace_of(item))
    for column in columns:
        if style.output == "wide" or not column.wide:
            yield Column("NAME", name) if column.title == "NAME" and not column.wide else column
    for key in style.label_columns:
        yield Column(key.rpartition("/")[2].upper(), lambda item, _, key=key: text(item, "metadata", "labels", key))  # type: ignore[misc]
    if style.show_labels:
        yield Column("LABELS", lambda item, _: pairs(at(item, "metadata", "labels") or {}))


def document(found: Sequence[Found], style: Style, *, single: bool) -> str:
    """Objects in a form other than a table; `single`: one was asked for by name, so it is not put into a List."""
    items = [item if style.show_managed_fields else without_managers(item) for one in found for item in one.items]
    if style.output == "name":
        return "".join(f"{label(one.entry, name_of(item))}\n" for one in found for item in one.items)
    value = items[0] if single and items else _listed(items)
    if style.output.startswith("jsonpath="):
        return Template(style.argument).render(value)
    return as_json(value) if style.output == "json" else as_yaml(value)


def single_form(entry: Entry, item: Json, output: str) -> str:
    """One object as `-o` wants it; empty when nothing was asked for, and a sentence will do."""
    if not output:
        return ""
    style = Style(output=output)
    if style.is_table:
        raise Misuse(f"-o {output!r}: write json, yaml, name or jsonpath=TEMPLATE")
    return document([Found(entry=entry, items=[item])], style, single=True)


def as_json(value: Any) -> str:
    """JSON as kubectl writes it."""
    return json.dumps(value, indent=4, sort_keys=True, ensure_ascii=False) + "\n"


def as_yaml(value: Any) -> str:
    """YAML as kubectl writes it: keys in their order, no marker in front."""
    from penstock.api.manifest import write  # noqa: PLC0415  (PyYAML: only where YAML is asked for)

    return write([_sorted(value)]).removeprefix("---\n")


def without_managers(item: Json) -> Json:
    """An object without the record of who set which field, which nobody reads."""
    metadata = {key: value for key, value in item.get("metadata", {}).items() if key != "managedFields"}
    return item | {"metadata": metadata}


def in_order(items: Sequence[Json], path: str) -> list[Json]:
    """Objects sorted by a field; those without it come first."""
    template = Template.relaxed(path)
    return sorted(items, key=lambda item: _rank(template.values(item)))


def _rank(values: list[Any]) -> tuple[int, Any]:
    value = values[0] if values else None
    if isinstance(value, (bool, int, float)):
        return 1, (value,)
    if isinstance(value, str):
        # Numbers in names count as numbers: worker-10 comes behind worker-9.
        return 2, tuple(
            (part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in re.split(r"(\d+)", value)
        )
    return 0, ()


def _listed(items: list[Json]) -> Json:
    return {"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}}


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(inner) for key, inner in sorted(value.items())}
    return [_sorted(inner) for inner in value] if isinstance(value, list) else value
