"""What rendering works from: the kinds of one or more clusters and the objects they refer to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from penstock.api.accounting import Accounting
from penstock.api.controller import Controller
from penstock.api.kinds import Kind
from penstock.api.loginset import LoginSet
from penstock.api.nodeset import NodeSet
from penstock.api.objects import ConfigMapKeySelector, LocalObjectReference, ObjectMeta, SecretKeySelector
from penstock.api.restapi import RestApi
from penstock.api.token import Token
from penstock.render.contract import ImageContract, SlurmVersion, contract_of, version_of
from penstock.render.names import SLURMCTLD_PORT, Domain
from penstock.render.names import controller as controller_name
from penstock.slurm import conf

_M = TypeVar("_M", NodeSet, LoginSet, RestApi)

Key = tuple[str, str]
"""Namespace and name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class References:
    """ConfigMaps and Secrets that kinds point at. What is not here is not known, which is not the same as empty."""

    config_maps: Mapping[Key, Mapping[str, str]] = field(default_factory=dict)
    secrets: Mapping[Key, Mapping[str, bytes]] = field(default_factory=dict)

    def config_map(self, namespace: str, reference: LocalObjectReference) -> Mapping[str, str] | None:
        """The files of a ConfigMap, if known."""
        return self.config_maps.get((namespace, reference.name))

    def config_map_value(self, namespace: str, selector: ConfigMapKeySelector | None) -> str | None:
        """One value of a ConfigMap, if known."""
        return self.config_maps.get((namespace, selector.name), {}).get(selector.key) if selector else None

    def secret_value(self, namespace: str, selector: SecretKeySelector | None) -> bytes | None:
        """One value of a Secret, if known."""
        return self.secrets.get((namespace, selector.name), {}).get(selector.key) if selector else None


@dataclass(frozen=True, slots=True)
class ClosedPartition:
    """A partition that no object asks for any more, and that jobs may still name: it stays, and takes no new ones."""

    name: str
    settings: tuple[tuple[str, str], ...] = ()
    """As they stood in its line."""


