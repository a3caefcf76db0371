"""What `penstock events` does."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace

from penstock.api.objects import Json
from penstock.cli.objects import event, watching
from penstock.cli.objects.columns import columns_of
from penstock.cli.objects.printing import Rows, Style, document
from penstock.cli.objects.selecting import Found, Where, everything, target
from penstock.cli.objects.session import Session
from penstock.cluster.port import EventType

Wanted = Callable[[Json], bool]


async def perform(arguments: argparse.Namespace, session: Session) -> int:
    """Show events in the order in which they were last seen."""
    entry = await session.kinds.find("events")
    wanted = await _wanted(arguments, session)
    where = Where(everywhere=arguments.all_namespaces)
    style = Style(output=arguments.output, headed=not arguments.no_headers, show_namespace=arguments.all_namespaces)
    listed = await everything(session, entry, where)
    found = replace(listed, items=sorted(filter(wanted, listed.items), key=lambda item: event.read(item).order))
    rows = Rows(found, columns_of(entry), style)

    def show(one: Found, *, single: bool) -> None:
        text = rows.lines(one.items, session.now()) if style.is_table else document([one], style, single=single)
        sys.stdout.write(text)
        sys.stdout.flush()

    if found.items:
        show(found, single=False)
    elif not arguments.watch:
        inside = "" if arguments.all_namespaces else f" in {session.namespace} namespace"
        sys.stderr.write(f"No events found{inside}.\n")
    if arguments.watch:
        async with aclosing(watching.changes(session, entry, where, since=found.resource_version)) as changes:
            async for kind, item in changes:
                if kind is not EventType.DELETED and wanted(item):
                    show(replace(found, items=[item]), single=True)
    return 0


async def _wanted(arguments: argparse.Namespace, session: Session) -> Wanted:
    types = {word.strip().lower() for word in arguments.types.split(",") if word.strip()}
    about = await target(session, [arguments.about]) if arguments.about else None

    def wanted(item: Json) -> bool:
        told = event.read(item)
        if types and told.type.lower() not in types:
            return False
        return about is None or (told.kind == about.entry.kind and told.name == about.names[0])

    return wanted
