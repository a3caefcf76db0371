"""Deleting workers: what is asked right before one goes, of whom, and in which order.

First the jobs of a node, then the node: one that is not drained any more may have got new jobs. Then what people wish,
for much can be taken back while Slurm is asked. Slurm's word must be the last that can save a job: it counts for a
second from when it was asked for, and whatever anybody else has heard of Slurm in that second counts too.

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
from penstock.operator.nodeset.snapshot import slurm_node
from penstock.operator.nodeset.steps import Remove
from penstock.operator.resources import CUSTOMS, PODS
from penstock.render import labels
from penstock.slurm import hostlist
from penstock.slurm.rest.errors import SlurmError, SlurmNotFound
from penstock.slurm.rest.messages import NodeReport

AT_MOST = 200
"""Workers that go in one look: about as many as an API server deletes in a second."""
WITH_CLAIMS = AT_ONCE
"""Those that take claims along: as many as are deleted at once, for a claim is to be given only to who goes now."""
_BELIEVED = 1.0
"""Seconds for which Slurm's word about all nodes holds, from when it was asked for."""
_ALONE = 5.0
"""Seconds for which its word about one node holds. A Slurm with very much to do takes some to answer anything."""
_TOO_LATE = f"Slurm took more than {_ALONE:.0f} seconds to speak of one node: by then its word counts for nothing"


@dataclass(frozen=True, slots=True)
class _Word:
    """What Slurm said."""

    idle: Sequence[Remove]
    """Those that may go, by its word or without."""
    asked_at: float
    """When its nodes were asked for, by the loop's time."""


async def remove(errand: Errand, removals: Sequence[Remove]) -> None:
    """Delete workers, those of them that may go at this moment."""
    some = [*removals[:AT_MOST]]
    if any(one.claims for one in some):
        some = some[:WITH_CLAIMS]
        some = await _with_claims(errand, (await _asked(errand, some)).idle)
    word = await _asked(errand, some)
    if not word.idle or not await errand.is_still_wished():
        return
    gone = await _delete(errand, _uncontradicted(errand, word.idle), until=word.asked_at + _BELIEVED)
    # Who could not go now is not asked about again at once: that would be for ever.
    errand.more |= bool(gone) and len(gone) < len(removals)


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


def _uncontradicted(errand: Errand, removals: Sequence[Remove]) -> list[Remove]:
    """Without those of whom somebody who asked Slurm after us has heard something else, or nothing at all."""
    known = errand.context.slurm.nodes(errand.cluster.controller)

    def is_sure(one: Remove) -> bool:
        return known is not None and _may_go(errand, one, known.nodes.get(slurm_node(errand.node_set, one.pod)))

    sure = [one for one in removals if not one.drained or is_sure(one)]
    errand.unfinished |= len(sure) < len(removals)
    return sure


async def _with_claims(errand: Errand, removals: Sequence[Remove]) -> list[Remove]:
    """The same, with what goes along given to whoever it goes with; without those whom it cannot be given to."""
    alone = [one for one in removals if not one.claims]
    along = [one for one in removals if one.claims]
    if not along or not await errand.is_still_wished():
        return alone
    given = list[Remove]()

    async def give(one: Remove) -> None:
        if await _give_claims(errand, one):
            given.append(one)

    await abreast(await _surplus(errand, along), give)
    return [*alone, *given]


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


async def _delete(errand: Errand, removals: Collection[Remove], *, until: float) -> list[str]:
    """Delete workers as long as what was heard of them holds; tells who went.

    Where Slurm took longer than that to speak of all nodes it is asked about each of them alone.
    """
    time = asyncio.get_running_loop().time
    gone: dict[str, list[str]] = {}
    late = time() > until

    async def one_worker(one: Remove) -> None:
        if one.drained and not (await _is_idle(errand, one) if late else time() <= until):
            errand.unfinished = True
        elif await _went(errand, one):
            gone.setdefault(one.why, []).append(one.pod.metadata.name)

    try:
        await abreast(removals, lambda one: errand.attempt(one_worker(one)))
    finally:
        for why, names in gone.items():
            note = f"{hostlist.compress(names)}: {why}"
            errand.context.events.normal(CUSTOMS["NodeSet"], errand.item, "WorkersRemoved", note)
    return [name for names in gone.values() for name in names]


async def _is_idle(errand: Errand, one: Remove) -> bool:
    """Whether Slurm says, of this one node and soon enough, that nothing runs there."""
    time = asyncio.get_running_loop().time
    until = time() + _ALONE
    try:
        client = await errand.context.slurm.client(errand.cluster.controller)
        node: NodeReport | None = await client.node(slurm_node(errand.node_set, one.pod))
    except SlurmNotFound:
        node = None
    except SlurmError as error:
        errand.unanswered(error)
        return False
    if time() > until:
        errand.troubles.append(Cause("SlurmUnknown", _TOO_LATE))
        return False
    return _may_go(errand, one, node)


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
