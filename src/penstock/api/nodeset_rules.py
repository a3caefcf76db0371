"""The rules of a NodeSet alone: updates that can proceed, windows that Slurm can reserve, claims that stay."""

from __future__ import annotations

from penstock.api.nodeset import NodeSetSpec, UpdateType
from penstock.api.objects import ClaimTemplate
from penstock.api.rule import Rule, Transition


def _window_long_enough(spec: NodeSetSpec) -> bool:
    window = spec.update_strategy.scheduled_update
    return window is None or window.duration.seconds >= 60


def _claims_unchanged(old: NodeSetSpec, new: NodeSetSpec) -> bool:
    before = {claim.metadata.name: _fixed_part(claim) for claim in old.volume_claim_templates}
    after = {claim.metadata.name: _fixed_part(claim) for claim in new.volume_claim_templates}
    return before == after


def _fixed_part(claim: ClaimTemplate) -> tuple[object, ...]:
    """What of a claim can never change; its size can (ST-5)."""
    spec = claim.spec
    return tuple(spec.access_modes), spec.storage_class_name or "", spec.volume_name or "", spec.volume_mode or ""


# Spelt out with has(): behind orValue() the API server loses the bounds and refuses the rule as too dear.
_CLAIM_FIELD = "(has({0}.spec) && has({0}.spec.{1}) ? {0}.spec.{1} : {2})"
_CLAIM_EQUAL = " && ".join(
    f"{_CLAIM_FIELD.format('c', name, empty)} == {_CLAIM_FIELD.format('o', name, empty)}"
    for name, empty in (("accessModes", "[]"), ("storageClassName", "''"), ("volumeName", "''"), ("volumeMode", "''"))
)
RULES = [
    Rule(
        at=("updateStrategy", "rollingUpdate"),
        cel="!has(self.maxUnavailable) || (type(self.maxUnavailable) == int ? self.maxUnavailable >= 1"
        " : self.maxUnavailable.matches('^0*(100|[1-9][0-9]?)%$'))",
        holds=lambda spec: (
            spec.update_strategy.rolling_update.max_unavailable.of(100) >= 1
            and (
                isinstance(spec.update_strategy.rolling_update.max_unavailable.value, int)
                or spec.update_strategy.rolling_update.max_unavailable.of(100) <= 100
            )
        ),
        message="maxUnavailable must let an update proceed; write at least 1, or 1% to 100%",
        field=("updateStrategy", "rollingUpdate", "maxUnavailable"),
    ),
    Rule(
        at=("updateStrategy",),
        cel="!has(self.type) || self.type != 'ScheduledUpdate' || has(self.scheduledUpdate)",
        holds=lambda spec: (
            spec.update_strategy.type is not UpdateType.SCHEDULED_UPDATE
            or spec.update_strategy.scheduled_update is not None
        ),
        message="ScheduledUpdate needs scheduledUpdate; add its startTime and duration",
        field=("updateStrategy", "scheduledUpdate"),
    ),
    Rule(
        at=("updateStrategy", "scheduledUpdate"),
        cel="!has(self.duration) || duration(self.duration) >= duration('1m')",
        holds=_window_long_enough,
        message="duration is shorter than Slurm's smallest reservation; write at least 1m",
        field=("updateStrategy", "scheduledUpdate", "duration"),
    ),
    Rule(
        at=("ssh",),
        cel="!self.enabled || (has(self.sssdConfRef.name) && self.sssdConfRef.name != '')",
        holds=lambda spec: spec.ssh is None or not spec.ssh.enabled or spec.ssh.sssd_conf_ref.name != "",
        message="ssh needs sssdConfRef.name; name the Secret that holds sssd.conf",
        field=("ssh", "sssdConfRef", "name"),
    ),
    Rule(
        at=("walls",),
        cel="[has(self.configMap), has(self.persistentVolumeClaim), has(self.hostPath)].filter(x, x).size() == 1",
        holds=lambda spec: (
            spec.walls is None
            or [spec.walls.config_map, spec.walls.persistent_volume_claim, spec.walls.host_path].count(None) == 2
        ),
        message="walls come from one place; give exactly one of configMap, persistentVolumeClaim, hostPath",
        field=("walls",),
    ),
    Rule(
        at=("autoscale",),
        cel="!has(self.minReplicas) || !has(self.maxReplicas) || self.minReplicas <= self.maxReplicas",
        holds=lambda spec: spec.autoscale.min_replicas <= spec.autoscale.max_replicas,
        message="minReplicas is larger than maxReplicas; swap them or raise maxReplicas",
        field=("autoscale", "minReplicas"),
    ),
]
TRANSITIONS = [
    Transition(
        at=(),
        cel="(has(self.volumeClaimTemplates) ? self.volumeClaimTemplates.size() : 0)"
        " == (has(oldSelf.volumeClaimTemplates) ? oldSelf.volumeClaimTemplates.size() : 0)"
        " && (!has(self.volumeClaimTemplates) || !has(oldSelf.volumeClaimTemplates) || self.volumeClaimTemplates.all(c,"
        f" oldSelf.volumeClaimTemplates.exists(o, o.metadata.name == c.metadata.name && {_CLAIM_EQUAL})))",
        holds=_claims_unchanged,
        message="volumeClaimTemplates cannot change but for resources: workers keep their claims; make a new NodeSet",
        field=("volumeClaimTemplates",),
    ),
]
