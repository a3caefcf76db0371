"""Making and changing claims: whose they are, and how large. What `claims` decides is done here.

A claim of a worker's name may be there though the watch does not show it: it is watched by its labels, and people
restore claims from snapshots, make them beforehand, or take labels away. Then it is labelled, if it is nobody else's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress

from penstock.api.objects import Json, Labels
from penstock.cluster.errors import AlreadyExists, Conflict, Forbidden, NotFound, Refused
from penstock.cluster.port import Cluster
from penstock.operator import fresh
from penstock.operator.nodeset.abreast import abreast
from penstock.operator.nodeset.claims import Claims
from penstock.operator.nodeset.errand import Errand
from penstock.operator.nodeset.snapshot import claim_names
from penstock.operator.nodeset.steps import Tend
from penstock.operator.owned import NameTaken
from penstock.operator.resources import CLAIMS, CUSTOMS, Claim
from penstock.render import labels
from penstock.render.seat import Seat

_NAME, _LABELS = "its name", "its labels"
"""What we asked of a claim that is refused to us."""


async def restore(errand: Errand, bodies: Collection[Json]) -> bool:
    """Make claims that are not there; tells whether a worker can use them all. One that is taken keeps no other."""
    unusable = list[str]()

    async def one_claim(body: Json) -> None:
        if not await _there(errand, body):
            unusable.append(body["metadata"]["name"])

    await abreast(bodies, one_claim)
    return not unusable


async def provide(errand: Errand, one: Seat) -> bool:
    """See to it that a seat has its claims, before its worker is made; tells whether it has.

    One that went with the worker before may seem to be ours still, where the watch is behind: whoever were made upon it
    would lose what it writes there. So it is asked for.
    """
    claims = Claims(errand.now)
    known = [name for name in claim_names(errand.node_set, one) if name in errand.now.claims]
    usable = [await _is_usable(errand, claims, name) for name in known]
    return all(usable) and await restore(errand, claims.made_for(one))


async def _is_usable(errand: Errand, claims: Claims, name: str) -> bool:
    with suppress(NotFound):
        claim = await errand.context.cluster.get(CLAIMS, name, errand.node_set.metadata.namespace)
        if not claims.doom(claim) and not claims.whose(claim):
            return True
    errand.unfinished = True
    return False


async def tend(errand: Errand, tended: Collection[Tend]) -> None:
    """Change claims, unless they changed since we looked; what the cluster refuses is told and tried again later.

    One that has no owner is given to its NodeSet, but not if that is deleted without its claims, a moment ago perhaps.
    """
    if any(one.owners and not one.claim.metadata.owner_references for one in tended) and not await errand.has_its_own():
        return

    async def one_claim(one: Tend) -> None:
        if one.owners is not None and not await _goes_along(errand.context.cluster, one.claim):
            await give(errand, one.claim, one.owners)
        if one.request is not None and not errand.refused.holds(one.claim.metadata.uid, one.request):
            await _grow(errand, one.claim, one.request)

    await abreast(tended, one_claim)


async def _there(errand: Errand, body: Json) -> bool:
    """Make a claim, or take in the one that has its name; tells whether a worker can use it."""
    place = _place(body)
    if words := errand.refused.words(place, _NAME):
        errand.refusals.append(NameTaken(words))
        return False
    if words := errand.refused.words(place, _LABELS):
        errand.refusals.append(Refused(words))
        return True
    try:
        await errand.context.cluster.create(CLAIMS, body)
    except AlreadyExists:
        return await _reclaim(errand, body)
    return True


async def _reclaim(errand: Errand, body: Json) -> bool:
    """A claim of our name that the watch does not show. Where we may not label it, its worker has it all the same."""
    try:
        return await _take_in(errand, body)
    except NameTaken as error:
        errand.refused.note(_place(body), _NAME, str(error))
        errand.refusals.append(error)
        return False
    except (Refused, Forbidden) as error:
        name, its = body["metadata"]["name"], labels.selector("slurmd", errand.node_set).items()
        cure = f"kubectl label pvc {name} {' '.join(f'{label}={text}' for label, text in its)}"
        words = f'claim "{name}" lacks labels, without which it neither grows nor goes: {error}; try: {cure}'
        errand.refused.note(_place(body), _LABELS, words)
        errand.refusals.append(Refused(words))
        return True


async def _take_in(errand: Errand, body: Json) -> bool:
    """The watch is behind, or the claim without its labels, or somebody else's; tells whether a worker can use it."""
    meta, claims = body["metadata"], Claims(errand.now)
    try:
        claim = await errand.context.cluster.get(CLAIMS, meta["name"], meta["namespace"])
    except NotFound:
        errand.unfinished = True
        return False
    if words := claims.whose(claim):
        raise NameTaken(words)
    lost = {label: text for label, text in meta["labels"].items() if label not in claim.metadata.labels}
    if lost:
        await _label(errand, claim, lost)
    doomed = bool(claims.doom(claim))
    errand.unfinished |= doomed
    return not doomed


async def _label(errand: Errand, claim: Claim, lost: Labels) -> None:
    """Give a claim labels that it lacks, if nobody changed it a moment ago: it may be somebody else's by now."""
    meta = claim.metadata
    patch = {"metadata": {"uid": meta.uid, "resourceVersion": meta.resource_version, "labels": lost}}
    try:
        with fresh.unless_gone():
            await errand.context.cluster.patch(CLAIMS, meta.name, patch, namespace=meta.namespace)
    except Conflict:
        errand.unfinished = True


def _place(body: Json) -> str:
    return f"{body['metadata']['namespace']}/{body['metadata']['name']}"


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
