"""Nodes that say they are idle and have jobs all the same: jobs that somebody suspended.

Slurm counts no processor of a suspended job as used, so its node is IDLE, and drained when it drains. Only the jobs
themselves tell. They are asked for by node, all nodes in one question, and only when somebody is about to go.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.operator.conditions import Cause
from penstock.operator.nodeset.snapshot import Snapshot
from penstock.operator.nodeset.steps import Plan
from penstock.slurm import hostlist
from penstock.slurm.rest.client import SlurmRest

_WORDS = "jobs are suspended there; resume them (scontrol resume) or cancel them (scancel)"


def seemingly_idle(now: Snapshot, decided: Plan) -> list[str]:
    """The Slurm nodes that a plan removes workers from because they are idle."""
    reports = (now.report(one.pod) for one in decided.remove if one.drained)
    return [report.name for report in reports if report is not None]


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
