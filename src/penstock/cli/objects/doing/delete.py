"""What `penstock delete` does."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence

from penstock.cli.objects import deleting
from penstock.cli.objects.command import complain
from penstock.cli.objects.complaint import Complaint
from penstock.cli.objects.deleting import Doomed, Manner
from penstock.cli.objects.session import Session
from penstock.cluster.errors import ClusterError


async def perform(arguments: argparse.Namespace, session: Session) -> int:
    """Delete all that is named, then wait for all of it at once."""
    doomed, complaints = await deleting.chosen(session, arguments)
    manner, going = deleting.manner_of(arguments), list[Doomed]()
    deleting.spare_jobs(doomed, manner)
    for one in doomed:
        try:
            await _delete(session, one, manner, arguments)
            going.append(one)
        except (ClusterError, Complaint) as problem:
            complaints.append(f"{one.label}: {problem}")
    for sentence in complaints:
        complain("delete", sentence)
    if arguments.wait and arguments.dry_run == "none":
        await _wait(session, going, arguments.timeout or None)
    return 1 if complaints else 0


async def _delete(session: Session, one: Doomed, manner: Manner, arguments: argparse.Namespace) -> None:
    if arguments.dry_run == "none":
        await deleting.delete(session, one, manner)
    sys.stdout.write(f"{one.label}\n" if arguments.output == "name" else one.told(arguments.dry_run))
    sys.stdout.flush()


async def _wait(session: Session, going: Sequence[Doomed], within: float | None) -> None:
    results = await asyncio.gather(
        *(deleting.gone(session, one, within=within) for one in going), return_exceptions=True
    )
    for problem in results:
        if isinstance(problem, BaseException):
            raise problem
