"""What `penstock patch` does."""

from __future__ import annotations

import argparse
import sys

from penstock.api.objects import Json
from penstock.cli.objects import modifying
from penstock.cli.objects.command import one_by_one
from penstock.cli.objects.complaint import Misuse
from penstock.cli.objects.printing import single_form
from penstock.cli.objects.selecting import gather, label
from penstock.cli.objects.session import Session
from penstock.cluster.catalogue import Entry


async def perform(arguments: argparse.Namespace, session: Session) -> int:
    """Patch each object that is named."""
    if bool(arguments.patch) == bool(arguments.patch_file):
        raise Misuse("give the patch with -p TEXT or --patch-file FILE")
    change = modifying.read_patch(arguments.patch, arguments.patch_file, arguments.type)

    async def patch(one: tuple[Entry, Json]) -> None:
        entry, item = one
        new = await modifying.patch(session, entry, item, change, dry_run=arguments.dry_run != "none")
        word = "patched" if modifying.differ(item, new) else "patched (no change)"
        line = f"{label(entry, item['metadata']['name'])} {word}{modifying.dry(arguments.dry_run)}\n"
        sys.stdout.write(single_form(entry, new, arguments.output) or line)

    found = await gather(session, arguments.words)
    return await one_by_one("patch", [(one.entry, item) for one in found for item in one.items], patch)
