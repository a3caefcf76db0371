"""Tokens that slurmctld and slurmrestd accept: HS256 JWTs, made with the bytes of jwt_hs256.key.

`scontrol token` only names a user, whom slurmctld must then find in its own passwd. A token with an identity carries
uid, gid and groups along, so that jobs run on nodes that have never heard of the user (AuthAltParameters
use_client_ids). Whoever holds the key can be anyone: neither the key nor a token is ever shown, in an error or a repr.
Time is a parameter everywhere, in seconds since 1970, so that the caller's clock is the only one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

# joserfc is loaded by whoever signs or reads, not by whoever might: it takes as long as all the rest of a start.
if TYPE_CHECKING:
    from joserfc.jwk import OctKey

MIN_KEY_BYTES = 16
# The two largest numbers mean "none given" and "all" to Slurm.
MAX_ID = 2**32 - 3


class TokenError(Exception):
    """Something is wrong with a token."""


class TokenRequestError(TokenError, ValueError):
    """The token cannot be made as asked for: correct the request."""


class MalformedTokenError(TokenError):
    """It is no token for Slurm: find out where it came from."""


class BadSignatureError(TokenError):
    """Another key signed it: ask for a new token, and check that the key was not exchanged."""


class ExpiredTokenError(TokenError):
    """It was good once: ask for a new one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A person as Slurm's nodes need to know them; a line of passwd and the group numbers."""

    name: str
    uid: int
    gid: int
    gecos: str
    home: str
    shell: str
    groups: tuple[int, ...]

    def __post_init__(self) -> None:
        _check_name(self.name)
        for number in (self.uid, self.gid, *self.groups):
            if not 0 <= number <= MAX_ID:
                raise TokenRequestError(f'"{self.name}": {number} is no uid or gid; use one from 0 to {MAX_ID}')


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """What a token says, once its signature was found good."""

    username: str
    issued_at: int
    expires_at: int
    token_id: str
    issuer: str
    identity: Identity | None


def prepare() -> None:
    """Load what signing needs, at a time that suits."""
    from joserfc import jwt  # noqa: F401, PLC0415


def sign(
    key: bytes,
    *,
    username: str,
    issued_at: int,
    lifetime_seconds: int,
    token_id: str,
    identity: Identity | None = None,
    issuer: str = "penstock",
) -> str:
    """Make a token that lets its bearer be `username` for `lifetime_seconds`."""
    from joserfc import jwt  # noqa: PLC0415

    _check_name(username)
    if lifetime_seconds <= 0:
        raise TokenRequestError(f'token for "{username}": a lifetime of {lifetime_seconds} s is over before it began')
    if identity is not None and identity.name != username:
        raise TokenRequestError(f'token for "{username}" with the identity of "{identity.name}"; use one name for both')
    claims: dict[str, object] = {
        "iat": issued_at,
        "nbf": issued_at,
        "exp": issued_at + lifetime_seconds,
        "jti": token_id,
        "iss": issuer,
        "sun": username,
    }
    if identity is not None:
        claims |= _identity_claims(identity)
    return jwt.encode({"alg": "HS256"}, claims, _import(key), algorithms=["HS256"])


def read(token: str, key: bytes, *, now: int) -> Claims:
    """Check the signature and the time of a token, and tell what it says."""
    from joserfc import errors, jwt  # noqa: PLC0415

    imported = _import(key)
    # From None: the library's own messages may quote the token.
    try:
        payload = jwt.decode(token, imported, algorithms=["HS256"]).claims
        claims = msgspec.convert(payload, _WireClaims).claims()
    except errors.BadSignatureError:
        raise BadSignatureError("the token was signed with another key; ask for a new one") from None
    except (errors.JoseError, msgspec.ValidationError, ValueError):
        raise MalformedTokenError(
            "this is no token for Slurm; it needs HS256 and the claims sun, iat and exp"
        ) from None
    if now >= claims.expires_at:
        raise ExpiredTokenError(
            f'the token of "{claims.username}" expired {now - claims.expires_at} s ago; ask for a new one'
        )
    return claims


def refresh_due(claims: Claims, now: int) -> bool:
    """Tell whether four fifths of the token's life are over, which leaves time to fail and try again."""
    lifetime = claims.expires_at - claims.issued_at
    return 5 * (claims.expires_at - now) <= lifetime


def _check_name(name: str) -> None:
    if not name.strip():
        raise TokenRequestError("a token needs the name of a user; give one, such as slurm for the administrator")


def _import(key: bytes) -> OctKey:
    from joserfc.jwk import OctKey  # noqa: PLC0415

    if len(key) < MIN_KEY_BYTES:
        raise TokenRequestError(
            f"the key for Slurm's tokens has {len(key)} bytes; make one of 32: "
            "dd if=/dev/urandom of=jwt_hs256.key bs=32 count=1"
        )
    try:
        return OctKey.import_key(key)
    except ValueError:
        raise TokenRequestError(
            "the key for Slurm's tokens is a public key, which everybody knows; make a secret one"
        ) from None


def _identity_claims(identity: Identity) -> dict[str, object]:
    person = {
        "name": identity.name,
        "gecos": identity.gecos,
        "dir": identity.home,
        "shell": identity.shell,
        "gids": list(identity.groups),
    }
    return {"uid": identity.uid, "gid": identity.gid, "id": person}


class _WirePerson(msgspec.Struct):
    name: str
    dir: str
    shell: str
    gecos: str = ""
    gids: tuple[int, ...] = ()


class _WireClaims(msgspec.Struct):
    """The claims in Slurm's spelling. `scontrol token` leaves out all that has a default."""

    sun: str
    iat: int
    exp: int
    jti: str = ""
    iss: str = ""
    uid: int | None = None
    gid: int | None = None
    id: _WirePerson | None = None

    def claims(self) -> Claims:
        return Claims(
            username=self.sun,
            issued_at=self.iat,
            expires_at=self.exp,
            token_id=self.jti,
            issuer=self.iss,
            identity=self._identity(),
        )

    def _identity(self) -> Identity | None:
        person = self.id
        if person is None or self.uid is None or self.gid is None:
            return None
        return Identity(
            name=person.name,
            uid=self.uid,
            gid=self.gid,
            gecos=person.gecos,
            home=person.dir,
            shell=person.shell,
            groups=person.gids,
        )
