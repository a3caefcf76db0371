"""Making workers, with their claims before them. Names are given, so nobody is made twice."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from penstock.api.nodeset import NodeSet
from penstock.api.objects import Json, Labels
from penstock.cluster.errors import AlreadyExists, Conflict, NotFound
from penstock.cluster.port import Cluster
from penstock.cluster.resources import Meta
from penstock.operator import fresh, registration
from penstock.operator.nodeset import tending
from penstock.operator.nodeset.abreast import abreast
from penstock.operator.nodeset.errand import Errand
from penstock.operator.nodeset.steps import Create
from penstock.operator.nodeset.templates import WorkerTemplate
from penstock.operator.owned import NameTaken
from penstock.operator.resources import CUSTOMS, PODS
from penstock.render import labels
from penstock.slurm import hostlist


async def make(errand: Errand, seats: Collection[Create]) -> None:
    """Make the workers of some seats. One whose name is taken keeps no other from being made."""
    if not seats:
        return
    now = errand.now
    template, made = WorkerTemplate(errand.cluster, now.node_set, now.revision), list[str]()

    async def one_worker(one: Create) -> None:
        if not await tending.provide(errand, one.seat):
            return
        try:
            await _pod(errand, template.pod(one.seat))
        except NameTaken as error:
            errand.refusals.append(error)
        else:
            made.append(one.seat.pod_name or "")

    await abreast(seats, one_worker)
    if made:
        names = hostlist.compress(made)
        errand.context.events.normal(CUSTOMS["NodeSet"], errand.item, "WorkersMade", f"{len(made)}: {names}")


async def relabel(errand: Errand, worker: Meta, wanted: Mapping[str, str]) -> None:
    """Give a worker labels that it lacks."""
    await _label(errand.context.cluster, worker, wanted)


async def recover(cluster: Cluster, node_set: NodeSet) -> bool:
    """Give a NodeSet's workers the labels back by which they are seen, for who is not would go with it, jobs and all.

    Asked of all pods of the namespace, and so only before it goes. Tells whether there were any.
    """
    meta, wanted = node_set.metadata, labels.selector("slurmd", node_set)
    pods = [pod.metadata for pod in await fresh.pods(cluster, meta.namespace, "")]
    unseen = [pod for pod in pods if any(owner.uid == meta.uid for owner in pod.owner_references)]
    for pod in unseen:
        if wanted.items() - pod.labels.items():
            await _label(cluster, pod, wanted)
    return bool(unseen)


async def adopt(errand: Errand, orphan: Meta) -> None:
    """Take over a worker of ours that lost its owner, as it runs: if nobody else has, or changed it a moment ago."""
    owners = [*map(msgspec.to_builtins, orphan.owner_references), labels.owned(errand.node_set)]
    patch = {"metadata": {"uid": orphan.uid, "resourceVersion": orphan.resource_version, "ownerReferences": owners}}
    try:
        with fresh.unless_gone():
            await errand.context.cluster.patch(PODS, orphan.name, patch, namespace=orphan.namespace)
            errand.context.events.normal(CUSTOMS["NodeSet"], errand.item, "WorkerAdopted", orphan.name)
    except Conflict:
        errand.unfinished = True


async def _label(cluster: Cluster, worker: Meta, wanted: Mapping[str, str]) -> None:
    patch = {"metadata": {"uid": worker.uid, "labels": dict(wanted)}}
    with fresh.unless_gone():
        await cluster.patch(PODS, worker.name, patch, namespace=worker.namespace)


async def _pod(errand: Errand, body: Json) -> None:
    name = body["metadata"]["name"]
    with errand.expected.making(errand.node_set.metadata.namespace, name):
        try:
            await errand.context.cluster.create(PODS, body)
        except AlreadyExists:
            await _reclaim(errand, name, body["metadata"]["labels"])


async def _reclaim(errand: Errand, name: str, wanted: Labels) -> None:
    """A pod of our name that the watch does not show: behind, or without its labels, or somebody else's."""
    meta = errand.node_set.metadata
    try:
        there = await errand.context.cluster.get(PODS, name, meta.namespace)
    except NotFound:
        return
    if all(owner.uid != meta.uid for owner in there.metadata.owner_references):
        raise NameTaken(f'Pod "{name}" exists and does not belong to this NodeSet; delete or rename it')
    lost = registration.restored({label: text for label, text in wanted.items() if label not in there.metadata.labels})
    if lost:
        await relabel(errand, there.metadata, lost)
