"""Several auth/slurm keys in one slurm.jwks."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.slurm.keyring import MIN_KEY_BYTES, Key, KeyringError, keyring

OLD, NEW = Key(b"o" * 1024), Key(bytes(range(256)) * 4)
keys = st.binary(min_size=MIN_KEY_BYTES, max_size=64).map(Key)


def entries(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(text)["keys"]
    return found


def signing(text: str) -> list[str]:
    return [entry["kid"] for entry in entries(text) if entry.get("use") == "default"]


def test_a_rotation_moves_the_default_from_key_to_key() -> None:
    steps = [keyring(OLD), keyring(OLD, [NEW]), keyring(NEW, [OLD]), keyring(NEW)]
    assert [signing(step) for step in steps] == [[OLD.kid], [OLD.kid], [NEW.kid], [NEW.kid]]
    believed = [{entry["kid"] for entry in entries(step)} for step in steps]
    assert believed == [{OLD.kid}, {OLD.kid, NEW.kid}, {OLD.kid, NEW.kid}, {NEW.kid}]


def test_an_entry_is_what_slurm_reads() -> None:
    """The bytes are those of slurm.key, so that daemons with the one and the other understand each other."""
    assert entries(keyring(NEW)) == [
        {"kty": "oct", "alg": "HS256", "kid": NEW.kid, "k": base64.b64encode(NEW.secret).decode(), "use": "default"}
    ]


@given(signing_key=keys, others=st.lists(keys, max_size=4))
def test_slurm_refuses_two_of_a_kid_and_two_defaults_so_there_are_none(signing_key: Key, others: list[Key]) -> None:
    text = keyring(signing_key, [*others, *others, signing_key])
    kids = [entry["kid"] for entry in entries(text)]
    assert len(kids) == len(set(kids))
    assert signing(text) == [signing_key.kid]
    assert text == keyring(signing_key, reversed(others))


def test_a_kid_is_stable_and_says_nothing_of_the_key() -> None:
    """It goes over the network in clear, and ends in logs."""
    assert OLD.kid == "dc95df2d2386aa66"
    assert "secret" not in repr(OLD)
    assert "ooo" not in repr(OLD)


def test_a_short_key_is_refused_before_slurmctld_dies_of_it() -> None:
    with pytest.raises(KeyringError, match="15 bytes is too short; take 1024 bytes"):
        Key(b"x" * 15)
