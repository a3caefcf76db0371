"""Nodes that say they are idle and have jobs all the same: jobs that somebody suspended.

Slurm counts no processor of a suspended job as used, so its node is IDLE, and drained when it drains. Only the jobs
themselves tell. They are asked for by node, all nodes in one question, and only when somebody is about to go, or to
lose its protection (`protection`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.api.controller import Controller
from penstock.operator.conditions import Cause
from penstock.operator.context import Context
from penstock.operator.nodeset.snapshot import Snapshot
from penstock.operator.nodeset.steps import Plan
from penstock.slurm import hostlist
from penstock.slurm.rest.client import SlurmRest
from penstock.slurm.rest.errors import SlurmError

_WORDS = "jobs are suspended there; resume them (scontrol resume) or cancel them (scancel)"


async def counted(context: Context, controller: Controller, now: Snapshot, decided: Plan) -> Snapshot:
    """The same, with what only jobs tell: who of those that a plan removes because they are idle is not idle at all."""
    reports = (now.report(one.pod) for one in decided.remove if one.drained)
    nodes = [report.name for report in reports if report is not None]
    if not nodes:
        return now
    try:
        held = await with_jobs(await context.slurm.client(controller), nodes)
    except SlurmError:
        return now  # it is asked once more before anybody goes, and told then
    return replace(now, suspended=frozenset(held)) if held else now


async def with_jobs(client: SlurmRest, nodes: Sequence[str]) -> list[str]:
    """Those of some nodes that have jobs. Nodes are halved, so that few among thousands cost few questions."""
    if not nodes or not await client.jobs_on(nodes):
        return []
    if len(nodes) == 1:
        return [*nodes]
    middle = len(nodes) // 2
    return [*await with_jobs(client, nodes[:middle]), *await with_jobs(client, nodes[middle:])]


def trouble(nodes: Sequence[str]) -> Cause | None:
    """What is told of them."""
    return Cause("JobsSuspended", f"{hostlist.compress(nodes)}: {_WORDS}") if nodes else None
