"""What every reconciler works with, and what it comes to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from penstock.api.controller import Controller
from penstock.api.kinds import Kind
from penstock.api.nodeset import NodeSet
from penstock.api.objects import Json
from penstock.cluster.errors import ClusterError, Failing, Forbidden, NotFound, Refused
from penstock.cluster.events import Recorder
from penstock.cluster.port import Cluster
from penstock.operator.caches import Caches
from penstock.operator.conditions import Condition
from penstock.operator.contents import Contents
from penstock.operator.customs import Key
from penstock.operator.metrics import Metrics
from penstock.operator.nodeset.course import course
from penstock.operator.nodeset.revisions import pin
from penstock.operator.owned import KindMissing, NameTaken, Owned
from penstock.operator.reports import Reports
from penstock.operator.resources import CUSTOMS, PODS, Custom, Pod
from penstock.operator.slurm import IN_A_HURRY, Slurm
from penstock.operator.status import Now
from penstock.operator.triggers import Look
from penstock.render.inventory import Inventory
from penstock.render.names import Domain

MENDABLE = (Refused, Forbidden, NameTaken, KindMissing, Failing)
"""What a person has to mend: it is told in the object's conditions, and tried again later and later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a look at an object came to: what to tell, and when to look again though nothing happened."""

    conditions: Sequence[Condition]
    status: Mapping[str, object] = field(default_factory=dict)
    again: float | None = None
    """Seconds; None when only a change makes a new look worth while."""
    refused: ClusterError | None = None
    """What the cluster did not take, though the rest was done; it is tried again later and later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The cluster, what is known of it, and the ways to change it."""

    cluster: Cluster
    caches: Caches
    contents: Contents
    owned: Owned
    events: Recorder
    slurm: Slurm
    reports: Reports
    metrics: Metrics
    domain: Domain
    now: Now
    look: Look
    propagated_node_conditions: frozenset[str] = frozenset()
    """Conditions of machines that Slurm is told as the reason of a drain."""

    async def inventory(self, namespace: str) -> Inventory:
        """All usable objects of a namespace, and what they refer to."""
        kinds = [*map(self._followed, self.caches.kinds(namespace))]
        references = await self.contents.references(kinds)
        return Inventory.of(kinds, references=references, domain=self.domain)

    def _followed(self, kind: Kind) -> Kind:
        """A NodeSet as its workers have it: slurm.conf is written for these, not for a spec that they do not follow."""
        if not isinstance(kind, NodeSet) or not pin(kind):
            return kind
        uid = kind.metadata.uid
        return course(kind, [*self.caches.revisions.by("owners", uid)], self.caches.pods.by("owners", uid)).node_set

    async def keep_only(self, kind: str, item: Custom, wanted: Sequence[Json], *, also: Sequence[Json] = ()) -> None:
        """Make the objects of an owner so, and delete those that it does not want any more.

        `also` stays as it is, whether there or not. What is refused keeps the others from nothing; it is raised at the
        end.
        """
        refused: list[ClusterError] = []
        for body in wanted:
            try:
                if await self.owned.keep(body):
                    note = f"{body['kind']} {body['metadata']['name']}"
                    self.events.normal(CUSTOMS[kind], item, "Applied", note)
            except MENDABLE as error:
                refused.append(error)
        if refused:
            raise refused[0]
        for place in await self.owned.prune(item.metadata.uid, [*wanted, *also]):
            self.events.normal(CUSTOMS[kind], item, "Deleted", f"{place[0]} {place[2]}: no longer asked for")

    async def touch(self, pods: Iterable[Pod], annotation: str, text: str) -> None:
        """Give pods an annotation, so that kubelet looks at their volumes at once and not in a minute."""
        patch = {"metadata": {"annotations": {annotation: text}}}
        for pod in pods:
            if pod.metadata.annotations.get(annotation) != text:
                with suppress(NotFound):
                    await self.cluster.patch(PODS, pod.metadata.name, patch, namespace=pod.metadata.namespace)

    def wait_for_slurm(self, controller: Controller, who: Key, *, waiting: bool) -> None:
        """Have Slurm asked every second while `who` waits for its nodes to change."""
        key = self.slurm.waits(controller, who, waiting=waiting)
        if waiting:
            self.look(key, IN_A_HURRY)
