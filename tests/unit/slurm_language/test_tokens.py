"""Tokens carry an identity that Slurm accepts, cannot be forged, and never show themselves or the key."""

import base64
import hashlib
import hmac
import json
import traceback
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.slurm.tokens import (
    BadSignatureError,
    Claims,
    ExpiredTokenError,
    Identity,
    MalformedTokenError,
    TokenError,
    TokenRequestError,
    read,
    refresh_due,
    sign,
)

KEY = bytes(range(100, 132))
NOW = 1_790_000_000
ALICE = Identity(  # noqa: S604 - a login shell, not a subprocess
    name="alice", uid=2001, gid=2002, gecos="Alice A.", home="/home/alice", shell="/bin/bash", groups=(2002, 7)
)
TOKEN_ID = "0b7e"


def token(key: bytes = KEY, username: str = "alice", lifetime: int = 3600, identity: Identity | None = ALICE) -> str:
    return sign(key, username=username, issued_at=NOW, lifetime_seconds=lifetime, token_id=TOKEN_ID, identity=identity)


def encoded(content: object) -> bytes:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).rstrip(b"=")


def by_hand(claims: object, *, key: bytes = KEY, alg: str = "HS256") -> str:
    """Sign without the library, as a stranger would."""
    signed = encoded({"alg": alg, "typ": "JWT"}) + b"." + encoded(claims)
    mac = base64.urlsafe_b64encode(hmac.digest(key, signed, hashlib.sha256)).rstrip(b"=")
    return (signed + b"." + mac).decode()


def payload(text: str) -> dict[str, Any]:
    body = text.split(".")[1]
    decoded: dict[str, Any] = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    return decoded


def test_a_token_carries_the_claims_that_slurm_reads() -> None:
    assert payload(token()) == {
        "iat": NOW,
        "nbf": NOW,
        "exp": NOW + 3600,
        "jti": TOKEN_ID,
        "iss": "penstock",
        "sun": "alice",
        "uid": 2001,
        "gid": 2002,
        "id": {"name": "alice", "gecos": "Alice A.", "dir": "/home/alice", "shell": "/bin/bash", "gids": [2002, 7]},
    }


def test_a_token_without_identity_only_names_the_user() -> None:
    assert set(payload(token(username="slurm", identity=None))) == {"iat", "nbf", "exp", "jti", "iss", "sun"}


def test_the_key_is_the_bytes_of_the_file_as_they_are() -> None:
    """Blanks and line ends belong to the key: Slurm reads the file that way."""
    key = b" 0123456789abcdef\n"
    signed, mac = token(key).rsplit(".", 1)
    assert base64.urlsafe_b64decode(mac + "=") == hmac.digest(key, signed.encode(), hashlib.sha256)


def test_what_was_signed_reads_back() -> None:
    assert read(token(), KEY, now=NOW) == Claims(
        username="alice", issued_at=NOW, expires_at=NOW + 3600, token_id=TOKEN_ID, issuer="penstock", identity=ALICE
    )


def test_a_token_of_scontrol_reads_too() -> None:
    claims = read(by_hand({"exp": NOW + 1800, "iat": NOW, "sun": "slurm"}), KEY, now=NOW)
    assert (claims.username, claims.identity) == ("slurm", None)


def test_a_token_of_another_key_is_refused() -> None:
    with pytest.raises(BadSignatureError, match="another key"):
        read(token(), KEY[::-1], now=NOW)


@given(at=st.integers(0, 400), char=st.sampled_from("ABCxyz019-_"))
@settings(max_examples=100, deadline=None)
def test_a_token_changed_in_one_place_is_refused(at: int, char: str) -> None:
    """The last character is left alone: two of its six bits mean nothing in base64."""
    whole = token()
    at %= len(whole) - 1
    if whole[at] in (char, "."):
        return
    with pytest.raises((BadSignatureError, MalformedTokenError)):
        read(whole[:at] + char + whole[at + 1 :], KEY, now=NOW)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not a token",
        "a.b.c",
        "é.é.é",
        by_hand([1, 2]),
        by_hand({"iat": NOW, "exp": NOW + 9}),
        by_hand({"iat": NOW, "exp": "never", "sun": "alice"}),
        by_hand({"iat": NOW, "exp": NOW + 9, "sun": "alice"}, alg="none"),
        by_hand({"iat": NOW, "exp": NOW + 9, "sun": "alice"}, alg="HS512"),
        by_hand(
            {"iat": NOW, "exp": NOW + 9, "sun": "a", "uid": -1, "gid": 1, "id": {"name": "a", "dir": "/", "shell": "s"}}
        ),
    ],
)
def test_what_is_no_slurm_token_is_refused(text: str) -> None:
    with pytest.raises(MalformedTokenError, match="no token for Slurm"):
        read(text, KEY, now=NOW)


def test_a_token_ends_in_the_second_it_names() -> None:
    assert read(token(), KEY, now=NOW + 3599).username == "alice"
    with pytest.raises(ExpiredTokenError, match='"alice" expired 0 s ago'):
        read(token(), KEY, now=NOW + 3600)


@pytest.mark.parametrize(("lifetime", "due"), [(3600, 2880), (100, 80), (5, 4)])
def test_a_token_is_renewed_when_four_fifths_of_its_life_are_over(lifetime: int, due: int) -> None:
    claims = read(token(lifetime=lifetime), KEY, now=NOW)
    assert not refresh_due(claims, NOW + due - 1)
    assert refresh_due(claims, NOW + due)
    assert refresh_due(claims, NOW + lifetime + 1)


def test_a_request_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(TokenRequestError, match="name of a user"):
        token(username=" ", identity=None)
    with pytest.raises(TokenRequestError, match="lifetime of 0 s"):
        token(lifetime=0)
    with pytest.raises(TokenRequestError, match='"bob" with the identity of "alice"'):
        token(username="bob")
    with pytest.raises(TokenRequestError, match="has 15 bytes"):
        token(KEY[:15])
    assert token(KEY[:16])


def test_a_public_key_is_no_secret() -> None:
    public = b"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ"
    with pytest.raises(TokenRequestError, match="make a secret one"):
        token(public)


@pytest.mark.parametrize("change", [{"uid": -1}, {"gid": -1}, {"groups": (7, -1)}, {"uid": 2**32 - 2}])
def test_an_identity_has_numbers_that_slurm_can_use(change: dict[str, Any]) -> None:
    with pytest.raises(TokenRequestError, match=r'"alice": [0-9-]+ is no uid or gid'):
        replace(ALICE, **change)


def test_an_identity_needs_a_name() -> None:
    with pytest.raises(TokenRequestError, match="name of a user"):
        replace(ALICE, name="")


@pytest.mark.parametrize("seconds", [0, 5000])
@pytest.mark.parametrize("key", [KEY, b"another-key-of-this-test", b"short-key"])
def test_neither_key_nor_token_appears_in_an_error(key: bytes, seconds: int) -> None:
    """Not in the message, and not in the chain of errors that a log prints."""
    whole = token(b"a-third-key-nobody-reads")
    with pytest.raises(TokenError) as refusal:
        read(whole, key, now=NOW + seconds)
    shown = "".join(traceback.format_exception(refusal.value)) + repr(refusal.value)
    assert whole not in shown
    assert not any(part in shown for part in whole.split("."))
    assert key.decode("latin-1") not in shown
