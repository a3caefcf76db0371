"""What `penstock scale` does."""

from __future__ import annotations

import argparse
import sys

from penstock.api.objects import Json
from penstock.cli.objects.command import one_by_one
from penstock.cli.objects.complaint import Complaint
from penstock.cli.objects.fields import name_of, namespace_of, number
from penstock.cli.objects.modifying import dry
from penstock.cli.objects.selecting import Where, gather, label, whole
from penstock.cli.objects.session import Session
from penstock.cluster.catalogue import Entry


async def perform(arguments: argparse.Namespace, session: Session) -> int:
    """Set the size of each object that is named, through its scale subresource."""

    async def scale(one: tuple[Entry, Json]) -> None:
        entry, item = one
        who, now = label(entry, name_of(item)), number(item, "spec", "replicas", otherwise=1)
        if not entry.has_scale:
            raise Complaint(f"{who} has no size; nodesets, loginsets, statefulsets and deployments have")
        if arguments.current_replicas is not None and arguments.current_replicas != now:
            raise Complaint(f"{who} has {now} replicas, not {arguments.current_replicas}; nothing was changed")
        if arguments.dry_run == "none":
            namespace = namespace_of(item)
            await session.cluster.scale(whole(entry), name_of(item), arguments.replicas, namespace=namespace)
        sys.stdout.write(f"{who} scaled{dry(arguments.dry_run)}\n")

    found = await gather(session, arguments.words, Where(labels=arguments.selector))
    return await one_by_one("scale", [(one.entry, item) for one in found for item in one.items], scale)
