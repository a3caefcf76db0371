"""Deleting workers: what is asked right before one goes, of whom, and in which order.

First the jobs of a node, then the node: one that is not drained any more may have got new jobs. Then what people wish,
for much can be taken back while Slurm is asked. Slurm's word must be the last that can save a job: it counts for a
second from when it was asked for, and whatever anybody else has heard of Slurm in that second counts too. Where all of
that took longer, for there are thousands of nodes, it is asked for their jobs once more: one short question for all.

Claims are given away for nothing but a worker that goes, so all of that is asked before they are, and again after. So
that this does not take long, thousands of workers go by and by, some in each look.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from penstock.cluster.errors import Conflict, NotFound
from penstock.cluster.port import Preconditions
from penstock.operator import fresh
from penstock.operator.conditions import Cause
from penstock.operator.nodeset import suspended, tending
from penstock.operator.nodeset.abreast import AT_ONCE, abreast
from penstock.operator.nodeset.claims import Claims
from penstock.operator.nodeset.errand import Errand
from penstock.operator.nodeset.leaving import is_of_mode
from penstock.operator.nodeset.snapshot import slurm_node
from penstock.operator.nodeset.steps import Remove
from penstock.operator.resources import CUSTOMS, PODS
from penstock.render import labels
from penstock.slurm import hostlist
from penstock.slurm.rest.errors import SlurmError
from penstock.slurm.rest.messages import NodeReport

AT_MOST = 200
"""Workers that go in one look: about as many as an API server deletes in a second."""
WITH_CLAIMS = AT_ONCE
"""Those that take claims along: as many as are deleted at once, for a claim is to be given only to who goes now."""
_BELIEVED = 1.0
"""Seconds for which Slurm's word about all nodes holds, from when it was asked for."""
_AT_LAST = 5.0
"""Seconds for which its last word about jobs holds at most: one with very much to do takes some to answer anything."""
_TOO_LATE = f"Slurm took more than {_AT_LAST:.0f} seconds to say who has jobs: by then its word counts for nothing"


@dataclass(frozen=True, slots=True)
class _Word:
    """What Slurm said."""

    idle: Sequence[Remove]
    """Those that may go, by its word or without."""
    asked_at: float
    """When its nodes were asked for, by the loop's time."""


async def remove(errand: Errand, removals: Sequence[Remove]) -> None:
    """Delete workers, those of them that may go at this moment."""
    some = _unhindered(errand, removals[:AT_MOST])
    if any(one.claims for one in some):
        some = some[:WITH_CLAIMS]
        some = await _with_claims(errand, (await _asked(errand, some)).idle)
    word = await _asked(errand, some)
    if not word.idle or not await errand.is_still_wished():
        return
    sure = await _surplus(errand, word.idle)
    gone = await _delete(errand, sure, until=await _holds_until(errand, sure, word.asked_at + _BELIEVED))
    # Who could not go now is not asked about again at once: that would be for ever.
    errand.more |= bool(gone) and len(gone) < len(removals)


def _unhindered(errand: Errand, removals: Sequence[Remove]) -> list[Remove]:
    """Without those whose nodes somebody else of us is about to give back; from now on nobody is."""
    named = {slurm_node(errand.node_set, one.pod) for one in removals if one.drained}
    free = errand.context.slurm.way(errand.cluster.controller).take(named)
    errand.unfinished |= free != named
    return [one for one in removals if not one.drained or slurm_node(errand.node_set, one.pod) in free]


async def _asked(errand: Errand, removals: Sequence[Remove]) -> _Word:
    """Those of which Slurm says, at this moment, that nothing runs there; two questions for all of them.

    Who goes without its word goes.
    """
    allowed = [one for one in removals if not one.drained]
    named = {slurm_node(errand.node_set, one.pod): one for one in removals if one.drained}
    held = await _suspended_on(errand, named)
    known = await errand.nodes_now() if named and held is not None else None
    if known is None or held is None:
        return _Word(allowed, asyncio.get_running_loop().time())
    idle = [one for node, one in named.items() if node not in held and _may_go(errand, one, known.nodes.get(node))]
    return _Word([*allowed, *idle], known.at)


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


