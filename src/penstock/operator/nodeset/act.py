"""Doing what a plan says. Each step can be done twice, and is checked once more at the moment it is done."""

from __future__ import annotations

from collections.abc import Collection

from penstock.operator.nodeset import making, removing, tending
from penstock.operator.nodeset.drains import MARK, is_our_drain
from penstock.operator.nodeset.errand import Errand
from penstock.operator.nodeset.steps import Drain, Plan
from penstock.slurm.rest.errors import SlurmError


async def act(errand: Errand, plan: Plan) -> None:
    """Do all of it: give back and drain before anything goes, so that Slurm is never surprised."""
    await _give_back(errand, plan.undrain)
    await _drain(errand, plan.drain)
    await errand.attempt(tending.tend(errand, plan.tend))
    await errand.attempt(tending.restore(errand, plan.claims))
    await errand.attempt(making.make(errand, plan.create))
    # Who deletes it without its workers takes them from it, and may have done so a moment ago.
    if plan.adopt and await errand.is_still_wished():
        for one in plan.adopt:
            await errand.attempt(making.adopt(errand, one.pod.metadata))
    for pod in errand.now.pods:
        if wanted := plan.relabel.get(pod.metadata.name):
            await errand.attempt(making.relabel(errand, pod.metadata, wanted))
    await errand.attempt(removing.remove(errand, plan.remove))


async def _give_back(errand: Errand, nodes: Collection[str]) -> None:
    """Undrain, after one more look: somebody may have made the drain their own a moment ago."""
    if not nodes or (known := await errand.nodes_now()) is None:
        return
    still_ours = [name for name in nodes if (node := known.nodes.get(name)) is not None and is_our_drain(node)]
    if not await _tell_slurm(errand, still_ours, state=["UNDRAIN"], extra=""):
        errand.context.slurm.way(errand.cluster.controller).doubt(still_ours)


async def _drain(errand: Errand, drains: Collection[Drain]) -> None:
    """Drain, all nodes that have one reason in one request; but none that a person drained a moment ago, or we did.

    Workers that were taken from a NodeSet that is deleted go on as they are.
    """
    if not drains or (errand.now.deleting and not await errand.has_its_own()):
        return
    if (known := await errand.nodes_now()) is None:
        return
    by_reason: dict[str, list[str]] = {}
    for one in drains:
        node = known.nodes.get(one.node)
        if node is not None and (not node.condition.drain or (is_our_drain(node) and node.reason != one.why)):
            by_reason.setdefault(one.why, []).append(one.node)
    for reason, nodes in by_reason.items():
        await _tell_slurm(errand, nodes, state=["DRAIN"], reason=reason, extra=MARK)


async def _tell_slurm(errand: Errand, nodes: Collection[str], **changes: object) -> bool:
    """Change nodes; tells whether Slurm says that it did."""
    try:
        if nodes:
            await errand.context.slurm.change(errand.cluster.controller, nodes, **changes)
    except SlurmError as error:
        errand.unanswered(error)
        return False
    return True
