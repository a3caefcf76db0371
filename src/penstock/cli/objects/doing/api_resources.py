"""What `penstock api-resources` does."""

from __future__ import annotations

import argparse
import sys

from penstock.cli.objects.session import Session
from penstock.cli.objects.table import Table
from penstock.cluster import catalogue
from penstock.cluster.catalogue import Entry

_TITLES = ["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND"]


async def perform(arguments: argparse.Namespace, session: Session) -> int:
    """List what the cluster says it serves; one machine serves our catalogue."""
    served = list(await session.kinds.served()) or list(catalogue.ENTRIES)
    chosen = sorted((one for one in served if _fits(arguments, one)), key=lambda one: (one.group, one.plural))
    if arguments.output == "name":
        sys.stdout.write("".join(f"{one.name}\n" for one in chosen))
        return 0
    wide = arguments.output == "wide"
    table = Table([*_TITLES, *(["CATEGORIES"] if wide else [])], headed=not arguments.no_headers)
    sys.stdout.write(table.lines([[*_row(one), *([",".join(one.categories)] if wide else [])] for one in chosen]))
    return 0


def _fits(arguments: argparse.Namespace, one: Entry) -> bool:
    if arguments.api_group is not None and one.group != arguments.api_group:
        return False
    return arguments.namespaced is None or one.namespaced == (arguments.namespaced == "true")


def _row(one: Entry) -> list[str]:
    return [one.plural, ",".join(one.short_names), one.api_version, str(one.namespaced).lower(), one.kind]
