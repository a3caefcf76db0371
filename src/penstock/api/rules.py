"""The rules of the kinds that a schema cannot say, each written once as CEL for the API server and once for us.

The two forms stand side by side in one value so that whoever changes one sees the other. Rules about a change
(`Transition`) hold between an old and a new spec; Slinky keeps them in a webhook, here the API server holds them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.api.accounting import Accounting
from penstock.api.controller import Controller, ControllerSpec
from penstock.api.loginset import LoginSet
from penstock.api.nodeset import NodeSet, NodeSetSpec, UpdateType
from penstock.api.objects import ClaimTemplate, Part
from penstock.api.problems import Path
from penstock.api.restapi import RestApi
from penstock.api.token import Token


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What must hold for a spec."""

    at: Path
    """The object below `spec` that CEL calls `self`."""
    cel: str
    holds: Callable[[Any], bool]
    """The same as `cel`, over the whole decoded spec."""
    message: str
    field: Path
    """The field below `spec` that a person has to look at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """What must hold between the old spec and the new one."""

    at: Path
    cel: str
    holds: Callable[[Any, Any], bool]
    message: str
    field: Path


# The two spellings of the JWT key, as one text: moving the same reference to the new field is no change.
_JWT = (
    "(has({0}.jwtKeyRef) ? {0}.jwtKeyRef.name + '/' + {0}.jwtKeyRef.key"
    " : has({0}.jwtHs256KeyRef) ? {0}.jwtHs256KeyRef.name + '/' + {0}.jwtHs256KeyRef.key : '')"
)
_JWT_UNCHANGED = Transition(
    at=(),
    cel=f"{_JWT.format('oldSelf')} == '' || {_JWT.format('self')} == {_JWT.format('oldSelf')}",
    holds=lambda old, new: _key_name(old) == "" or _key_name(new) == _key_name(old),
    message="the JWT key cannot change: tokens signed with the old one would stop working; make a new object instead",
    field=("jwtKeyRef",),
)


def _key_name(spec: Any) -> str:
    key = spec.jwt_key
    return f"{key.name}/{key.key}" if key else ""


_CONTROLLER_NAMED = Rule(
    at=("controllerRef",),
    cel="has(self.name) && self.name != ''",
    holds=lambda spec: spec.controller_ref.name != "",
    message="controllerRef.name is empty; name the Controller of the cluster",
    field=("controllerRef", "name"),
)
_CONTROLLER_UNCHANGED = Transition(
    at=("controllerRef",),
    cel="self.name == oldSelf.name",
    holds=lambda old, new: old.controller_ref.name == new.controller_ref.name,
    message="controllerRef cannot change; make a new object for the other cluster",
    field=("controllerRef",),
)
_EXTERNAL_ADDRESS = Rule(
    at=(),
    cel="!has(self.external) || !self.external || has(self.externalConfig)",
    holds=lambda spec: not spec.external or spec.external_config is not None,
    message="external needs externalConfig; add its host and port",
    field=("externalConfig",),
)
_SLURM_KEY = Rule(
    at=(),
    cel="(has(self.external) && self.external) || has(self.slurmKeyRef)",
    holds=lambda spec: spec.external or spec.slurm_key_ref is not None,
    message="slurmKeyRef is missing; name the Secret and the key that hold the auth/slurm key",
    field=("slurmKeyRef",),
)
_JWT_KEY = Rule(
    at=(),
    cel="(has(self.external) && self.external) || has(self.jwtKeyRef) || has(self.jwtHs256KeyRef)",
    holds=lambda spec: spec.external or spec.jwt_key is not None,
    message="jwtKeyRef is missing; name the Secret and the key that hold the JWT key",
    field=("jwtKeyRef",),
)


def _ha_has_claim(spec: ControllerSpec) -> bool:
    return not spec.ha.enabled or (spec.persistence.enabled and bool(spec.persistence.existing_claim))


_CONTROLLER_RULES = [
    _SLURM_KEY,
    _JWT_KEY,
    _EXTERNAL_ADDRESS,
    Rule(
        at=(),
        cel="!has(self.ha) || !self.ha.enabled || (has(self.persistence) && self.persistence.enabled"
        " && has(self.persistence.existingClaim) && self.persistence.existingClaim != '')",
        holds=_ha_has_claim,
        message="ha needs persistence.enabled and persistence.existingClaim: slurmctlds share one ReadWriteMany claim",
        field=("ha",),
    ),
]
_CLAIM = "(has({0}.persistence) && has({0}.persistence.existingClaim) ? {0}.persistence.existingClaim : '')"
_CONTROLLER_TRANSITIONS = [
    Transition(
        at=(),
        # A CEL rule cannot see the namespace, so writing the default name out is refused too: safe, and it says why.
        cel="(has(self.clusterName) ? self.clusterName : '') == (has(oldSelf.clusterName) ? oldSelf.clusterName : '')",
        holds=lambda old, new: (old.cluster_name or "") == (new.cluster_name or ""),
        message="clusterName cannot change: jobs, state and accounting are kept under it; leave it as it was",
        field=("clusterName",),
    ),
    Transition(
        at=(),
        cel="!has(oldSelf.slurmKeyRef) || (has(self.slurmKeyRef) && self.slurmKeyRef.name == oldSelf.slurmKeyRef.name)",
        holds=lambda old, new: (
            old.slurm_key_ref is None
            or (new.slurm_key_ref is not None and new.slurm_key_ref.name == old.slurm_key_ref.name)
        ),
        message="slurmKeyRef.name cannot change; put the new key into the same Secret to rotate it",
        field=("slurmKeyRef",),
    ),
    _JWT_UNCHANGED,
    Transition(
        at=(),
        cel="(!has(self.persistence) || self.persistence.enabled)"
        " == (!has(oldSelf.persistence) || oldSelf.persistence.enabled)",
        holds=lambda old, new: old.persistence.enabled == new.persistence.enabled,
        message="persistence.enabled cannot change: slurmctld's state would be left behind",
        field=("persistence", "enabled"),
    ),
    Transition(
        at=(),
        cel="(has(oldSelf.persistence) && !oldSelf.persistence.enabled)"
        f" || {_CLAIM.format('self')} == {_CLAIM.format('oldSelf')}",
        holds=lambda old, new: (
            not old.persistence.enabled
            or (old.persistence.existing_claim or "") == (new.persistence.existing_claim or "")
        ),
        message="persistence.existingClaim cannot change: slurmctld's state would be left behind",
        field=("persistence", "existingClaim"),
    ),
]


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
_NODESET_RULES = [
    _CONTROLLER_NAMED,
    Rule(
        at=("updateStrategy", "rollingUpdate"),
        cel="!has(self.maxUnavailable) || (type(self.maxUnavailable) == int ? self.maxUnavailable >= 1"
        " : self.maxUnavailable.matches('^(100|[1-9][0-9]?)%$'))",
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
        message="ScheduledUpdate needs scheduledUpdate with startTime and duration",
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
        at=("autoscale",),
        cel="!has(self.minReplicas) || !has(self.maxReplicas) || self.minReplicas <= self.maxReplicas",
        holds=lambda spec: spec.autoscale.min_replicas <= spec.autoscale.max_replicas,
        message="minReplicas is larger than maxReplicas; swap them or raise maxReplicas",
        field=("autoscale", "minReplicas"),
    ),
]
_NODESET_TRANSITIONS = [
    _CONTROLLER_UNCHANGED,
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
_LOGINSET_RULES = [
    _CONTROLLER_NAMED,
    Rule(
        at=("sssdConfRef",),
        cel="has(self.name) && self.name != ''",
        holds=lambda spec: spec.sssd_conf_ref.name != "",
        message="sssdConfRef.name is empty; name the Secret that holds sssd.conf",
        field=("sssdConfRef", "name"),
    ),
]
_TOKEN_KEY = Rule(
    at=(),
    cel="has(self.jwtKeyRef) || has(self.jwtHs256KeyRef)",
    holds=lambda spec: spec.jwt_key is not None,
    message="jwtKeyRef is missing; name the Secret and the key that sign the token",
    field=("jwtKeyRef",),
)

RULES: dict[type[Part], Sequence[Rule]] = {
    Controller: _CONTROLLER_RULES,
    NodeSet: _NODESET_RULES,
    LoginSet: _LOGINSET_RULES,
    RestApi: [_CONTROLLER_NAMED],
    Accounting: [_SLURM_KEY, _JWT_KEY, _EXTERNAL_ADDRESS],
    Token: [_TOKEN_KEY],
}
"""What must hold for each kind."""

TRANSITIONS: dict[type[Part], Sequence[Transition]] = {
    Controller: _CONTROLLER_TRANSITIONS,
    NodeSet: _NODESET_TRANSITIONS,
    LoginSet: [_CONTROLLER_UNCHANGED],
    RestApi: [],
    Accounting: [_JWT_UNCHANGED],
    Token: [_JWT_UNCHANGED],
}
"""What must hold when an object of each kind changes."""
