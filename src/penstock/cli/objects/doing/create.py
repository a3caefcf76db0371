"""What `penstock create` does."""

from __future__ import annotations

import argparse
import sys

from penstock.cli.objects import changing, making, manifests
from penstock.cli.objects.command import one_by_one
from penstock.cli.objects.complaint import Misuse
from penstock.cli.objects.manifests import Manifest
from penstock.cli.objects.printing import single_form
from penstock.cli.objects.session import Session


async def perform(arguments: argparse.Namespace, session: Session) -> int:
    """Create each object; one that is refused does not keep the others back."""
    if arguments.words and arguments.filename:
        raise Misuse("describe an object, or name manifests with -f, not both")

    async def create(one: Manifest) -> None:
        item = await changing.create(session, one, dry_run=arguments.dry_run)
        sys.stdout.write(
            single_form(one.entry, item, arguments.output) or changing.outcome(one, "created", arguments.dry_run)
        )

    if arguments.words:
        described = await manifests.manifest_of(session, "options", making.made(arguments))
        return await one_by_one("create", [described], create)
    return await one_by_one("create", await manifests.read(session, arguments), create)
