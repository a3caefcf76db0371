"""Changing fields of objects that are there: patch, label, annotate, scale, cordon."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from penstock.api.objects import Json
from penstock.cli.objects import patches
from penstock.cli.objects.complaint import Complaint, Misuse
from penstock.cli.objects.fields import mapping, name_of, namespace_of, text
from penstock.cli.objects.selecting import label, typed, whole
from penstock.cli.objects.session import MANAGER, Session
from penstock.cluster.catalogue import Entry
from penstock.cluster.errors import Conflict

_TRIES = 5
"""A patch that was worked out on an object that changed meanwhile is worked out again so often."""


@dataclass(frozen=True, slots=True)
class Change:
    """A patch and its kind: strategic, merge or json."""

    kind: str
    body: Any


def read_patch(given: str | None, file: str | None, kind: str) -> Change:
    """The patch of a command line; `Misuse` says what it should be."""
    try:
        source = given or Path(str(file)).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise Complaint(f"{file}: cannot be read ({problem}); check the name") from None
    body = _parsed(source)
    wanted, what = (list, "a list of operations") if kind == "json" else (dict, "a map of fields")
    if not isinstance(body, wanted):
        raise Misuse(f"a patch of --type={kind} is {what}, as JSON or YAML")
    return Change(kind, body)


def _parsed(source: str) -> Any:
    try:
        return json.loads(source)
    except ValueError:
        from penstock.api import kubeyaml  # noqa: PLC0415  (JSON is the rule)
        from penstock.api.bombs import ManifestError  # noqa: PLC0415

    try:
        return next((one.value for one in kubeyaml.documents(source)), None)
    except ManifestError as problem:
        raise Misuse(f"the patch {problem}; {problem.mend}") from None


async def patch(session: Session, entry: Entry, item: Json, change: Change, *, dry_run: bool = False) -> Json:
    """The object after the patch."""
    if dry_run:
        return patches.merged(item, _merge_patch(item, change))
    if change.kind == "merge":
        return await send(session, entry, item, change.body) if change.body else item
    return await work_out(session, entry, item, lambda now: _merge_patch(now, change))


async def work_out(session: Session, entry: Entry, item: Json, work: Callable[[Json], Json]) -> Json:
    """The object after a merge patch that was worked out on it; if it changes meanwhile, it is worked out again."""
    for _ in range(_TRIES):
        body = work(item)
        if not body:
            return item
        version = {"resourceVersion": text(item, "metadata", "resourceVersion")}
        try:
            return await send(session, entry, item, body | {"metadata": body.get("metadata", {}) | version})
        except Conflict:
            name, namespace = name_of(item), namespace_of(item)
            item = typed(entry, cast(Json, await session.cluster.get(whole(entry), name, namespace)))
    raise Complaint(f"{label(entry, name_of(item))} changes faster than it can be patched; try again")


async def send(session: Session, entry: Entry, item: Json, body: Json) -> Json:
    """Send a merge patch."""
    sent = session.cluster.patch(whole(entry), name_of(item), body, namespace=namespace_of(item), manager=MANAGER)
    return typed(entry, cast(Json, await sent))


def _merge_patch(item: Json, change: Change) -> Json:
    """The same as a merge patch."""
    if change.kind == "merge":
        return cast(Json, change.body)
    worked_out = patches.json_patched if change.kind == "json" else patches.strategic
    return patches.difference(item, worked_out(item, change.body))


def differ(old: Json, new: Json) -> bool:
    """Whether something happened."""
    return text(old, "metadata", "resourceVersion") != text(new, "metadata", "resourceVersion") or old != new


def dry(dry_run: str) -> str:
    """What is added to a line about something that was not done."""
    return "" if dry_run == "none" else " (dry run)"


@dataclass(frozen=True, slots=True)
class Marks:
    """Labels or annotations to set (a text) or to take away (None)."""

    field: str
    values: dict[str, str | None]


def marks(field: str, words: Sequence[str]) -> tuple[list[str], Marks]:
    """Split `nodeset compute a=b c-` into the objects and the marks."""
    at = next((place for place, word in enumerate(words) if "=" in word[1:] or word.endswith("-")), len(words))
    values: dict[str, str | None] = {}
    for word in words[at:]:
        key, equals, value = word.partition("=")
        if not equals and not word.endswith("-"):
            raise Misuse(f"{word!r} is neither KEY=VALUE nor KEY-; objects are named first")
        key = key if equals else word.removesuffix("-")
        if key in values:
            raise Misuse(f"{key} is given twice; take one out")
        values[key] = value if equals else None
    return list(words[:at]), Marks(field, values)


async def mark(session: Session, entry: Entry, item: Json, wanted: Marks, *, overwrite: bool, dry_run: bool) -> bool:
    """Set the marks; whether something changed."""
    there = mapping(item, "metadata", wanted.field)
    for key, value in wanted.values.items():
        if value is not None and not overwrite and there.get(key, value) != value:
            who = label(entry, name_of(item))
            raise Complaint(f"{who}: {key} is {there[key]!r} already; add --overwrite to change it")
    body = {key: value for key, value in wanted.values.items() if there.get(key) != value}
    if body and not dry_run:
        await send(session, entry, item, {"metadata": {wanted.field: body}})
    return bool(body)
