"""One plan being carried out: about whom it is, and what has come of it so far."""

from __future__ import annotations

from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import dataclass, field

from penstock.api.nodeset import NodeSet
from penstock.cluster.errors import ClusterError, NotFound
from penstock.cluster.resources import Meta
from penstock.operator import finalizer
from penstock.operator.conditions import Cause
from penstock.operator.context import MENDABLE, Context
from penstock.operator.nodeset.expected import Expected
from penstock.operator.nodeset.refusals import Refusals
from penstock.operator.nodeset.snapshot import Snapshot
from penstock.operator.resources import CUSTOMS, PODS, Custom
from penstock.operator.slurm import Known
from penstock.render.inventory import Cluster
from penstock.slurm.rest.errors import SlurmError


@dataclass(slots=True, kw_only=True)
class Errand:
    """What those who act share."""

    context: Context
    item: Custom
    cluster: Cluster
    now: Snapshot
    expected: Expected
    refused: Refusals
    troubles: list[Cause] = field(default_factory=list)
    """What Slurm did not say, or did not take."""
    refusals: list[ClusterError] = field(default_factory=list)
    """What the cluster refused: it is raised in the end, and keeps nothing else from being done."""
    unfinished: bool = False
    """Something had changed since we looked. That need not bring anybody here: it may have been our own doing."""
    more: bool = False
    """There was more to do than fits in one look."""

    @property
    def node_set(self) -> NodeSet:
        """The NodeSet that it is about."""
        return self.now.node_set

    async def attempt(self, step: Awaitable[object]) -> None:
        """Take a step; what only a person can mend is noted, and the next step taken."""
        try:
            await step
        except MENDABLE as error:
            self.refusals.append(error)

    def unanswered(self, error: SlurmError) -> None:
        """Note what Slurm did not answer. Nothing is lost: the next look finds its nodes as they are and asks again."""
        self.troubles.append(Cause("SlurmUnknown", str(error)))

    async def nodes_now(self) -> Known | None:
        """Slurm's nodes at this moment; None when it does not say."""
        try:
            return await self.context.slurm.nodes_now(self.cluster.controller)
        except SlurmError as error:
            self.unanswered(error)
            return None

    async def is_still_wished(self) -> bool:
        """Whether the NodeSet says what it said when we looked: much can be taken back while Slurm is asked."""
        seen = self.item.metadata
        try:
            there = (await self.context.cluster.get(CUSTOMS["NodeSet"], seen.name, seen.namespace)).metadata
        except NotFound:
            return False
        same = _wish(there) == _wish(seen) and not finalizer.leaves_orphans(there)
        self.unfinished |= not same
        return same

    async def has_its_own(self) -> bool:
        """The same, and whether a NodeSet that is deleted has its workers still: they may have been taken from it.

        Kubernetes has taken all of them when its finalizer goes, and the watch of pods may be behind: one is asked for.
        """
        if not await self.is_still_wished():
            return False
        if not self.now.deleting:
            return True
        meta = next(iter(self.now.there), self.now.pods[0]).metadata
        with suppress(NotFound):
            there = (await self.context.cluster.get(PODS, meta.name, meta.namespace)).metadata
            if any(owner.uid == self.node_set.metadata.uid for owner in there.owner_references):
                return True
        self.unfinished = True
        return False


def _wish(meta: Meta) -> tuple[object, ...]:
    # How a NodeSet is deleted, and which revision its workers have, are annotations.
    return meta.uid, meta.generation, meta.annotations, meta.deletion_timestamp
