"""Doing what a plan says. Each step can be done twice, and each removal is checked once more at the last moment."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from penstock.api.nodeset import NodeSet
from penstock.api.objects import Json, Labels
from penstock.cluster.errors import AlreadyExists, ClusterError, Conflict, Forbidden, NotFound, Refused
from penstock.cluster.port import Preconditions
from penstock.operator import fresh
from penstock.operator.conditions import Cause
from penstock.operator.context import MENDABLE, Context
from penstock.operator.nodeset import suspended
from penstock.operator.nodeset.abreast import abreast
from penstock.operator.nodeset.claims import Claims
from penstock.operator.nodeset.drains import MARK, is_our_drain
from penstock.operator.nodeset.expected import Expected
from penstock.operator.nodeset.refusals import Refusals
from penstock.operator.nodeset.snapshot import Snapshot, slurm_node
from penstock.operator.nodeset.steps import Create, Drain, Plan, Remove, Tend
from penstock.operator.nodeset.templates import WorkerTemplate
from penstock.operator.owned import NameTaken
from penstock.operator.resources import CLAIMS, CUSTOMS, PODS, Claim, Custom
from penstock.render import labels
from penstock.render.inventory import Cluster
from penstock.slurm import hostlist
from penstock.slurm.rest.errors import SlurmError
from penstock.slurm.rest.messages import NodeReport

_BELIEVED = 1.0
"""Seconds for which Slurm's last word holds: what takes longer than that is asked anew."""


