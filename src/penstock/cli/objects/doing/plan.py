"""What `penstock plan` does: the operator's own first half, with what the cluster and Slurm say at this moment."""

from __future__ import annotations

import argparse
import asyncio
import sys

from penstock.cli.objects.complaint import Complaint, Misuse
from penstock.cli.objects.fields import name_of, namespace_of
from penstock.cli.objects.printing import as_json, as_yaml
from penstock.cli.objects.selecting import fetch, label, target
from penstock.cli.objects.session import Session
from penstock.cli.objects.slurm_links import SlurmLinks, located
from penstock.cli.objects.worker_revisions import NODE_SETS
from penstock.operator.nodeset.preview import Preview
from penstock.operator.runtime import Operator, Settings


async def perform(arguments: argparse.Namespace, session: Session) -> int:
    """Print the plan for one NodeSet."""
    meant = await target(session, arguments.words, otherwise="nodesets")
    if meant.entry.name != NODE_SETS:
        raise Misuse(f"plans are made for NodeSets, not for {meant.entry.plural}: penstock plan nodeset/NAME")
    item = await fetch(session, meant.entry, meant.names[0])
    found = await _preview(session, namespace_of(item), name_of(item), arguments.timeout)
    who = label(meant.entry, name_of(item))
    forms = {"json": as_json, "yaml": as_yaml}
    form = forms.get(arguments.output)
    sys.stdout.write(form(found.document) if form else found.page(who))
    return 0


async def _preview(session: Session, namespace: str, name: str, seconds: float) -> Preview:
    async with SlurmLinks(session) as links:
        operator = Operator(
            session.cluster, Settings(namespaces=(namespace,)), locate=located, connect=links.connect,
            rehearsal=lambda _: None, now=session.now,
        )  # fmt: skip
        try:
            async with asyncio.timeout(seconds):
                return await operator.preview(("NodeSet", namespace, name))
        except TimeoutError:
            missing = ", ".join(operator.unheard) or "Slurm"
            raise Complaint(
                f"nothing was heard of {missing} within {seconds:g} s; a plan is made from all that the operator "
                "reads, and takes its rights to read"
            ) from None
