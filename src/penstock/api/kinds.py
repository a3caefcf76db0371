"""The six kinds, as Kubernetes needs to know them: names, columns, subresources."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.api.accounting import Accounting
from penstock.api.controller import Controller
from penstock.api.loginset import LoginSet
from penstock.api.nodeset import NodeSet
from penstock.api.restapi import RestApi
from penstock.api.token import Token

GROUP = "slinky.slurm.net"
VERSION = "v1beta1"
API_VERSION = f"{GROUP}/{VERSION}"

Kind = Controller | NodeSet | LoginSet | RestApi | Accounting | Token
"""Any object of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of `kubectl get`."""

    name: str
    path: str
    type: str = "integer"
    wide: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class KindInfo:
    """How a kind presents itself to the API server."""

    struct: type[Kind]
    plural: str
    short_names: tuple[str, ...]
    columns: tuple[Column, ...] = ()
    scales: bool = False
    required_status: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The kind's name."""
        return self.struct.kind


_NODESET_COLUMNS = (
    Column(name="Desired", path=".status.desired"),
    Column(name="Replicas", path=".status.replicas"),
    Column(name="Updated", path=".status.updatedReplicas"),
    Column(name="Ready", path=".status.readyReplicas"),
    Column(name="Idle", path=".status.slurmIdle", wide=True),
    Column(name="Allocated", path=".status.slurmAllocated", wide=True),
    Column(name="Down", path=".status.slurmDown", wide=True),
    Column(name="Drain", path=".status.slurmDrain", wide=True),
)
_TOKEN_COLUMNS = (
    Column(name="User", path=".spec.username", type="string"),
    Column(name="IAT", path=".status.issuedAt", type="date"),
)

KINDS: tuple[KindInfo, ...] = (
    KindInfo(struct=Accounting, plural="accountings", short_names=("slurmdbd",)),
    KindInfo(struct=Controller, plural="controllers", short_names=("slurmctld",)),
    KindInfo(
        struct=LoginSet,
        plural="loginsets",
        short_names=("loginsets", "lss", "sackd"),
        columns=(Column(name="Replicas", path=".status.replicas"),),
        scales=True,
        required_status=("selector",),
    ),
    KindInfo(
        struct=NodeSet,
        plural="nodesets",
        short_names=("nodesets", "nss", "slurmd"),
        columns=_NODESET_COLUMNS,
        scales=True,
        required_status=("nodeSetHash", "selector"),
    ),
    KindInfo(struct=RestApi, plural="restapis", short_names=("slurmrestd",)),
    KindInfo(struct=Token, plural="tokens", short_names=("tokens", "jwt"), columns=_TOKEN_COLUMNS),
)
"""In alphabetical order, as files and listings show them."""

BY_NAME = {info.kind: info for info in KINDS}
"""Kinds by their name."""
