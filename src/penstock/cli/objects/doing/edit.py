"""What `penstock edit` does."""

from __future__ import annotations

import argparse
import sys

from penstock.api.objects import Json
from penstock.cli.objects import editor
from penstock.cli.objects.command import one_by_one
from penstock.cli.objects.complaint import Complaint, Misuse
from penstock.cli.objects.editor import Draft
from penstock.cli.objects.fields import name_of
from penstock.cli.objects.modifying import send
from penstock.cli.objects.printing import without_managers
from penstock.cli.objects.selecting import gather, label, targets
from penstock.cli.objects.session import Session
from penstock.cluster.catalogue import Entry
from penstock.cluster.errors import Conflict, Forbidden, Refused


async def perform(arguments: argparse.Namespace, session: Session) -> int:
    """Edit each object; what the cluster refuses comes back to the editor with its words on top."""
    if any(not one.names for one in await targets(session, arguments.words)):
        raise Misuse("name the objects to edit, for instance nodeset/compute")

    async def edit(one: tuple[Entry, Json]) -> None:
        entry, item = one
        sys.stdout.write(await _edited(session, entry, item))

    found = await gather(session, arguments.words)
    return await one_by_one("edit", [(one.entry, item) for one in found for item in one.items], edit)


async def _edited(session: Session, entry: Entry, item: Json) -> str:
    draft = Draft(without_managers(item), who=label(entry, name_of(item)))
    try:
        while await editor.opened(draft):
            try:
                patch = draft.patch()
                if not patch:
                    draft.done()
                    break
                await send(session, entry, item, patch)
            except (Refused, Conflict, Forbidden, Complaint) as problem:
                draft.complain(str(problem))
                continue
            draft.done()
            return f"{draft.who} edited\n"
    finally:
        kept = draft.close()
    if kept:
        raise Complaint(f"{draft.who} was not changed; what you wrote is in {kept}")
    return "Edit cancelled, no changes made.\n"
