"""What `penstock get` does."""

from __future__ import annotations

import argparse
import sys

from penstock.cli.objects.command import complain
from penstock.cli.objects.listing import Listing
from penstock.cli.objects.session import Session


async def perform(arguments: argparse.Namespace, session: Session) -> int:
    """Show objects, and with `--watch` what becomes of them."""
    listing = await Listing.of(arguments, session)
    for sentence in listing.complaints:
        complain("get", sentence)
    if not arguments.watch_only:
        sys.stdout.write(listing.text())
        sys.stdout.flush()
    if arguments.watch or arguments.watch_only:
        await listing.follow(sys.stdout)
    sys.stderr.write(listing.nothing)
    return 1 if listing.complaints else 0
