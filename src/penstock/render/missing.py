"""Which objects do the kinds refer to that are not known? For people a note, for reconcilers a reason to wait."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.api.accounting import Accounting
from penstock.api.controller import Controller
from penstock.api.kinds import Kind
from penstock.api.loginset import LoginSet
from penstock.api.nodeset import NodeSet
from penstock.api.objects import ConfigMapKeySelector, SecretKeySelector
from penstock.api.restapi import RestApi
from penstock.api.token import Token
from penstock.render.inventory import Inventory


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingReference:
    """An object that something refers to and that is not there."""

    owner: str
    field: str
    kind: str
    name: str

    def __str__(self) -> str:
        return f'{self.owner}: {self.field} names {self.kind} "{self.name}", which is not among these manifests.'


@dataclass(frozen=True, slots=True)
class ConfigMapReference:
    """A ConfigMap that a field of a kind names."""

    field: str
    name: str
    optional: bool = False


def missing_references(inventory: Inventory) -> list[MissingReference]:
    """Every reference that leads nowhere, once each, in a steady order."""
    kinds: list[Kind] = [
        *inventory.controllers, *inventory.accountings, *inventory.node_sets,
        *inventory.login_sets, *inventory.rest_apis, *inventory.tokens,
    ]  # fmt: skip
    found = {one: None for kind in kinds for one in missing_of(inventory, kind)}
    return list(found)


def missing_of(inventory: Inventory, kind: Kind) -> Iterator[MissingReference]:
    """The references of one kind that lead nowhere."""
    owner, namespace = f'{kind.kind} "{kind.metadata.name}"', kind.metadata.namespace
    for field, selector in secret_references(kind):
        if selector and not selector.optional and inventory.references.secret_value(namespace, selector) is None:
            yield MissingReference(owner=owner, field=field, kind="Secret", name=f"{selector.name}/{selector.key}")
    for one in config_map_references(kind):
        if not one.optional and (namespace, one.name) not in inventory.references.config_maps:
            yield MissingReference(owner=owner, field=one.field, kind="ConfigMap", name=one.name)
    yield from _kinds(inventory, kind, owner)


def _kinds(inventory: Inventory, kind: Kind, owner: str) -> Iterator[MissingReference]:
    if isinstance(kind, NodeSet | LoginSet | RestApi):
        controller = inventory.controller_of(kind)
        if controller is None or inventory.is_assumed(controller):
            yield MissingReference(
                owner=owner, field="controllerRef", kind="Controller", name=kind.spec.controller_ref.name
            )
    if isinstance(kind, Controller) and kind.spec.accounting_ref and inventory.accounting_of(kind) is None:
        yield MissingReference(
            owner=owner, field="accountingRef", kind="Accounting", name=kind.spec.accounting_ref.name
        )


def secret_references(kind: Kind) -> Iterator[tuple[str, SecretKeySelector | None]]:
    """The Secrets that a kind refers to, by field; None where it refers to none."""
    if isinstance(kind, Controller | Accounting) and not kind.spec.external:
        yield "slurmKeyRef", kind.spec.slurm_key_ref
    if (isinstance(kind, Controller | Accounting) and not kind.spec.external) or isinstance(kind, Token):
        yield "jwtKeyRef", kind.spec.jwt_key
    if isinstance(kind, Accounting) and not kind.spec.external and kind.spec.storage_config:
        yield "storageConfig.passwordKeyRef", kind.spec.storage_config.password_key_ref
    if isinstance(kind, LoginSet):
        yield "sssdConfRef", kind.spec.sssd_conf_ref
    if isinstance(kind, NodeSet) and kind.spec.ssh and kind.spec.ssh.enabled:
        yield "ssh.sssdConfRef", kind.spec.ssh.sssd_conf_ref


def config_map_references(kind: Kind) -> Iterator[ConfigMapReference]:
    """The ConfigMaps that a kind refers to."""
    jwks: ConfigMapKeySelector | None = kind.spec.jwks_key_ref if isinstance(kind, Controller | Accounting) else None
    if jwks:
        yield ConfigMapReference("jwksKeyRef", jwks.name, optional=bool(jwks.optional))
    if isinstance(kind, Controller):
        for field, references in (
            ("configFileRefs", kind.spec.config_file_refs),
            ("prologScriptRefs", kind.spec.prolog_script_refs),
            ("epilogScriptRefs", kind.spec.epilog_script_refs),
            ("prologSlurmctldScriptRefs", kind.spec.prolog_slurmctld_script_refs),
            ("epilogSlurmctldScriptRefs", kind.spec.epilog_slurmctld_script_refs),
        ):
            yield from (ConfigMapReference(field, reference.name) for reference in references)
