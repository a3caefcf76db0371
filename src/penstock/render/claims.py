"""The claims of workers: one each per template and seat, and the volumes through which pods use them."""

from __future__ import annotations

from penstock.api.nodeset import NodeSet
from penstock.api.objects import ClaimTemplate, Json
from penstock.api.schema import encode
from penstock.render import labels, names
from penstock.render.seat import Seat


def claims(node_set: NodeSet, one: Seat) -> list[Json]:
    """The claims of one worker. Their owner follows the retention policy, so it is set where that is known."""
    return [_claim(node_set, template, one) for template in node_set.spec.volume_claim_templates]


def _claim(node_set: NodeSet, template: ClaimTemplate, one: Seat) -> Json:
    own = (template.metadata.labels or {}) | labels.component("slurmd", node_set)
    metadata: Json = {
        "name": names.claim(node_set, template.metadata.name, one.key),
        "namespace": node_set.metadata.namespace,
        "labels": dict(sorted(own.items())),
    }
    if template.metadata.annotations:
        metadata["annotations"] = dict(sorted(template.metadata.annotations.items()))
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": encode(template.spec)}


def with_claims(node_set: NodeSet, one: Seat, spec: Json) -> Json:
    """Claim volumes take the place of pod volumes of the same name; the others stay (ST-1)."""
    made = [_claim_volume(node_set, template, one) for template in node_set.spec.volume_claim_templates]
    taken = {volume["name"] for volume in made}
    others = [volume for volume in spec.get("volumes") or [] if not _is_one_of(volume, taken)]
    return spec | {"volumes": [*made, *others]}


def _is_one_of(volume: object, names: set[str]) -> bool:
    return isinstance(volume, dict) and volume.get("name") in names


def _claim_volume(node_set: NodeSet, template: ClaimTemplate, one: Seat) -> Json:
    name = template.metadata.name
    return {"name": name, "persistentVolumeClaim": {"claimName": names.claim(node_set, name, one.key)}}
