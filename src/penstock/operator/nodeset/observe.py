"""Gathering what a plan is made from: one frozen snapshot of a NodeSet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime

from msgspec.structs import replace

from penstock.api.nodeset import NodeSet, ScalingMode
from penstock.operator.caches import place
from penstock.operator.context import Context
from penstock.operator.nodeset import machines
from penstock.operator.nodeset.course import Course
from penstock.operator.nodeset.expected import Expected
from penstock.operator.nodeset.plan import REGISTERS_IN, SHORT_LIFE
from penstock.operator.nodeset.rivals import Rival, names_of
from penstock.operator.nodeset.sightings import Sightings
from penstock.operator.nodeset.snapshot import REGISTERED, Snapshot, ordinal
from penstock.operator.resources import Custom, Machine, Pod
from penstock.operator.status import stamp
from penstock.render import labels, names, worker
from penstock.render.inventory import Cluster
from penstock.render.seat import machine_seat


@dataclass(frozen=True, slots=True)
class Observer:
    """What is known beside the caches: of workers that we made or deleted, and of when we first saw them."""

    expected: Expected
    sightings: Sightings

    async def fresh(self, context: Context, item: Custom, course: Course, cluster: Cluster | None) -> Snapshot:
        """How things are; asked of Slurm anew when somebody has to be chosen to leave."""
        await self.expected.settle(context.cluster)
        now = self.observe(context, item, course, cluster)
        if cluster is None or (len(now.there) <= now.desired and all(map(now.is_current, now.there))):
            return now
        # Who leaves is chosen by who is idle, and that changes fast.
        await context.slurm.ask_anew(cluster.controller)
        return self.observe(context, item, course, cluster)

    def observe(self, context: Context, item: Custom, course: Course, cluster: Cluster | None) -> Snapshot:
        """How things are, as far as we know."""
        node_set, caches, slurm = course.node_set, context.caches, context.slurm
        meta = node_set.metadata
        known = slurm.nodes(cluster.controller) if cluster else None
        takers, keepers = _machines(context, node_set, cluster)
        pods = _with_departures(caches.pods.by("owners", meta.uid), self.expected.gone(), context.now())
        claims = caches.claims.by("component", place(meta.namespace, labels.selector("slurmd", node_set)))
        return Snapshot(
            node_set=node_set,
            pods=pods,
            orphans=() if item.metadata.deletion_timestamp else tuple(_orphans(context, node_set)),
            served=self.sightings.ready(pod.metadata.uid for pod in pods if pod.ready_since is None),
            beginning=self.sightings.beginning(REGISTERS_IN, (pod.metadata.uid for pod in pods if not _known(pod))),
            young=self.sightings.within(SHORT_LIFE, (pod.metadata.uid for pod in pods if pod.ended)),
            expected=self.expected.among(meta.namespace, f"{meta.name}-"),
            rivals=_rivals(context, node_set, cluster, takers),
            claims={claim.metadata.name: claim for claim in claims},
            machines={machine.metadata.name: machine for machine in caches.machines.all()},
            machines_before=item.status.get("ordinalToNode") or {},
            told_conditions=context.propagated_node_conditions,
            slurm=known.nodes if known else None,
            slurm_time=slurm.time(cluster.controller) if cluster else None,
            slurm_silence=slurm.silence(cluster.controller) if cluster else None,
            slurm_trouble=slurm.trouble(cluster.controller) if cluster else "its Controller is not there",
            moment=context.now(),
            takers=takers,
            keepers=keepers,
            deleting=item.metadata.deletion_timestamp is not None,
            newest=course.newest,
            rolls=course.rolls,
            makes=course.makes,
        )


def _orphans(context: Context, node_set: NodeSet) -> Iterator[Pod]:
    """Workers whose NodeSet was deleted without them, and made again: as a StatefulSet does, it takes them over."""
    for pod in context.caches.pods_of("slurmd", node_set):
        owned = any(owner.controller for owner in pod.metadata.owner_references)
        if not owned and not pod.leaving and pod.metadata.name == _name_of_seat(node_set, pod):
            yield pod


def _name_of_seat(node_set: NodeSet, pod: Pod) -> str:
    """What a worker in the place of a pod is called; somebody's copy of one has another name, and is theirs."""
    if node_set.spec.scaling_mode is ScalingMode.DAEMON_SET:
        return names.machine_worker(node_set, pod.spec.node_name)
    return names.worker(node_set, ordinal(pod)) if ordinal(pod) >= 0 else ""


def _known(pod: Pod) -> bool:
    """Whether a worker was ready when we last looked, or Slurm has known it: it does not begin any more."""
    return pod.ready_since is not None or any(one.type == REGISTERED for one in pod.status.conditions)


def _with_departures(pods: Iterable[Pod], gone: AbstractSet[str], now: datetime) -> tuple[Pod, ...]:
    """The pods of a NodeSet; those that we deleted leave, whatever the watch shows."""
    if not gone:
        return tuple(pods)
    return tuple(_departing(pod, now) if pod.metadata.uid in gone and not pod.leaving else pod for pod in pods)


def _departing(pod: Pod, now: datetime) -> Pod:
    return replace(pod, metadata=replace(pod.metadata, deletion_timestamp=stamp(now)))


def _rivals(
    context: Context, node_set: NodeSet, cluster: Cluster | None, takers: Iterable[Machine]
) -> Mapping[str, str]:
    """Whose the Slurm nodes are that are not ours; asked only where machines give them their names."""
    if cluster is None or node_set.spec.scaling_mode is not ScalingMode.DAEMON_SET:
        return {}
    others = [one for one in cluster.node_sets if one.metadata.name != node_set.metadata.name]
    return names_of([_rival(context, cluster, one, node_set) for one in others], takers)


def _rival(context: Context, cluster: Cluster, other: NodeSet, node_set: NodeSet) -> Rival:
    spec = worker.pod(cluster, other, machine_seat(None))["spec"]
    elder = _age(context, other) < _age(context, node_set) and not _goes(context, other)
    pods = context.caches.pods_of("slurmd", other)
    return Rival(other, pods, elder, lambda machine: machines.takes(machine, spec))


def _goes(context: Context, node_set: NodeSet) -> bool:
    """Whether a NodeSet is deleted: it has what it has, and makes nothing any more."""
    meta = node_set.metadata
    item = context.caches.find(("NodeSet", meta.namespace, meta.name))
    return item is None or item.metadata.deletion_timestamp is not None


def _age(context: Context, node_set: NodeSet) -> tuple[str, str]:
    meta = node_set.metadata
    item = context.caches.find(("NodeSet", meta.namespace, meta.name))
    return (item.metadata.creation_timestamp if item else "", meta.name)


def _machines(
    context: Context, node_set: NodeSet, cluster: Cluster | None
) -> tuple[tuple[Machine, ...], frozenset[str]]:
    """Machines that may take a worker, and the names of those that may keep theirs; where somebody wants to know."""
    matters = node_set.spec.scaling_mode is ScalingMode.DAEMON_SET or node_set.spec.pin_to_node
    if cluster is None or not matters:
        return (), frozenset()
    spec = worker.pod(cluster, node_set, machine_seat(None))["spec"]
    everywhere = sorted(context.caches.machines.all(), key=lambda machine: machine.metadata.name)
    takers = tuple(machine for machine in everywhere if machines.takes(machine, spec))
    return takers, frozenset(machine.metadata.name for machine in everywhere if machines.keeps(machine, spec))
