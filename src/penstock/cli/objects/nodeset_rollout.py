"""What `penstock rollout` does with NodeSets, where that is more than with other workloads."""

from __future__ import annotations

import argparse
import sys

from penstock.api.objects import Json
from penstock.cli.objects import rolling_back, worker_revisions
from penstock.cli.objects.complaint import Complaint
from penstock.cli.objects.fields import name_of
from penstock.cli.objects.modifying import work_out
from penstock.cli.objects.printing import as_json, as_yaml, single_form
from penstock.cli.objects.selecting import label
from penstock.cli.objects.session import Session
from penstock.cluster.catalogue import Entry
from penstock.render.labels import PIN


async def history(arguments: argparse.Namespace, session: Session, entry: Entry, item: Json) -> None:
    """Show the revisions, or one in full."""
    found = await worker_revisions.kept(session, item)
    form = {"json": as_json, "yaml": as_yaml, "": None}[arguments.output]
    if arguments.revision:
        one = rolling_back.chosen(found, arguments.revision, label(entry, name_of(item)), item)
        sys.stdout.write((form or as_yaml)(one.document))
    elif form is not None:
        sys.stdout.write(form(worker_revisions.document(item, found)))
    else:
        sys.stdout.write(worker_revisions.page(session, entry, item, found))


async def undo(arguments: argparse.Namespace, session: Session, entry: Entry, item: Json) -> None:
    """Write what an earlier revision says back into the spec."""
    who = label(entry, name_of(item))
    refuse_pinned(entry, item)
    back = rolling_back.chosen(await worker_revisions.kept(session, item), arguments.to_revision, who, item)
    after = await work_out(session, entry, item, lambda now: rolling_back.way_back(now, back, who))
    form = single_form(entry, after, arguments.output)
    if form:
        sys.stdout.write(form)
    elif after is item:
        sys.stdout.write(f"{who} skipped rollback (current template already matches revision {back.number})\n")
    else:
        sys.stdout.write(f"{who} rolled back to revision {back.number} ({back.hash})\n")


def refuse_pinned(entry: Entry, item: Json) -> None:
    """Workers that are pinned do not follow the spec: who changes it for their sake should know."""
    if word := worker_revisions.pinned_to(item):
        name = name_of(item)
        raise Complaint(
            f'{label(entry, name)}: its workers are pinned to revision "{word}" and do not follow the spec; '
            f"pin another, or let them follow: penstock annotate nodeset {name} {PIN}-"
        )


async def hold(_arguments: argparse.Namespace, _session: Session, entry: Entry, item: Json) -> None:
    """NodeSets have no pause; say what there is instead."""
    name = name_of(item)
    raise Complaint(
        f"{label(entry, name)}: NodeSets cannot be paused; workers are replaced only when no job runs on them. To keep "
        "all as they are, set updateStrategy.type to OnDelete, or pin a revision: "
        f"penstock annotate nodeset {name} {PIN}=NUMBER"
    )
