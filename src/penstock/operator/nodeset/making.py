"""Making workers, with their claims before them. Names are given, so nobody is made twice."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from penstock.api.objects import Json, Labels
from penstock.cluster.errors import AlreadyExists, Conflict, NotFound
from penstock.cluster.resources import Meta
from penstock.operator import fresh
from penstock.operator.nodeset import tending
from penstock.operator.nodeset.abreast import abreast
from penstock.operator.nodeset.claims import Claims
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
    template, claims = WorkerTemplate(errand.cluster, now.node_set, now.revision), Claims(now)

    async def one_worker(one: Create) -> None:
        await tending.restore(errand, claims.made_for(one.seat))
        try:
            await _pod(errand, template.pod(one.seat))
        except NameTaken as error:
            errand.refusals.append(error)

    await abreast(seats, one_worker)
    names = hostlist.compress(one.seat.pod_name or "" for one in seats)
    errand.context.events.normal(CUSTOMS["NodeSet"], errand.item, "WorkersMade", f"{len(seats)}: {names}")


async def relabel(errand: Errand, worker: Meta, wanted: Mapping[str, str]) -> None:
    """Give a worker labels that it lacks."""
    patch = {"metadata": {"uid": worker.uid, "labels": dict(wanted)}}
    with fresh.unless_gone():
        await errand.context.cluster.patch(PODS, worker.name, patch, namespace=worker.namespace)


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
    lost = {label: text for label, text in wanted.items() if label not in there.metadata.labels}
    if lost:
        await relabel(errand, there.metadata, lost)
