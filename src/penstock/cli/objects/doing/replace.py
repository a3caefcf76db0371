"""What `penstock replace` does."""

from __future__ import annotations

import argparse
import sys

from penstock.cli.objects import changing, manifests
from penstock.cli.objects.command import one_by_one
from penstock.cli.objects.manifests import Manifest
from penstock.cli.objects.printing import single_form
from penstock.cli.objects.session import Session


async def perform(arguments: argparse.Namespace, session: Session) -> int:
    """Replace each object; one that is refused does not keep the others back."""

    async def replace(one: Manifest) -> None:
        item = await changing.replace(session, one, dry_run=arguments.dry_run)
        sys.stdout.write(
            single_form(one.entry, item, arguments.output) or changing.outcome(one, "replaced", arguments.dry_run)
        )

    return await one_by_one("replace", await manifests.read(session, arguments), replace)