@dataclass(slots=True, kw_only=True)
class Acting:
    """One plan being carried out."""

    context: Context
    item: Custom
    cluster: Cluster
    now: Snapshot
    expected: Expected
    refused: Refusals
    troubles: list[Cause] = field(default_factory=list)
    """What Slurm did not take, or what keeps workers that seem idle."""
    refusals: list[ClusterError] = field(default_factory=list)
    """What the cluster refused: it is raised in the end, and keeps nothing else from being done."""
    unfinished: bool = False
    """Something had changed since we looked. That need not bring anybody here: it may have been our own doing."""

    @property
    def node_set(self) -> NodeSet:
        """The NodeSet that it is about."""
        return self.now.node_set

    async def act(self, plan: Plan) -> None:
        """Do all of it: give back and drain before anything goes, so that Slurm is never surprised."""
        await self._give_back(plan.undrain)
        await self._drain(plan.drain)
        await self._try(abreast(plan.tend, self._tend))
        await self._try(abreast(plan.claims, self._claim))
        await self._try(self._create(plan.create))
        for name, wanted in plan.relabel.items():
            await self._try(self._relabel(name, wanted))
        await self._try(self._remove(plan.remove))

    async def _try(self, step: Awaitable[None]) -> None:
        try:
            await step
        except MENDABLE as error:
            self.refusals.append(error)

    async def _give_back(self, nodes: Collection[str]) -> None:
        """Undrain, after one more look: somebody may have made the drain their own a moment ago."""
        known = await self._nodes_now() if nodes else None
        still_ours = [name for name in nodes if known and name in known and is_our_drain(known[name])]
        await self._tell_slurm(still_ours, state=["UNDRAIN"], extra="")

    async def _drain(self, drains: Collection[Drain]) -> None:
        """Drain, all nodes that have one reason in one request; but none that a person drained a moment ago."""
        known = await self._nodes_since() if drains else {}
        by_reason: dict[str, list[str]] = {}
        for one in drains:
            node = known.get(one.node)
            if node is not None and (is_our_drain(node) or not node.condition.drain):
                by_reason.setdefault(one.why, []).append(one.node)
        for reason, nodes in by_reason.items():
            await self._tell_slurm(nodes, state=["DRAIN"], reason=reason, extra=MARK)

    async def _tell_slurm(self, nodes: Collection[str], **changes: object) -> None:
        if not nodes:
            return
        try:
            await self.context.slurm.change(self.cluster.controller, nodes, **changes)
        except SlurmError as error:
            # Nothing is lost: the next look finds the nodes as they are, and asks again.
            self.troubles.append(Cause("SlurmUnknown", str(error)))

    async def _create(self, seats: Collection[Create]) -> None:
        if not seats:
            return
        template, claims = WorkerTemplate(self.cluster, self.node_set, self.now.revision), Claims(self.now)

        async def make(one: Create) -> None:
            for body in claims.made_for(one.seat):
                await self._claim(body)
            try:
                await self._pod(template.pod(one.seat))
            except NameTaken as error:  # the other seats are free
                self.refusals.append(error)

        await abreast(seats, make)
        names = hostlist.compress(one.seat.pod_name or "" for one in seats)
        self.context.events.normal(CUSTOMS["NodeSet"], self.item, "WorkersMade", f"{len(seats)}: {names}")

    async def _claim(self, body: Json) -> None:
        with suppress(AlreadyExists):
            await self.context.cluster.create(CLAIMS, body)

    async def _tend(self, one: Tend) -> None:
        """Change a claim, unless it changed since we looked; what the cluster refuses is told and tried again later."""
        meta, size = one.claim.metadata, one.request
        if one.owners is not None and not await self._goes_along(one.claim):
            await self._change_claim(one.claim, one.owners)
        if size is None or self.refused.holds(meta.uid, size):
            return
        try:
            grown = {"spec": {"resources": {"requests": {"storage": size}}}}
            await self.context.cluster.patch(CLAIMS, meta.name, grown, namespace=meta.namespace)
            self.context.events.normal(CUSTOMS["NodeSet"], self.item, "ClaimGrows", f"{meta.name}: to {size}")
        except (Refused, Forbidden) as error:
            self.refused.note(meta.uid, size, f'claim "{meta.name}" cannot grow to {size}: {error}')
        except NotFound:
            return

    async def _goes_along(self, claim: Claim) -> bool:
        """Whether a claim was given to a worker that has gone by now, or is about to: it is not taken back.

        The watch may be behind with that, and a worker that seems to stay would keep what it was to take along.
        """
        meta = claim.metadata
        for owner in [one for one in meta.owner_references if one.kind == "Pod"]:
            if await fresh.has_left(self.context.cluster, meta.namespace, owner.name, owner.uid):
                return True
        return False

    async def _change_claim(self, claim: Claim, owners: Sequence[Json]) -> bool:
        """Give a claim its owners if it is still the one that we saw; tells whether it was."""
        meta = claim.metadata
        wanted = {"resourceVersion": meta.resource_version, "uid": meta.uid, "ownerReferences": [*owners]}
        try:
            await self.context.cluster.patch(CLAIMS, meta.name, {"metadata": wanted}, namespace=meta.namespace)
        except NotFound:
            return False
        except Conflict:
            self.unfinished = True
            return False
        return True

    async def _pod(self, body: Json) -> None:
        name = body["metadata"]["name"]
        with self.expected.making(self.node_set.metadata.namespace, name):
            try:
                await self.context.cluster.create(PODS, body)
            except AlreadyExists:
                await self._reclaim(name, body["metadata"]["labels"])

    async def _reclaim(self, name: str, wanted: Labels) -> None:
        """A pod of our name that the watch does not show: behind, or without its labels, or somebody else's."""
        try:
            there = await self.context.cluster.get(PODS, name, self.node_set.metadata.namespace)
        except NotFound:
            return
        if all(owner.uid != self.node_set.metadata.uid for owner in there.metadata.owner_references):
            raise NameTaken(f'Pod "{name}" exists and does not belong to this NodeSet; delete or rename it')
        lost = {label: text for label, text in wanted.items() if label not in there.metadata.labels}
        if lost:
            await self._relabel(name, lost)

    async def _relabel(self, name: str, lost: Mapping[str, str]) -> None:
        patch = {"metadata": {"labels": dict(lost)}}
        with suppress(NotFound):
            await self.context.cluster.patch(PODS, name, patch, namespace=self.node_set.metadata.namespace)

    async def _remove(self, removals: Collection[Remove]) -> None:
        """Delete workers; what Slurm says of them is asked last of all, and what people wish.

        Claims are given away for nothing but that, so Slurm is asked before and after.
        """
        if any(one.claims for one in removals):
            removals = await self._with_claims(await self._confirmed(removals))
        asked_at = asyncio.get_running_loop().time()
        allowed = await self._confirmed(removals)
        heard_at = asyncio.get_running_loop().time()
        if not allowed or not await self._is_still_wished():
            return
        if asyncio.get_running_loop().time() > heard_at + _BELIEVED:
            self.unfinished = True
            return
        allowed = self._uncontradicted(allowed, asked_at)
        gone: dict[str, list[str]] = {}

        async def delete(one: Remove) -> None:
            if await self._delete(one):
                gone.setdefault(one.why, []).append(one.pod.metadata.name)

        await abreast(allowed, delete)
        for why, names in gone.items():
            note = f"{hostlist.compress(names)}: {why}"
            self.context.events.normal(CUSTOMS["NodeSet"], self.item, "WorkersRemoved", note)

    def _uncontradicted(self, removals: Sequence[Remove], asked_at: float) -> list[Remove]:
        """Without those of whom somebody else who asked Slurm since then has heard something else."""
        known = self.context.slurm.nodes(self.cluster.controller)
        if known is None or known.at < asked_at:
            return [*removals]
        reports = [(one, known.nodes.get(slurm_node(self.node_set, one.pod))) for one in removals]
        sure = [one for one, report in reports if not one.drained or self._may_go(one, report)]
        self.unfinished |= len(sure) < len(removals)
        return sure

    async def _with_claims(self, removals: Sequence[Remove]) -> list[Remove]:
        """The same, with what goes along given to whoever it goes with; without those whom it cannot be given to."""
        along = [one for one in removals if one.claims]
        if not along or not await self._is_still_wished():
            return [one for one in removals if not one.claims]
        given = [one for one in await self._surplus(along) if await self._give_claims(one)]
        return [*(one for one in removals if not one.claims), *given]

    async def _is_still_wished(self) -> bool:
        """Whether the NodeSet says what it said when we looked: much can be taken back while Slurm is asked."""
        meta = self.node_set.metadata
        try:
            there = await self.context.cluster.get(CUSTOMS["NodeSet"], meta.name, meta.namespace)
        except NotFound:
            return False
        same = (there.metadata.uid, there.metadata.generation) == (meta.uid, self.item.metadata.generation)
        self.unfinished |= not same
        return same

    async def _surplus(self, along: Sequence[Remove]) -> Sequence[Remove]:
        """Without those who are needed after all, of workers that take their claims along for they are too many.

        Somebody may have deleted others, and the watch be behind with that. Counted once more only here: whoever goes
        and leaves its claims behind costs nothing, for it is made again with them.
        """
        if self.now.per_machine or not self.now.desired:
            return along
        meta = self.node_set.metadata
        pods = await fresh.pods(self.context.cluster, meta.namespace, labels.selector_text("slurmd", self.node_set))
        ours = (pod for pod in pods if any(owner.uid == meta.uid for owner in pod.metadata.owner_references))
        spare = max(sum(not pod.leaving for pod in ours) - self.now.desired, 0)
        return along[:spare]

    async def _give_claims(self, one: Remove) -> bool:
        """Give a worker the claims that go with it. If one of them changed a moment ago the worker has to wait.

        Also those that it seems to have: they may have been taken back, and the watch be behind with that.
        """
        claims = Claims(self.now)
        for claim in one.claims:
            if not await self._change_claim(claim, claims.handed_to(claim, one.pod)):
                return False
        return True

    async def _confirmed(self, removals: Collection[Remove]) -> list[Remove]:
        """Those of which Slurm says, at this moment, that nothing runs there; two questions for all of them.

        Who goes without its word goes.
        """
        allowed = [one for one in removals if not one.drained]
        named = {slurm_node(self.node_set, one.pod): one for one in removals if one.drained}
        # First the jobs, then the nodes: whoever is not drained any more may have got new ones.
        held = await self._suspended_on(named)
        known = await self._nodes_now() if named and held is not None else None
        if known is None or held is None:
            return allowed
        idle = {node: one for node, one in named.items() if self._may_go(one, known.get(node))}
        return [*allowed, *(one for node, one in idle.items() if node not in held)]

    async def _suspended_on(self, nodes: Collection[str]) -> list[str] | None:
        """Nodes that seem idle only because their jobs are suspended; None when Slurm does not tell."""
        if not nodes:
            return []
        try:
            held = await suspended.with_jobs(await self.context.slurm.client(self.cluster.controller), [*nodes])
        except SlurmError as error:
            self.troubles.append(Cause("SlurmUnknown", str(error)))
            return None
        self.unfinished |= bool(held)
        return held

    def _may_go(self, one: Remove, node: NodeReport | None) -> bool:
        return not self.now.has_served(one.pod) if node is None else node.condition.drained

    async def _nodes_since(self) -> Mapping[str, NodeReport]:
        """All nodes; Slurm tells them only if one has changed since it was last asked."""
        slurm, controller = self.context.slurm, self.cluster.controller
        await slurm.ask(controller)
        if (known := slurm.nodes(controller)) is not None:
            return known.nodes
        self.troubles.append(Cause("SlurmUnknown", slurm.trouble(controller)))
        return {}

    async def _nodes_now(self) -> Mapping[str, NodeReport] | None:
        try:
            return await self.context.slurm.nodes_now(self.cluster.controller)
        except SlurmError as error:
            self.troubles.append(Cause("SlurmUnknown", str(error)))
            return None

    async def _delete(self, one: Remove) -> bool:
        """Delete a worker, if it is still the one that we saw; tells whether it was."""
        meta = one.pod.metadata
        only_if = Preconditions(uid=meta.uid, resource_version=meta.resource_version)
        try:
            with self.expected.removing(one.pod, lambda: self.context.caches.pods.get(meta.name, meta.namespace)):
                await self.context.cluster.delete(PODS, meta.name, namespace=meta.namespace, only_if=only_if)
        except NotFound:
            return False
        except Conflict:
            # It changed since we looked: decide anew.
            self.unfinished = True
            return False
        return True
