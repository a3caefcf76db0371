"""One look at a NodeSet: observe, plan, act, tell."""

from __future__ import annotations

from dataclasses import replace

from penstock.api.nodeset import NodeSet, ScalingMode
from penstock.operator.caches import place
from penstock.operator.conditions import Cause
from penstock.operator.context import Context, Outcome
from penstock.operator.nodeset import machines
from penstock.operator.nodeset.act import Acting
from penstock.operator.nodeset.expected import FORGOTTEN_AFTER, Expected
from penstock.operator.nodeset.plan import SHORT_LIFE, Plan, plan, registering
from penstock.operator.nodeset.report import available_in, conditions, counts
from penstock.operator.nodeset.sightings import Sightings
from penstock.operator.nodeset.snapshot import Snapshot
from penstock.operator.references import cluster_of, missing
from penstock.operator.resources import Custom, Machine
from penstock.render import labels, worker, workers
from penstock.render.inventory import Cluster
from penstock.render.seat import machine_seat

_ORDER_AGAIN = 2.0
"""Seconds until Slurm is given an order once more."""


class NodeSets:
    """The reconciler of NodeSets."""

    def __init__(self, context: Context) -> None:
        self._expected = Expected()
        self._sightings = Sightings()
        context.caches.pods.subscribe(self._expected.shown)
        context.caches.pods.subscribe(self._sightings.shown)

    async def reconcile(self, context: Context, item: Custom, node_set: NodeSet) -> Outcome:
        """Bring the workers of a NodeSet a step closer to what it says."""
        inventory = await context.inventory(node_set.metadata.namespace)
        waits, cluster = missing(inventory, node_set), cluster_of(inventory, node_set)
        now = self._observe(context, node_set, cluster)
        if cluster is not None and len(now.there) > now.desired:
            # Who leaves is chosen by who is idle, and that changes fast.
            await context.slurm.ask_anew(cluster.controller)
            now = self._observe(context, node_set, cluster)
        if waits is not None or cluster is None:
            # What is there stays: without its Controller nobody can say whether a worker may go.
            return _told(context, item, now, Plan(), degraded=waits)
        await context.keep_only("NodeSet", item, worker.ssh_config(node_set))
        for body in workers.manifests(cluster):
            await context.owned.keep(body)
        decided = plan(now)
        acting = Acting(
            context=context, item=item, cluster=cluster, node_set=node_set, expected=self._expected,
            claims_there=now.claims,
        )  # fmt: skip
        await acting.act(decided)
        trouble = Cause("SlurmUnknown", acting.troubles[0]) if acting.troubles else None
        waiting = bool(decided.wait or decided.drain or decided.undrain or registering(now))
        key = ("NodeSet", node_set.metadata.namespace, node_set.metadata.name)
        context.wait_for_slurm(cluster.controller, key, waiting=waiting)
        told = _told(context, item, now, decided, degraded=trouble)
        if trouble is None:
            return told
        # An order that Slurm did not take changes nothing there, so nothing would have us look again.
        return replace(told, again=min(_ORDER_AGAIN, told.again or _ORDER_AGAIN))

    def _observe(self, context: Context, node_set: NodeSet, cluster: Cluster | None) -> Snapshot:
        meta, caches = node_set.metadata, context.caches
        known = context.slurm.nodes(cluster.controller) if cluster else None
        trouble = context.slurm.trouble(cluster.controller) if cluster else "its Controller is not there"
        takers, keepers = _machines(context, node_set, cluster)
        pods = tuple(caches.pods.by("owners", meta.uid))
        return Snapshot(
            node_set=node_set,
            pods=pods,
            young=self._sightings.within(SHORT_LIFE, (pod.metadata.uid for pod in pods if pod.ended)),
            expected=self._expected.among(meta.namespace, f"{meta.name}-"),
            claims={
                claim.metadata.name
                for claim in caches.claims.by("component", place(meta.namespace, labels.selector("slurmd", node_set)))
            },
            slurm=known.nodes if known else None,
            slurm_trouble=trouble,
            moment=context.now(),
            takers=takers,
            keepers=keepers,
        )


def _machines(
    context: Context, node_set: NodeSet, cluster: Cluster | None
) -> tuple[tuple[Machine, ...], frozenset[str]]:
    if cluster is None or node_set.spec.scaling_mode is not ScalingMode.DAEMON_SET:
        return (), frozenset()
    spec = worker.pod(cluster, node_set, machine_seat(None))["spec"]
    everywhere = sorted(context.caches.machines.all(), key=lambda machine: machine.metadata.name)
    takers = tuple(machine for machine in everywhere if machines.takes(machine, spec))
    return takers, frozenset(machine.metadata.name for machine in everywhere if machines.keeps(machine, spec))


def _told(context: Context, item: Custom, now: Snapshot, decided: Plan, *, degraded: Cause | None) -> Outcome:
    moment = context.now()
    due = [0.0] if decided.more else []
    due += [FORGOTTEN_AFTER] if now.expected else []
    due += [SHORT_LIFE] if any(pod.ended for pod in now.there) else []
    due += [seconds] if (seconds := available_in(now, moment)) is not None else []
    return Outcome(
        conditions=conditions(now, decided, degraded=degraded),
        status=counts(now, item.status, moment),
        again=min(due, default=None),
    )
