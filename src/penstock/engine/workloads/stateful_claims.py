"""The claims of a StatefulSet: what they are made from, and who takes them along. Pure.

By owner references alone: a claim goes with its StatefulSet when `whenDeleted` is Delete, and with its pod when that
is one too many and `whenScaled` is Delete. A pod that goes for any other reason never takes its claim along.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.api.objects import Json
from penstock.cluster.resources import OwnerReference
from penstock.engine.workloads.context import reference
from penstock.engine.workloads.kinds import PODS, STATEFUL_SETS, Claim, Pod, StatefulSet


def claim_name(template: Json, item: StatefulSet, ordinal: int) -> str:
    """The name of the claim that a pod gets from a template."""
    return f"{template['metadata']['name']}-{item.metadata.name}-{ordinal}"


def claims(item: StatefulSet, ordinal: int) -> Iterator[Json]:
    """The claims of a pod."""
    selected = item.spec.selector.get("matchLabels") or {}
    for template in item.spec.volume_claim_templates:
        meta = template["metadata"]
        metadata: Json = {
            "name": claim_name(template, item, ordinal),
            "namespace": item.metadata.namespace,
            "labels": {**(meta.get("labels") or {}), **selected},
        }
        metadata |= {"annotations": meta["annotations"]} if meta.get("annotations") else {}
        if item.spec.persistent_volume_claim_retention_policy.when_deleted == "Delete":
            metadata["ownerReferences"] = [reference(STATEFUL_SETS, item)]
        yield {"metadata": metadata, "spec": template.get("spec") or {}}


def with_claims(item: StatefulSet, ordinal: int, spec: Json) -> Json:
    """A pod's spec with a volume for each of its claims; they go before volumes of the same name."""
    volumes: list[Json] = [
        {
            "name": template["metadata"]["name"],
            "persistentVolumeClaim": {"claimName": claim_name(template, item, ordinal)},
        }
        for template in item.spec.volume_claim_templates
    ]
    names = {volume["name"] for volume in volumes}
    others = [volume for volume in spec.get("volumes") or [] if volume["name"] not in names]
    return {**spec, "volumes": [*volumes, *others]} if volumes or others else spec


def owners_wanted(item: StatefulSet, pod: Pod, claim: Claim, *, condemned: bool) -> list[Json] | None:
    """The owners that a claim should have, or None when it has them, or belongs to somebody else."""
    policy, found = item.spec.persistent_volume_claim_retention_policy, claim.metadata.owner_references
    uids = {item.metadata.uid, pod.metadata.uid}
    if any(_is_stale(one, item, pod) or (one.controller and one.uid not in uids) for one in found):
        # It goes with whoever it belonged to; were it ours before that, somebody's deletion would be undone.
        return None
    wanted: list[Json] = []
    if condemned and policy.when_scaled == "Delete":
        wanted = [reference(PODS, pod)]
    elif policy.when_deleted == "Delete":
        wanted = [reference(STATEFUL_SETS, item)]
    if {one.uid for one in found if one.uid in uids} == {one["uid"] for one in wanted}:
        return None
    return [*_others(found, uids), *wanted]


def _is_stale(one: OwnerReference, item: StatefulSet, pod: Pod) -> bool:
    """Whether an owner has the name of our StatefulSet or pod and is an earlier one."""
    for kind, owner in (("StatefulSet", item.metadata), ("Pod", pod.metadata)):
        if one.kind == kind and one.name == owner.name:
            return one.uid != owner.uid
    return False


def _others(found: Sequence[OwnerReference], uids: set[str]) -> list[Json]:
    return [
        {"apiVersion": one.api_version, "kind": one.kind, "name": one.name, "uid": one.uid}
        for one in found
        if one.uid not in uids
    ]