@dataclass(frozen=True, slots=True)
class KeptNodes:
    """Static nodes that no object asks for any more, and whose workers are still there."""

    names: str
    """As a host list."""
    settings: tuple[tuple[str, str], ...] = ()
    """As they stood in their line."""

    @property
    def has_devices(self) -> bool:
        """Whether slurmctld counts devices of theirs."""
        return any(key.lower() == "gres" for key, _ in self.settings)


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """One Slurm cluster: its Controller, and what belongs to it."""

    controller: Controller
    accounting: Accounting | None = None
    node_sets: Sequence[NodeSet] = ()
    references: References = field(default_factory=References)
    domain: Domain = field(default_factory=Domain)
    release: SlurmVersion | None = None
    """The Slurm release to write for, when it is not read from the images."""
    closed: Sequence[ClosedPartition] = ()
    standing: Mapping[str, int] = field(default_factory=dict)
    """Of NodeSets with static nodes, by name: how many ordinals reach to the last worker that is there."""
    kept_nodes: Sequence[KeptNodes] = ()
    kept_gres: str = ""
    """gres.conf as slurmctld has it, for the devices of kept nodes."""
    dynamic_nodes: frozenset[str] = frozenset()
    """Nodes of such NodeSets whose workers, made earlier, register by themselves, or may."""
    confined_workers: bool = False
    """There are workers, made earlier, that may not write to their cgroups."""
    rootless_workers: bool = False
    """There are workers, made earlier, that do not have the shared root."""

    @property
    def namespace(self) -> str:
        """Everything of a cluster lives in one namespace."""
        return self.controller.metadata.namespace

    @cached_property
    def contract(self) -> ImageContract:
        """The conventions of slurmctld's image."""
        return contract_of(self.controller.spec.image_contract, self.controller.spec.slurmctld.get("image"))

    @cached_property
    def version(self) -> SlurmVersion:
        """The Slurm release of slurmctld's image: it reads the files we write."""
        return self.release or version_of(self.controller.spec.slurmctld.get("image"))

    @property
    def conf_server(self) -> str:
        """Where slurmd and sackd fetch their configuration."""
        host, port = self.conf_address
        return f"{host}:{port}"

    @property
    def conf_address(self) -> tuple[str, int]:
        """The same, as host and port."""
        spec = self.controller.spec
        if spec.external and spec.external_config:
            return conf.host(spec.external_config.host, of="externalConfig.host"), spec.external_config.port
        host = self.domain.service(controller_name(self.controller), self.namespace)
        return host, spec.service.port or SLURMCTLD_PORT

    @cached_property
    def sorted_node_sets(self) -> list[NodeSet]:
        """NodeSets in the order of their names, whatever order they were found in."""
        return sorted(self.node_sets, key=lambda node_set: node_set.metadata.name)

    def ordinals(self, node_set: NodeSet) -> int:
        """How many ordinals of a NodeSet Slurm has to know: workers that are asked for, and those that are there."""
        return max(node_set.spec.possible_replicas, self.standing.get(node_set.metadata.name, 0))

    @property
    def user_files(self) -> dict[str, str]:
        """Files that people put into /etc/slurm themselves, which win over made ones; the last of two equals counts.

        In the order of the ConfigMaps' names, for that is the order in which the pod has them.
        """
        found: dict[str, str] = {}
        for reference in sorted(self.controller.spec.config_file_refs, key=lambda one: one.name):
            found |= self.references.config_map(self.namespace, reference) or {}
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """All objects of a set of manifests, or of a namespace."""

    controllers: Sequence[Controller] = ()
    accountings: Sequence[Accounting] = ()
    node_sets: Sequence[NodeSet] = ()
    login_sets: Sequence[LoginSet] = ()
    rest_apis: Sequence[RestApi] = ()
    tokens: Sequence[Token] = ()
    references: References = field(default_factory=References)
    domain: Domain = field(default_factory=Domain)
    release: SlurmVersion | None = None
    assumed: frozenset[Key] = frozenset()
    """Controllers that others refer to and that were not given: known by name only."""

    @classmethod
    def of(
        cls, kinds: Iterable[Kind], *, references: References, domain: Domain, release: SlurmVersion | None = None
    ) -> Inventory:
        """Sort objects by kind and name, so that the order in which they were found changes nothing.

        A Controller that is only referred to is assumed, so that its members can be shown.
        """
        found: defaultdict[type, list[Any]] = defaultdict(list)
        for kind in sorted(kinds, key=_key):
            found[type(kind)].append(kind)
        given = {_key(controller) for controller in found[Controller]}
        members = [*found[NodeSet], *found[LoginSet], *found[RestApi]]
        assumed = {(one.metadata.namespace, one.spec.controller_ref.name) for one in members} - given
        stand_ins = [Controller(ObjectMeta(name, namespace)) for namespace, name in sorted(assumed)]
        return cls(
            controllers=[*found[Controller], *stand_ins],
            accountings=found[Accounting],
            node_sets=found[NodeSet],
            login_sets=found[LoginSet],
            rest_apis=found[RestApi],
            tokens=found[Token],
            references=references,
            domain=domain,
            release=release,
            assumed=frozenset(assumed),
        )

    def is_assumed(self, controller: Controller) -> bool:
        """Whether only the name of a Controller is known."""
        return _key(controller) in self.assumed

    def cluster(self, controller: Controller) -> Cluster:
        """The cluster around a Controller."""
        return Cluster(
            controller=controller,
            accounting=self.accounting_of(controller),
            node_sets=[node_set for node_set in self.node_sets if self.controller_of(node_set) is controller],
            references=self.references,
            domain=self.domain,
            release=self.release,
        )

    def controller_of(self, member: NodeSet | LoginSet | RestApi) -> Controller | None:
        """The Controller that a component belongs to, if known."""
        wanted = (member.metadata.namespace, member.spec.controller_ref.name)
        matches = (one for one in self.controllers if (one.metadata.namespace, one.metadata.name) == wanted)
        return next(matches, None)

    def members(self, kinds: Iterable[_M], cluster: Cluster) -> list[_M]:
        """Those of the kinds that belong to a cluster."""
        return [kind for kind in kinds if self.controller_of(kind) is cluster.controller]

    def accounting_of(self, controller: Controller) -> Accounting | None:
        """The Accounting that a Controller reports to, if known."""
        reference = controller.spec.accounting_ref
        wanted = (controller.metadata.namespace, reference.name) if reference else None
        matches = (one for one in self.accountings if (one.metadata.namespace, one.metadata.name) == wanted)
        return next(matches, None)


def _key(kind: Kind) -> Key:
    return kind.metadata.namespace, kind.metadata.name
