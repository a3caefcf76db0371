"""What `penstock apply` does."""

from __future__ import annotations

import argparse
import sys

from penstock.cli.objects import changing, manifests
from penstock.cli.objects.command import one_by_one
from penstock.cli.objects.complaint import Misuse
from penstock.cli.objects.manifests import Manifest
from penstock.cli.objects.printing import single_form
from penstock.cli.objects.session import Session


async def perform(arguments: argparse.Namespace, session: Session) -> int:
    """Apply each object of the manifests; one that is refused does not keep the others back."""
    if arguments.prune:
        raise Misuse("--prune is not known here: it deletes by guessing; delete what should go with `penstock delete`")

    async def apply(one: Manifest) -> None:
        force = arguments.force_conflicts
        item, word = await changing.apply(session, one, force=force, dry_run=arguments.dry_run)
        sys.stdout.write(
            single_form(one.entry, item, arguments.output) or changing.outcome(one, word, arguments.dry_run)
        )

    return await one_by_one("apply", await manifests.read(session, arguments), apply)