def _may_go(errand: Errand, one: Remove, node: NodeReport | None) -> bool:
    return not errand.now.has_served(one.pod) if node is None else node.condition.drained


def _uncontradicted(errand: Errand, one: Remove) -> bool:
    """Whether nobody who asked Slurm after us has heard something else of a worker, or nothing at all."""
    known = errand.context.slurm.nodes(errand.cluster.controller)
    return known is not None and _may_go(errand, one, known.nodes.get(slurm_node(errand.node_set, one.pod)))


async def _with_claims(errand: Errand, removals: Sequence[Remove]) -> list[Remove]:
    """The same, with what goes along given to whoever it goes with; without those whom it cannot be given to."""
    alone = [one for one in removals if not one.claims]
    if len(alone) == len(removals) or not await errand.is_still_wished():
        return alone
    given = list[Remove]()

    async def give(one: Remove) -> None:
        if not one.claims or await _give_claims(errand, one):
            given.append(one)

    await abreast(await _surplus(errand, removals), give)
    return given


async def _surplus(errand: Errand, removals: Sequence[Remove]) -> Sequence[Remove]:
    """Without those who are needed after all, of workers that take their claims along for they are too many.

    Somebody may have deleted others, and the watch be behind with that. Counted once more only where claims go along:
    whoever leaves them behind costs nothing, for it is made again with them.
    """
    now, meta = errand.now, errand.node_set.metadata
    along = [one for one in removals if one.claims]
    if now.per_machine or not now.desired or not along:
        return removals
    selector = labels.selector_text("slurmd", errand.node_set)
    pods = await fresh.pods(errand.context.cluster, meta.namespace, selector)
    ours = (pod for pod in pods if any(owner.uid == meta.uid for owner in pod.metadata.owner_references))
    counted = (pod for pod in ours if not pod.leaving and is_of_mode(now.node_set, pod))
    needed = along[max(sum(1 for _ in counted) - now.desired, 0) :]
    errand.unfinished |= bool(needed)
    return [one for one in removals if one not in needed]


async def _give_claims(errand: Errand, one: Remove) -> bool:
    """Give a worker the claims that go with it. If one of them changed a moment ago the worker has to wait.

    Also those that it seems to have: they may have been taken back, and the watch be behind with that.
    """
    claims = Claims(errand.now)
    for claim in one.claims:
        if not await tending.give(errand, claim, claims.handed_to(claim, one.pod)):
            return False
    return True


async def _holds_until(errand: Errand, removals: Sequence[Remove], until: float) -> float:
    """Until when what was heard holds; the same when that is over, and somebody has jobs, or Slurm does not say.

    A node that was given back since, and is still without jobs, may go: so it was to, and would be drained again.
    """
    time = asyncio.get_running_loop().time
    nodes = [slurm_node(errand.node_set, one.pod) for one in removals if one.drained]
    asked_at = time()
    if asked_at <= until or not nodes:
        return until
    try:
        client = await errand.context.slurm.client(errand.cluster.controller)
        busy = await client.jobs_on(nodes)
    except SlurmError as error:
        errand.unanswered(error)
        return until
    if time() > asked_at + _AT_LAST:
        errand.troubles.append(Cause("SlurmUnknown", _TOO_LATE))
    return until if busy else min(asked_at + _AT_LAST, time() + _BELIEVED)


async def _delete(errand: Errand, removals: Collection[Remove], *, until: float) -> list[str]:
    """Delete workers as long as what was heard of them holds; tells who went."""
    time = asyncio.get_running_loop().time
    gone: dict[str, list[str]] = {}

    async def one_worker(one: Remove) -> None:
        # Whatever was heard while workers were counted, or others deleted, counts as well.
        if one.drained and (time() > until or not _uncontradicted(errand, one)):
            errand.unfinished = True
        elif await _went(errand, one):
            why = f"{one.why}; its claims go along" if one.claims else one.why
            gone.setdefault(why, []).append(one.pod.metadata.name)

    try:
        await abreast(removals, lambda one: errand.attempt(one_worker(one)))
    finally:
        for why, names in gone.items():
            note = f"{hostlist.compress(names)}: {why}"
            errand.context.events.normal(CUSTOMS["NodeSet"], errand.item, "WorkersRemoved", note)
    return [name for names in gone.values() for name in names]


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
