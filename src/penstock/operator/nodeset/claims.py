"""The claims of workers: whose they are, how large, and which are missing. Pure.

A claim holds a person's data. It goes with its worker only when the NodeSet shrinks and `whenScaled` says so: then, and
only in the moment in which a drained worker is deleted, it is given to the pod, and Kubernetes collects it after the
pod. A worker that goes for any other reason takes nothing along, and one that stays after all gives its claims back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter

from penstock.api.nodeset import Retention
from penstock.api.objects import Json
from penstock.api.scalars import Quantity, ScalarError
from penstock.cluster.resources import OwnerReference
from penstock.operator.nodeset.snapshot import Snapshot, claim_names, ordinal
from penstock.operator.nodeset.steps import Cause, Leaving, Tend
from penstock.operator.resources import Claim, Pod
from penstock.render import labels, names
from penstock.render.claims import claims as rendered
from penstock.render.seat import Seat, machine_seat, seat


@dataclass(frozen=True)
class Claims:
    """The claims of a NodeSet, and what its policy wants of them."""

    now: Snapshot
    _well: set[int] = field(default_factory=set, init=False, repr=False)
    """Owners that need no second look: the claims of thousands of workers share theirs."""

    @cached_property
    def _pods(self) -> Mapping[str, Pod]:
        return {pod.metadata.uid: pod for pod in self.now.pods}

    @cached_property
    def _base(self) -> list[Json]:
        """Who owns a claim while nobody leaves."""
        policy = self.now.node_set.spec.persistent_volume_claim_retention_policy
        return [labels.owned(self.now.node_set)] if policy.when_deleted is Retention.DELETE else []

    @cached_property
    def _base_uids(self) -> tuple[str, ...]:
        return tuple(owner["uid"] for owner in self._base)

    @cached_property
    def _sizes(self) -> list[tuple[str, Quantity | None]]:
        """How the claims of each template begin, and how large they should be."""
        templates = self.now.node_set.spec.volume_claim_templates
        return [(_prefix(self.now, one.metadata.name), one.spec.resources.requests.get("storage")) for one in templates]

    def gone_with(self, one: Leaving) -> list[Claim]:
        """The claims that go with a leaving worker."""
        policy = self.now.node_set.spec.persistent_volume_claim_retention_policy
        if one.cause is not Cause.SCALE_IN or policy.when_scaled is not Retention.DELETE:
            return []
        found = (self.now.claims.get(prefix + _key(self.now, one.pod)) for prefix, _ in self._sizes)
        return [claim for claim in found if claim is not None and not self._foreign(claim)]

    def missing(self, staying: Iterable[Pod]) -> list[Json]:
        """Claims that workers should have and that are not there. Somebody deleted them; the worker waits for them."""
        prefixes, there = [prefix for prefix, _ in self._sizes], self.now.claims
        if not prefixes:
            return []
        lacking = (
            pod for pod in staying if not pod.ended and any(one + _key(self.now, pod) not in there for one in prefixes)
        )
        return [body for pod in lacking for body in self.made_for(_seat_of(self.now, pod))]

    def made_for(self, one: Seat) -> list[Json]:
        """The claims of a seat that are not there."""
        bodies = rendered(self.now.node_set, one)
        return [self.owned(body) for body in bodies if body["metadata"]["name"] not in self.now.claims]

    def owned(self, body: Json) -> Json:
        """A new claim with its owner."""
        return body | {"metadata": body["metadata"] | ({"ownerReferences": self._base} if self._base else {})}

    def in_the_way(self, one: Seat) -> str:
        """Why a seat's claims cannot be used; nothing when they can, or are yet to be made."""
        there = filter(None, map(self.now.claims.get, claim_names(self.now.node_set, one)))
        return next(filter(None, (self.doom(claim) or self.whose(claim) for claim in there)), "")

    def doom(self, claim: Claim) -> str:
        """That a claim is about to go, in words; nothing when it is not."""
        name = claim.metadata.name
        return f'claim "{name}" is being deleted; its worker comes when it is gone' if self._doomed(claim) else ""

    def whose(self, claim: Claim) -> str:
        """Whose a claim is, in words; nothing when it is, or can be, ours. One without our labels can."""
        name, meant = claim.metadata.name, labels.selector("slurmd", self.now.node_set)
        if owner := self._foreign(claim):
            return _taken(claim, owner)
        for label, text in meant.items():
            if (said := claim.metadata.labels.get(label, text)) != text:
                cure = f"label it {text} if it is of this NodeSet, or rename one of the two"
                return f'claim "{name}" is labelled {label}={said}; {cure}'
        return ""

    def tended(self, going: Sequence[Claim]) -> Iterator[Tend]:
        """Changes to claims that are not as they should be, but those of workers that go right now."""
        passed = {claim.metadata.name for claim in going}
        for claim in self.now.claims.values():
            owners = None if self._is_well(claim) or claim.metadata.name in passed else self._owners(claim)
            request = None if self._is_large_enough(claim) else self._growth(claim)
            if owners is None and request is None:
                continue
            if not self._foreign(claim) and not self._doomed(claim):
                yield Tend(claim, owners, request)

    def conflicts(self) -> list[str]:
        """Claims of our names that belong to others, in words."""
        found = ((claim, self._foreign(claim)) for claim in self.now.claims.values() if not self._is_well(claim))
        return [_taken(claim, owner) for claim, owner in found if owner]

    def lost(self, going: Iterable[Leaving]) -> list[str]:
        """Claims that somebody deleted under workers that use them, in words. Kubernetes keeps them until those go.

        Who leaves for good needs none of them any more.
        """
        dying = {name for name, claim in self.now.claims.items() if claim.metadata.deletion_timestamp is not None}
        if not dying or self.now.deleting:
            return []
        gone = {one.pod.metadata.uid for one in going if one.cause is not Cause.UPDATE}
        pods = (pod for pod in self.now.there if pod.metadata.uid not in gone)
        held = ((pod, prefix + _key(self.now, pod)) for pod in pods for prefix, _ in self._sizes)
        return [_deleted(name, pod) for pod, name in held if name in dying]

    def handed_to(self, claim: Claim, pod: Pod) -> list[Json]:
        """The owners of a claim that goes with a worker."""
        owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.metadata.name, "uid": pod.metadata.uid}
        return [*self._others(claim), owner]

    def _is_well(self, claim: Claim) -> bool:
        """Whether a claim has the owners that it should have, and nobody else's hand on it."""
        owners = claim.metadata.owner_references
        if id(owners) in self._well:
            return True
        well = self._owners(claim) is None and self._foreign(claim) is None
        if well:
            self._well.add(id(owners))
        return well

    def _owners(self, claim: Claim) -> list[Json] | None:
        """The owners that a claim should have; None when it has them.

        One without is not given to a deleted NodeSet that has no workers: they may have been taken from it together, by
        who deletes it without them.
        """
        ours = tuple(one.uid for one in claim.metadata.owner_references if self._is_ours(one))
        if ours == self._base_uids or (self.now.deleting and not ours and not self.now.pods):
            return None
        return [*self._others(claim), *self._base]

    def _others(self, claim: Claim) -> list[Json]:
        return [_written(one) for one in claim.metadata.owner_references if not self._is_ours(one)]

    def _is_ours(self, owner: OwnerReference) -> bool:
        return owner.uid == self.now.node_set.metadata.uid or owner.uid in self._pods

    def _foreign(self, claim: Claim) -> OwnerReference | None:
        """Who controls a claim, if it is none of us. Pods are: nobody else gives claims to them."""
        for owner in claim.metadata.owner_references:
            if owner.controller and owner.kind != "Pod" and not self._is_ours(owner):
                return owner
        return None

    def _doomed(self, claim: Claim) -> bool:
        """Whether a claim is about to be collected: with a pod that leaves or is gone, or because somebody said so."""
        if claim.metadata.deletion_timestamp is not None:
            return True
        owners = [one for one in claim.metadata.owner_references if one.kind == "Pod"]
        pods = [self._pods.get(one.uid) for one in owners]
        return bool(owners) and all(pod is None or pod.leaving for pod in pods)

    def _is_large_enough(self, claim: Claim) -> bool:
        """As all of them should be, at a glance."""
        return claim.spec.resources.requests.get("storage") == self._common_size

    @cached_property
    def _common_size(self) -> str:
        """What claims of every template should have; empty when they differ."""
        sizes = {size.text if size else "" for _, size in self._sizes}
        return sizes.pop() if len(sizes) == 1 else ""

    def _growth(self, claim: Claim) -> str | None:
        """The size that a claim should grow to; None when it is large enough. Claims cannot shrink."""
        has = claim.spec.resources.requests.get("storage")
        # In NodeSet "n" a claim of template "data-n" begins as one of "data" does, and goes on.
        of = [(len(prefix), size) for prefix, size in self._sizes if claim.metadata.name.startswith(prefix)]
        wanted = max(of, key=itemgetter(0), default=(0, None))[1]
        if has is None or wanted is None or has == wanted.text:
            return None
        try:
            return wanted.text if wanted.value > Quantity.parse(has).value else None
        except ScalarError:
            return None


def _taken(claim: Claim, owner: OwnerReference) -> str:
    name = claim.metadata.name
    return f'claim "{name}" belongs to {owner.kind} "{owner.name}"; delete or rename one of the two'


def _deleted(name: str, pod: Pod) -> str:
    cure = f"copy what is in it elsewhere before worker {pod.metadata.name} goes"
    return f'claim "{name}" is being deleted and goes when its worker does; {cure}'


def _prefix(now: Snapshot, template: str) -> str:
    return names.claim(now.node_set, template, "")


def _key(now: Snapshot, pod: Pod) -> str:
    """What tells the claims of a worker apart."""
    index = None if now.per_machine else pod.metadata.labels.get(labels.POD_INDEX)
    return index or _seat_of(now, pod).key


def _seat_of(now: Snapshot, pod: Pod) -> Seat:
    """The seat that a worker has."""
    if now.per_machine:
        return machine_seat(pod.metadata.labels.get(labels.POD_HOSTNAME) or pod.spec.hostname)
    return seat(now.node_set, ordinal(pod))


def _written(owner: OwnerReference) -> Json:
    return {
        "apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": owner.uid,
        "controller": owner.controller, "blockOwnerDeletion": owner.block_owner_deletion,
    }  # fmt: skip
