"""`penstock label` and `penstock annotate`: one command with two names."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from penstock.api.objects import Json
from penstock.cli.objects import grammar, modifying
from penstock.cli.objects.command import one_by_one
from penstock.cli.objects.complaint import Misuse
from penstock.cli.objects.fields import name_of, namespace_of
from penstock.cli.objects.modifying import Marks
from penstock.cli.objects.printing import single_form
from penstock.cli.objects.selecting import Where, fetch, gather, label
from penstock.cli.objects.session import Session
from penstock.cluster.catalogue import Entry


async def perform(name: str, field: str, arguments: argparse.Namespace, session: Session) -> int:
    """Set and take away marks of each object."""
    words, wanted = modifying.marks(field, arguments.words)
    where = Where(labels=arguments.selector, fields=arguments.field_selector, everywhere=arguments.all_namespaces)
    found = await gather(session, words, where)
    if arguments.list:
        _show(field, [item for one in found for item in one.items])
        return 0
    if not wanted.values:
        raise Misuse(f"say what to {name}: KEY=VALUE sets, KEY- takes away")
    _refuse_everything(words, arguments)

    async def mark(one: tuple[Entry, Json]) -> None:
        entry, item = one
        dry_run = arguments.dry_run != "none"
        done = await modifying.mark(session, entry, item, wanted, overwrite=arguments.overwrite, dry_run=dry_run)
        if arguments.output:
            sys.stdout.write(single_form(entry, await _again(session, entry, item), arguments.output))
        else:
            word = _word(name, wanted, done) + modifying.dry(arguments.dry_run)
            sys.stdout.write(f"{label(entry, name_of(item))} {word}\n")

    return await one_by_one(name, [(one.entry, item) for one in found for item in one.items], mark)


def _refuse_everything(words: Sequence[str], arguments: argparse.Namespace) -> None:
    """A kind alone would mean all its objects; whoever means that says so."""
    selects = arguments.all or arguments.selector or arguments.field_selector
    if not selects and any(not named.names for named in grammar.split(words)):
        raise Misuse(f"{words[0]}: name objects, or choose them with -l, or say --all")


async def _again(session: Session, entry: Entry, item: Json) -> Json:
    return await fetch(session, entry, name_of(item), namespace_of(item))


def _word(name: str, wanted: Marks, done: bool) -> str:
    if name == "annotate":
        return "annotated"
    if not done:
        return "not labeled"
    return "unlabeled" if all(value is None for value in wanted.values.values()) else "labeled"


def _show(field: str, items: Sequence[Json]) -> None:
    for item in items:
        for key, value in sorted((item["metadata"].get(field) or {}).items()):
            sys.stdout.write(f"{key}={value}\n")
