"""Token: a JWT for Slurm's REST API, kept fresh in a Secret."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, ClassVar

from penstock.api.objects import Conditions, ObjectMeta, Part, SecretKeySelector, documented
from penstock.api.scalars import Duration

_DEFAULT_LIFETIME = Duration.parse("15m")


class TokenSpec(Part, frozen=True):
    """What a Token should be."""

    username: Annotated[str, documented("The Slurm user the token speaks for.", minLength=1, maxLength=255)]
    jwt_key_ref: Annotated[SecretKeySelector | None, documented("The HS256 key that signs. Cannot change.")] = None
    jwt_hs256_key_ref: Annotated[SecretKeySelector | None, documented("Deprecated: write jwtKeyRef.")] = None
    lifetime: Annotated[Duration, documented("How long a token is good for.")] = _DEFAULT_LIFETIME
    refresh: Annotated[bool, documented("Make a new token before the old one ends.")] = True
    secret_ref: Annotated[SecretKeySelector | None, documented("Secret to write; unset: <name>-jwt-<username>.")] = None

    @property
    def jwt_key(self) -> SecretKeySelector | None:
        """The JWT key in effect: the new field wins over the deprecated one."""
        return self.jwt_key_ref or self.jwt_hs256_key_ref


class TokenStatus(Part, frozen=True):
    """What is known about a Token."""

    issued_at: Annotated[datetime | None, documented("When the current token was made.")] = None
    conditions: Conditions = []


class Token(Part, frozen=True):
    """A token for one Slurm user."""

    kind: ClassVar[str] = "Token"

    metadata: ObjectMeta
    spec: TokenSpec
    status: TokenStatus = TokenStatus()
