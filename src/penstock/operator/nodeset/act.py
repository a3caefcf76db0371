"""Doing what a plan says. Each step can be done twice, and each removal is checked once more at the last moment."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

from penstock.api.nodeset import NodeSet, Retention
from penstock.api.objects import Json, Labels
from penstock.cluster.errors import AlreadyExists, Conflict, NotFound
from penstock.cluster.port import Preconditions
from penstock.operator.context import Context
from penstock.operator.nodeset.expected import Expected
from penstock.operator.nodeset.plan import SCALE_IN, Create, Plan, Remove, is_our_drain
from penstock.operator.nodeset.snapshot import claim_names, slurm_node
from penstock.operator.nodeset.templates import WorkerTemplate
from penstock.operator.owned import NameTaken
from penstock.operator.resources import CLAIMS, CUSTOMS, PODS, Custom
from penstock.render import labels
from penstock.render.claims import claims
from penstock.render.inventory import Cluster
from penstock.render.seat import Seat
from penstock.slurm import hostlist
from penstock.slurm.rest.errors import SlurmError
from penstock.slurm.rest.messages import NodeReport

T = TypeVar("T")

_AT_ONCE = 32
"""Requests under way at a time."""


@dataclass(slots=True, kw_only=True)
class Acting:
    """One plan being carried out."""

    context: Context
    item: Custom
    cluster: Cluster
    node_set: NodeSet
    expected: Expected
    claims_there: Collection[str]
    troubles: list[str] = field(default_factory=list)

    async def act(self, plan: Plan) -> None:
        """Do all of it: give back and drain before anything goes, so that Slurm is never surprised."""
        await self._give_back(plan.undrain)
        await self._tell_slurm([one.node for one in plan.drain], state=["DRAIN"], reason=SCALE_IN, extra=SCALE_IN)
        await self._create(plan.create)
        for pod in plan.relabel:
            await self._relabel(pod.metadata.name, {labels.CLUSTER: self.node_set.spec.controller_ref.name})
        await self._remove(plan.remove)

    async def _give_back(self, nodes: Collection[str]) -> None:
        """Undrain, after one more look: somebody may have made the drain their own a moment ago."""
        known = await self._nodes_now() if nodes else None
        still_ours = [name for name in nodes if known and name in known and is_our_drain(known[name])]
        await self._tell_slurm(still_ours, state=["UNDRAIN"], extra="")

    async def _tell_slurm(self, nodes: Collection[str], **changes: object) -> None:
        if not nodes:
            return
        try:
            await self.context.slurm.change(self.cluster.controller, nodes, **changes)
        except SlurmError as error:
            # Nothing is lost: the next look finds the nodes as they are, and asks again.
            self.troubles.append(str(error))

    async def _create(self, seats: Collection[Create]) -> None:
        if not seats:
            return
        template = WorkerTemplate(self.cluster, self.node_set)

        async def make(one: Create) -> None:
            await self._claims(one.seat)
            await self._pod(template.pod(one.seat))

        await _side_by_side(seats, make)
        names = hostlist.compress(one.seat.pod_name or "" for one in seats)
        self.context.events.normal(CUSTOMS["NodeSet"], self.item, "WorkersMade", f"{len(seats)}: {names}")

    async def _claims(self, one: Seat) -> None:
        if not self.node_set.spec.volume_claim_templates:
            return
        owner = self.node_set.spec.persistent_volume_claim_retention_policy.when_deleted is Retention.DELETE
        for name, body in zip(claim_names(self.node_set, one), claims(self.node_set, one), strict=True):
            if name in self.claims_there:
                continue
            if owner:
                body["metadata"]["ownerReferences"] = [labels.owned(self.node_set)]
            try:
                await self.context.cluster.create(CLAIMS, body)
            except AlreadyExists:
                continue

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

    async def _relabel(self, name: str, lost: Labels) -> None:
        patch = {"metadata": {"labels": lost}}
        with suppress(NotFound):
            await self.context.cluster.patch(PODS, name, patch, namespace=self.node_set.metadata.namespace)

    async def _remove(self, removals: Collection[Remove]) -> None:
        allowed = [one for one in removals if not one.drained]
        allowed += await self._confirmed([one for one in removals if one.drained])
        await _side_by_side(allowed, self._delete)

    async def _confirmed(self, removals: Collection[Remove]) -> list[Remove]:
        """Those of which Slurm says, at this moment, that nothing runs there; one question for all of them."""
        known = await self._nodes_now() if removals else None
        if known is None:
            return []
        return [one for one in removals if _may_go(one, known.get(slurm_node(self.node_set, one.pod)))]

    async def _nodes_now(self) -> Mapping[str, NodeReport] | None:
        try:
            return await self.context.slurm.nodes_now(self.cluster.controller)
        except SlurmError as error:
            self.troubles.append(str(error))
            return None

    async def _delete(self, one: Remove) -> None:
        meta = one.pod.metadata
        only_if = Preconditions(uid=meta.uid, resource_version=meta.resource_version)
        try:
            await self.context.cluster.delete(PODS, meta.name, namespace=meta.namespace, only_if=only_if)
        except (NotFound, Conflict):
            # It changed since we looked: decide anew.
            return
        self.context.events.normal(CUSTOMS["NodeSet"], self.item, "WorkerRemoved", f"{meta.name}: {one.why}")


async def _side_by_side(items: Collection[T], work: Callable[[T], Awaitable[None]]) -> None:
    """Do something for each, some at a time. When one is refused the rest is not even tried."""

    async def some() -> None:
        for one in waiting:
            await work(one)

    waiting = iter(items)
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(_AT_ONCE, len(items))):
                group.create_task(some())
    except ExceptionGroup as errors:
        # Many requests fail for one reason: the first error tells it.
        raise _first(errors) from None


def _first(errors: ExceptionGroup[Exception]) -> Exception:
    error = errors.exceptions[0]
    return _first(error) if isinstance(error, ExceptionGroup) else error


def _may_go(one: Remove, node: NodeReport | None) -> bool:
    if node is None:
        return one.pod.ready_since is None
    return node.condition.drained
