"""One plan being carried out: about whom it is, and what has come of it so far."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, field

from penstock.api.nodeset import NodeSet
from penstock.cluster.errors import ClusterError, NotFound
from penstock.operator.conditions import Cause
from penstock.operator.context import MENDABLE, Context
from penstock.operator.nodeset.expected import Expected
from penstock.operator.nodeset.refusals import Refusals
from penstock.operator.nodeset.snapshot import Snapshot
from penstock.operator.resources import CUSTOMS, Custom
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

    async def attempt(self, step: Awaitable[None]) -> None:
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
        # How a NodeSet is deleted, and which revision its workers have, are annotations.
        same = (there.uid, there.generation, there.annotations) == (seen.uid, seen.generation, seen.annotations)
        self.unfinished |= not same
        return same
