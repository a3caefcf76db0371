"""Deleting workers: what is asked right before one goes, of whom, and in which order.

First the jobs of a node, then the node: one that is not drained any more may have got new jobs. Then what people wish,
for much can be taken back while Slurm is asked. Slurm's word must be the last that can save a job, so it may be a
second old and no more, and whatever anybody else has heard of Slurm in that second counts too. Of thousands that go,
those whose turn has not come in that second are asked about once more, in the next look.

Claims are given away for nothing but a worker that goes, so all of that is asked before they are, and again after.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence

from penstock.cluster.errors import Conflict, NotFound
from penstock.cluster.port import Preconditions
from penstock.operator import fresh
from penstock.operator.nodeset import suspended, tending
from penstock.operator.nodeset.abreast import abreast
from penstock.operator.nodeset.claims import Claims
from penstock.operator.nodeset.errand import Errand
from penstock.operator.nodeset.snapshot import slurm_node
from penstock.operator.nodeset.steps import Remove
from penstock.operator.resources import CUSTOMS, PODS
from penstock.render import labels
from penstock.slurm import hostlist
from penstock.slurm.rest.errors import SlurmError
from penstock.slurm.rest.messages import NodeReport

_BELIEVED = 1.0
"""Seconds for which Slurm's last word holds: what takes longer than that is asked anew."""


async def remove(errand: Errand, removals: Collection[Remove]) -> None:
    """Delete workers, those of them that may go at this moment."""
    if any(one.claims for one in removals):
        removals = await _with_claims(errand, await _idle(errand, removals))
    allowed = await _idle(errand, removals)
    heard_at = asyncio.get_running_loop().time()
    if not allowed or not await _is_still_wished(errand):
        return
    await _delete(errand, _uncontradicted(errand, allowed), until=heard_at + _BELIEVED)


async def _idle(errand: Errand, removals: Collection[Remove]) -> list[Remove]:
    """Those of which Slurm says, at this moment, that nothing runs there; two questions for all of them.

    Who goes without its word goes.
    """
    allowed = [one for one in removals if not one.drained]
    named = {slurm_node(errand.node_set, one.pod): one for one in removals if one.drained}
    held = await _suspended_on(errand, named)
    known = await errand.nodes_now() if named and held is not None else None
    if known is None or held is None:
        return allowed
    return [*allowed, *(one for node, one in named.items() if node not in held and _may_go(errand, one, known))]


async def _suspended_on(errand: Errand, nodes: Collection[str]) -> list[str] | None:
    """Nodes that seem idle only because their jobs are suspended; None when Slurm does not tell."""
    if not nodes:
        return []
    try:
        client = await errand.context.slurm.client(errand.cluster.controller)
        held = await suspended.with_jobs(client, [*nodes])
    except SlurmError as error:
        errand.unanswered(error)
        return None
    errand.unfinished |= bool(held)
    return held


def _may_go(errand: Errand, one: Remove, known: Mapping[str, NodeReport]) -> bool:
    node = known.get(slurm_node(errand.node_set, one.pod))
    return not errand.now.has_served(one.pod) if node is None else node.condition.drained


def _uncontradicted(errand: Errand, removals: Sequence[Remove]) -> list[Remove]:
    """Without those of whom somebody who asked Slurm after us has heard something else, or nothing at all."""
    known = errand.context.slurm.nodes(errand.cluster.controller)
    nodes = known.nodes if known else None
    sure = [one for one in removals if not one.drained or (nodes is not None and _may_go(errand, one, nodes))]
    errand.unfinished |= len(sure) < len(removals)
    return sure


async def _is_still_wished(errand: Errand) -> bool:
    """Whether the NodeSet says what it said when we looked."""
    meta = errand.node_set.metadata
    try:
        there = await errand.context.cluster.get(CUSTOMS["NodeSet"], meta.name, meta.namespace)
    except NotFound:
        return False
    same = (there.metadata.uid, there.metadata.generation) == (meta.uid, errand.item.metadata.generation)
    errand.unfinished |= not same
    return same


async def _with_claims(errand: Errand, removals: Sequence[Remove]) -> list[Remove]:
    """The same, with what goes along given to whoever it goes with; without those whom it cannot be given to."""
    alone = [one for one in removals if not one.claims]
    along = [one for one in removals if one.claims]
    if not along or not await _is_still_wished(errand):
        return alone
    return [*alone, *[one for one in await _surplus(errand, along) if await _give_claims(errand, one)]]


async def _surplus(errand: Errand, along: Sequence[Remove]) -> Sequence[Remove]:
    """Without those who are needed after all, of workers that take their claims along for they are too many.

    Somebody may have deleted others, and the watch be behind with that. Counted once more only here: whoever goes
    and leaves its claims behind costs nothing, for it is made again with them.
    """
    now, meta = errand.now, errand.node_set.metadata
    if now.per_machine or not now.desired:
        return along
    selector = labels.selector_text("slurmd", errand.node_set)
    pods = await fresh.pods(errand.context.cluster, meta.namespace, selector)
    ours = (pod for pod in pods if any(owner.uid == meta.uid for owner in pod.metadata.owner_references))
    return along[: max(sum(not pod.leaving for pod in ours) - now.desired, 0)]


async def _give_claims(errand: Errand, one: Remove) -> bool:
    """Give a worker the claims that go with it. If one of them changed a moment ago the worker has to wait.

    Also those that it seems to have: they may have been taken back, and the watch be behind with that.
    """
    claims = Claims(errand.now)
    for claim in one.claims:
        if not await tending.give(errand, claim, claims.handed_to(claim, one.pod)):
            return False
    return True


async def _delete(errand: Errand, removals: Collection[Remove], *, until: float) -> None:
    """Delete workers as long as what was heard of them holds."""
    gone: dict[str, list[str]] = {}

    async def one_worker(one: Remove) -> None:
        if asyncio.get_running_loop().time() > until:
            errand.more = True
        elif await _went(errand, one):
            gone.setdefault(one.why, []).append(one.pod.metadata.name)

    try:
        await abreast(removals, one_worker)
    finally:
        for why, names in gone.items():
            note = f"{hostlist.compress(names)}: {why}"
            errand.context.events.normal(CUSTOMS["NodeSet"], errand.item, "WorkersRemoved", note)


async def _went(errand: Errand, one: Remove) -> bool:
    """Delete a worker, if it is still the one that we saw; tells whether it was."""
    meta, pods = one.pod.metadata, errand.context.caches.pods
    only_if = Preconditions(uid=meta.uid, resource_version=meta.resource_version)
    try:
        with errand.expected.removing(one.pod, lambda: pods.get(meta.name, meta.namespace)):
            await errand.context.cluster.delete(PODS, meta.name, namespace=meta.namespace, only_if=only_if)
    except NotFound:
        return False
    except Conflict:
        # It changed since we looked: decide anew.
        errand.unfinished = True
        return False
    return True
