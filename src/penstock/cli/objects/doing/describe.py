"""What `penstock describe` does."""

from __future__ import annotations

import argparse
import sys

from penstock.api.objects import Json
from penstock.cli.objects import describing, manifests
from penstock.cli.objects.complaint import Complaint
from penstock.cli.objects.fields import name_of
from penstock.cli.objects.selecting import Found, Target, Where, everything, fetch, targets
from penstock.cli.objects.session import Session
from penstock.cluster.catalogue import Entry


async def perform(arguments: argparse.Namespace, session: Session) -> int:
    """Describe each object; two blank lines apart, as kubectl has it."""
    where = Where(labels=arguments.selector, everywhere=arguments.all_namespaces)
    if arguments.filename:
        asked = [Target(one.entry, (one.name,), one.namespace) for one in await manifests.read(session, arguments)]
    else:
        asked = await targets(session, arguments.words)
    pages: list[str] = []
    for one in asked:
        found = await (_named(session, one) if one.names else everything(session, one.entry, where))
        pages += [await _page(session, found.entry, item, events=arguments.show_events) for item in found.items]
    if not pages:
        sys.stderr.write(f"No resources found in {session.namespace} namespace.\n")
    sys.stdout.write("\n\n".join(pages))
    return 0


async def _named(session: Session, one: Target) -> Found:
    items: list[Json] = []
    for name in one.names:
        try:
            items.append(await fetch(session, one.entry, name, one.namespace))
        except Complaint:
            # As kubectl has it: a name may be the beginning of names, since those of pods end in noise.
            near = [item for item in (await everything(session, one.entry)).items if name_of(item).startswith(name)]
            if not near:
                raise
            items += near
    return Found(entry=one.entry, items=items)


async def _page(session: Session, entry: Entry, item: Json, *, events: bool) -> str:
    told = await describing.events_of(session, entry, item) if events else None
    return describing.page(entry, item, told, session.now())
