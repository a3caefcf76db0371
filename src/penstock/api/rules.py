"""The rules of the kinds that a schema cannot say, held by the API server (CEL) and by `penstock validate` alike.

Rules about a change (`Transition`) hold between an old and a new spec; Slinky keeps them in a webhook, here the API
server holds them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.api import nodeset_rules
from penstock.api.accounting import Accounting
from penstock.api.controller import Controller, ControllerSpec
from penstock.api.loginset import LoginSet
from penstock.api.nodeset import NodeSet
from penstock.api.objects import Part
from penstock.api.restapi import RestApi
from penstock.api.rule import Rule, Transition
from penstock.api.token import Token

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
        message="ha needs persistence.enabled and persistence.existingClaim; name a ReadWriteMany claim to share",
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
        message="persistence.enabled cannot change: slurmctld's state would be left behind; leave it as it was",
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
        message="persistence.existingClaim cannot change: slurmctld's state would be left behind; leave it as it was",
        field=("persistence", "existingClaim"),
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
_TOKEN_RULES = [
    Rule(
        at=(),
        cel="has(self.jwtKeyRef) || has(self.jwtHs256KeyRef)",
        holds=lambda spec: spec.jwt_key is not None,
        message="jwtKeyRef is missing; name the Secret and the key that sign the token",
        field=("jwtKeyRef",),
    ),
    Rule(
        at=(),
        cel="!has(self.lifetime) || duration(self.lifetime) > duration('0s')",
        holds=lambda spec: spec.lifetime.seconds > 0,
        message="lifetime is over before it begins; write for instance 15m",
        field=("lifetime",),
    ),
]

RULES: dict[type[Part], Sequence[Rule]] = {
    Controller: _CONTROLLER_RULES,
    NodeSet: [_CONTROLLER_NAMED, *nodeset_rules.RULES],
    LoginSet: _LOGINSET_RULES,
    RestApi: [_CONTROLLER_NAMED],
    Accounting: [_SLURM_KEY, _JWT_KEY, _EXTERNAL_ADDRESS],
    Token: _TOKEN_RULES,
}
"""What must hold for each kind."""

TRANSITIONS: dict[type[Part], Sequence[Transition]] = {
    Controller: _CONTROLLER_TRANSITIONS,
    NodeSet: [_CONTROLLER_UNCHANGED, *nodeset_rules.TRANSITIONS],
    LoginSet: [_CONTROLLER_UNCHANGED],
    RestApi: [],
    Accounting: [_JWT_UNCHANGED],
    Token: [_JWT_UNCHANGED],
}
"""What must hold when an object of each kind changes."""
