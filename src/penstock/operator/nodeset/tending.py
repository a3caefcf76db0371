"""Making and changing claims: whose they are, and how large. What `claims` decides is done here."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress

from penstock.api.objects import Json
from penstock.cluster.errors import AlreadyExists, Conflict, Forbidden, NotFound, Refused
from penstock.cluster.port import Cluster
from penstock.operator import fresh
from penstock.operator.nodeset.abreast import abreast
from penstock.operator.nodeset.errand import Errand
from penstock.operator.nodeset.steps import Tend
from penstock.operator.resources import CLAIMS, CUSTOMS, Claim


async def restore(errand: Errand, bodies: Collection[Json]) -> None:
    """Make claims that are not there."""

    async def one_claim(body: Json) -> None:
        with suppress(AlreadyExists):
            await errand.context.cluster.create(CLAIMS, body)

    await abreast(bodies, one_claim)


async def tend(errand: Errand, tended: Collection[Tend]) -> None:
    """Change claims, unless they changed since we looked; what the cluster refuses is told and tried again later."""

    async def one_claim(one: Tend) -> None:
        if one.owners is not None and not await _goes_along(errand.context.cluster, one.claim):
            await give(errand, one.claim, one.owners)
        if one.request is not None and not errand.refused.holds(one.claim.metadata.uid, one.request):
            await _grow(errand, one.claim, one.request)

    await abreast(tended, one_claim)


async def give(errand: Errand, claim: Claim, owners: Sequence[Json]) -> bool:
    """Give a claim its owners if it is still the one that we saw; tells whether it was."""
    try:
        await _own(errand.context.cluster, claim, owners)
    except NotFound:
        return False
    except Conflict:
        errand.unfinished = True
        return False
    return True


async def settle(cluster: Cluster, tended: Iterable[Tend]) -> bool:
    """Give claims their owners, before their NodeSet goes and takes those along that it has; tells whether any changed.

    `Conflict` when one changed since we looked.
    """
    changed = False
    for one in tended:
        if one.owners is None or await _goes_along(cluster, one.claim):
            continue
        changed = True
        with suppress(NotFound):
            await _own(cluster, one.claim, one.owners)
    return changed


async def _own(cluster: Cluster, claim: Claim, owners: Sequence[Json]) -> None:
    meta = claim.metadata
    wanted = {"resourceVersion": meta.resource_version, "uid": meta.uid, "ownerReferences": [*owners]}
    await cluster.patch(CLAIMS, meta.name, {"metadata": wanted}, namespace=meta.namespace)


async def _grow(errand: Errand, claim: Claim, size: str) -> None:
    meta = claim.metadata
    try:
        with fresh.unless_gone():
            grown = {"metadata": {"uid": meta.uid}, "spec": {"resources": {"requests": {"storage": size}}}}
            await errand.context.cluster.patch(CLAIMS, meta.name, grown, namespace=meta.namespace)
            errand.context.events.normal(CUSTOMS["NodeSet"], errand.item, "ClaimGrows", f"{meta.name}: to {size}")
    except (Refused, Forbidden) as error:
        errand.refused.note(meta.uid, size, f'claim "{meta.name}" cannot grow to {size}: {error}')


async def _goes_along(cluster: Cluster, claim: Claim) -> bool:
    """Whether a claim was given to a worker that has gone by now, or is about to: it is not taken back.

    The watch may be behind with that, and a worker that seems to stay would keep what it was to take along.
    """
    meta = claim.metadata
    for owner in [one for one in meta.owner_references if one.kind == "Pod"]:
        if await fresh.has_left(cluster, meta.namespace, owner.name, owner.uid):
            return True
    return False
