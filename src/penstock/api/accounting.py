"""Accounting: slurmdbd and the database behind it."""

from __future__ import annotations

from typing import Annotated, ClassVar

from penstock.api.controller import ContractChoice
from penstock.api.objects import (
    Conditions,
    ConfigMapKeySelector,
    Container,
    ExternalConfig,
    ObjectMeta,
    Part,
    PodTemplate,
    Port,
    SecretKeySelector,
    ServiceTemplate,
    documented,
)


class StorageConfig(Part, frozen=True):
    """The MariaDB or MySQL database of slurmdbd."""

    host: Annotated[str, documented("Host of the database.")]
    password_key_ref: Annotated[SecretKeySelector, documented("The Secret with the password.")]
    port: Annotated[Port, documented("Port of the database.")] = 3306
    database: Annotated[str, documented("Name of the database.")] = "slurm_acct_db"
    username: Annotated[str | None, documented("User of the database.")] = None


class AccountingSpec(Part, frozen=True):
    """What an Accounting should be."""

    slurm_key_ref: Annotated[SecretKeySelector | None, documented("The auth/slurm key.")] = None
    jwt_key_ref: Annotated[SecretKeySelector | None, documented("The HS256 key for tokens. Cannot change.")] = None
    jwt_hs256_key_ref: Annotated[SecretKeySelector | None, documented("Deprecated: write jwtKeyRef.")] = None
    jwks_key_ref: Annotated[ConfigMapKeySelector | None, documented("Public keys of an identity provider.")] = None
    external: Annotated[bool, documented("slurmdbd runs elsewhere.")] = False
    external_config: Annotated[ExternalConfig | None, documented("Where the external slurmdbd is.")] = None
    slurmdbd: Container = {}
    template: Annotated[PodTemplate, documented("Merged onto the slurmdbd pod.")] = PodTemplate()
    storage_config: Annotated[StorageConfig | None, documented("The database.")] = None
    extra_conf: Annotated[str | None, documented("Text appended to slurmdbd.conf.", maxLength=262144)] = None
    service: Annotated[ServiceTemplate, documented("The Service in front of slurmdbd.")] = ServiceTemplate()
    image_contract: ContractChoice = None

    @property
    def jwt_key(self) -> SecretKeySelector | None:
        """The JWT key in effect: the new field wins over the deprecated one."""
        return self.jwt_key_ref or self.jwt_hs256_key_ref


class AccountingStatus(Part, frozen=True):
    """What is known about an Accounting."""

    conditions: Conditions = []


class Accounting(Part, frozen=True):
    """Slurm's accounting of one or more clusters."""

    kind: ClassVar[str] = "Accounting"

    metadata: ObjectMeta
    spec: AccountingSpec = AccountingSpec()
    status: AccountingStatus = AccountingStatus()
