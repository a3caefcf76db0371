"""Controller: slurmctld, its configuration, its Services; and whether Slurm took the configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.api.controller import Controller
from penstock.operator import active, configuration, confinement, keyring, partitions, shared_root, static_nodes
from penstock.operator.conditions import Cause, summary
from penstock.operator.configuration import Findings
from penstock.operator.context import Context, Outcome
from penstock.operator.departure import of_controller
from penstock.operator.keyring import Rotation
from penstock.operator.partitions import Closing, Partitions
from penstock.operator.references import missing
from penstock.operator.resources import SERVICE_MONITORS, Custom, Pod
from penstock.operator.slurm import AT_REST
from penstock.operator.slurm_links import slurm_key
from penstock.operator.status import soonest
from penstock.operator.workloads import carries, health
from penstock.render import accounting as slurmdbd
from penstock.render import controller as render
from penstock.render import names
from penstock.render import shared_root as fill
from penstock.render.inventory import Cluster, Inventory
from penstock.render.reconfigure import fingerprint

_READ_BACK_AGAIN, _ASK_AGAIN = 2.0, 10.0
"""Seconds until slurmctld is asked once more for a partition that it should run by now, or did not tell about."""


async def reconcile(context: Context, kept: Partitions, item: Custom, controller: Controller) -> Outcome:
    """Keep slurmctld running, with the configuration that the kinds of its cluster come to."""
    meta = controller.metadata
    stay = await of_controller(context, item)
    if not stay.makes:
        return Outcome(conditions=[], again=stay.again)
    inventory = await context.inventory(meta.namespace)
    waits, rotation = missing(inventory, controller) or _spoilt(context, controller), keyring.AT_REST
    if waits is None:
        inventory, rotation = await keyring.tend(context, item, controller, inventory)
    cluster, closing, made = inventory.cluster(controller), None, None
    pods = context.caches.pods_of("slurmctld", controller)
    staying = [pod for pod in pods if not pod.leaving]
    waits = waits or rotation.degraded
    cluster = static_nodes.with_workers(context.caches, confinement.with_workers(context.caches, cluster))
    cluster, root = shared_root.with_workers(context.caches, cluster), shared_root.Tended()
    if waits is None:
        cluster, closing = await kept.keep(item, cluster, staying)
        made = render.configuration(cluster)
        waits = await _keep(context, item, inventory, cluster, made)
        root = await shared_root.tend(context, item, cluster)
    # Somebody in a hurry may have asked already: that is no reason not to ask from now on.
    context.look(slurm_key(controller), 0 if context.slurm.nodes(controller) is None else AT_REST)
    if controller.spec.external:
        elsewhere = summary(ready=None, progressing=stay.kept_by, degraded=waits, well="slurmctld runs elsewhere.")
        again = soonest(root.again, stay.again)
        return Outcome(conditions=[*elsewhere, *root.conditions], status=root.status, again=again)
    workload = context.caches.stateful_sets.get(names.controller(controller), meta.namespace)
    if controller.spec.replicas > 1:
        await active.mark(context, controller, staying)
    files = render.directory(cluster, made)
    found = await _configuration(context, cluster, staying, files, given=waits is None)
    told, under_way = configuration.conditions(found), stay.kept_by or rotation.progressing
    degraded = waits or next((Cause(one.reason, one.message) for one in told if one.status is False), None)
    return Outcome(
        conditions=[
            *health(workload, pods, daemon="slurmctld", degraded=degraded, progressing=under_way),
            *told,
            partitions.condition(closing),
            *root.conditions,
        ],
        status=root.status,
        again=soonest(_look_again(cluster, found, rotation, closing), root.again, stay.again),
    )


def _look_again(cluster: Cluster, found: Findings, rotation: Rotation, closing: Closing | None) -> float | None:
    asked = [
        _READ_BACK_AGAIN if found.missing_partitions else _ASK_AGAIN if found.unasked else None,
        active.ASK_AGAIN if cluster.controller.spec.replicas > 1 else None,
        confinement.LOOK_AGAIN if cluster.confined_workers or cluster.rootless_workers else None,
        static_nodes.LOOK_AGAIN if cluster.kept_nodes or cluster.dynamic_nodes else None,
        rotation.again,
        closing.again if closing else None,
    ]
    return soonest(*asked)


async def _configuration(
    context: Context, cluster: Cluster, pods: Sequence[Pod], files: Mapping[str, str], *, given: bool
) -> Findings:
    """Find out what became of the configuration; `given`: it is in the ConfigMap, so pods may look."""
    wanted = fingerprint(files)
    if given and cluster.controller.spec.reconfigures_in_place:
        await context.touch(pods, configuration.TOUCHED, wanted)
    reports = [context.reports.of(pod) for pod in pods]
    if any(one is None or one.fingerprint != wanted for one in reports):
        return Findings(wanted=wanted, reports=reports, files=files)
    gone, unasked = await context.slurm.missing_partitions(
        cluster.controller, frozenset(configuration.partitions_in(files["slurm.conf"])), of=wanted
    )
    return Findings(wanted=wanted, reports=reports, missing_partitions=gone, unasked=unasked, files=files)


def _spoilt(context: Context, controller: Controller) -> Cause | None:
    """A NodeSet that cannot be read must not fall out of slurm.conf: its partition, and its jobs, would go with it."""
    for (kind, _, name), invalid in context.caches.invalid(controller.metadata.namespace):
        if kind == "NodeSet":
            return Cause("NodeSetInvalid", f'NodeSet "{name}" cannot be used: {invalid.message}; mend or delete it')
    return None


async def _keep(
    context: Context, item: Custom, inventory: Inventory, cluster: Cluster, made: Mapping[str, str]
) -> Cause | None:
    objects = render.manifests(cluster, made)
    if not any(body["kind"] == SERVICE_MONITORS.kind for body in objects):
        place = (cluster.namespace, names.controller(cluster.controller))
        await context.owned.remove_unwatched(SERVICE_MONITORS, *place, owner=item.metadata.uid)
    waits = _database_first(context, inventory, cluster)
    filling = [fill.job(cluster)] if cluster.controller.spec.shared_root else []
    if waits is None:
        await context.keep_only("Controller", item, objects, also=filling)
        return None
    rest = [body for body in objects if body["kind"] != "StatefulSet"]
    later = [body for body in objects if body["kind"] == "StatefulSet"]
    await context.keep_only("Controller", item, rest, also=[*later, *filling])
    return waits


def _database_first(context: Context, inventory: Inventory, cluster: Cluster) -> Cause | None:
    """With new keys slurmdbd goes first: a slurmctld that it does not let in would not come up.

    That is the JWT key, and slurm.key where no ring takes its place. A ring rolls slurmctld only if it has backups.
    """
    accounting, namespace = cluster.accounting, cluster.namespace
    running = context.caches.stateful_sets.get(names.controller(cluster.controller), namespace)
    if accounting is None or accounting.spec.external or running is None:
        return None
    wanted, ours = render.key_hashes(cluster), running.spec.template.metadata.annotations
    if all(ours.get(name) == text for name, text in wanted.items()):
        return None
    rolled = context.caches.stateful_sets.get(names.accounting(accounting), namespace)
    if carries(rolled, slurmdbd.key_hashes(accounting, inventory.references)):
        return None
    return Cause("KeyRotation", f'waits until slurmdbd of Accounting "{accounting.metadata.name}" has the new keys')
