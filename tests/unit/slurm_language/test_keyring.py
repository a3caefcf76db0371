"""Several auth/slurm keys in one slurm.jwks, and the way from one key to another."""

import base64
import json
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.slurm.keyring import MIN_KEY_BYTES, Key, KeyringError, Ring, Written, next_ring

OLD, NEW, NEWER = Key(b"o" * 1024), Key(bytes(range(256)) * 4), Key(b"n" * 1024)
NOW = datetime(2026, 11, 16, 3, 10, tzinfo=UTC)
keys = st.binary(min_size=MIN_KEY_BYTES, max_size=64).map(Key)
few_keys = st.sampled_from([OLD, NEW, NEWER, Key(b"x" * 16)])
rings = st.builds(Ring, keys, st.frozensets(keys, max_size=4))


def ring(signing: Key, *others: Key) -> Ring:
    return Ring(signing, frozenset(others))


def entries(given: Ring) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(Written(given, NOW).text())["keys"]
    return found


def test_a_rotation_moves_the_default_from_key_to_key() -> None:
    steps = [ring(OLD)]
    while steps[-1] != ring(NEW):
        steps.append(next_ring(steps[-1], NEW))
    assert steps == [ring(OLD), ring(OLD, NEW), ring(NEW, OLD), ring(NEW)]
    assert next_ring(ring(NEW), NEW) == ring(NEW)
    assert next_ring(None, NEW) == ring(NEW)


@pytest.mark.parametrize(
    ("given", "wanted", "then"),
    [
        pytest.param(ring(OLD, NEW), OLD, ring(OLD), id="back before anybody signs with it"),
        pytest.param(ring(NEW, OLD), OLD, ring(OLD, NEW), id="back when all sign with it"),
        pytest.param(ring(OLD, NEW), NEWER, ring(OLD, NEWER), id="another before anybody signs with it"),
        pytest.param(ring(NEW, OLD), NEWER, ring(NEW, NEWER), id="another when all sign with it"),
    ],
)
def test_a_change_of_mind_is_one_more_step(given: Ring, wanted: Key, then: Ring) -> None:
    assert next_ring(given, wanted) == then


@given(few_keys, st.lists(few_keys, max_size=12))
def test_nobody_ever_meets_one_whom_it_does_not_understand(first: Key, wishes: list[Key]) -> None:
    """Whatever people want, and whenever: during each step some have the ring before, and some the next."""
    path = [next_ring(None, first)]
    for wanted in [*wishes, *wishes[-1:] * 3]:
        path.append(next_ring(path[-1], wanted))
    assert path[-1] == ring((wishes or [first])[-1]), "three more steps lead to the end, from wherever"
    for one, other in pairwise(path):
        assert one.understands(other)
        assert other.understands(one)


@given(rings, keys)
def test_any_ring_that_is_found_leads_to_the_end(found: Ring, wanted: Key) -> None:
    """Also one that somebody wrote by hand."""
    path = [found]
    for _ in range(3):
        path.append(next_ring(path[-1], wanted))
        assert path[-1].understands(path[-2])
        assert path[-2].understands(path[-1])
    assert path[-1] == ring(wanted)


def test_an_entry_is_what_slurm_reads() -> None:
    """The bytes are those of slurm.key, so that daemons with the one and the other understand each other."""
    assert entries(ring(NEW)) == [
        {"kty": "oct", "alg": "HS256", "kid": NEW.kid, "k": base64.b64encode(NEW.secret).decode(), "use": "default"}
    ]


@given(signing=keys, others=st.lists(keys, max_size=4))
def test_slurm_refuses_two_of_a_kid_and_two_defaults_so_there_are_none(signing: Key, others: list[Key]) -> None:
    found = entries(ring(signing, *others, *others, signing))
    kids = [entry["kid"] for entry in found]
    assert len(kids) == len(set(kids))
    assert [entry["kid"] for entry in found if entry.get("use") == "default"] == [signing.kid]
    assert found == entries(ring(signing, *reversed(others)))


@given(rings)
def test_what_is_written_is_read(given: Ring) -> None:
    written = Written(given, NOW)
    assert Written.read(written.text().encode()) == written


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"keys":[]}', '{"keys":[{"kty":"oct","alg":"HS256","kid":"1","k":"c2VjcmV0","use":""}]}']
)
def test_what_is_no_ring_is_refused_and_not_quoted(text: str) -> None:
    with pytest.raises(KeyringError, match=r"^this is no slurm\.jwks of ours$"):
        Written.read(text.encode())


def test_a_kid_is_stable_and_says_nothing_of_the_key() -> None:
    """It goes over the network in clear, and ends in logs."""
    assert OLD.kid == "dc95df2d2386aa66"
    assert "secret" not in repr(OLD)
    assert "ooo" not in repr(ring(OLD, NEW))


def test_a_short_key_is_refused_before_slurmctld_dies_of_it() -> None:
    with pytest.raises(KeyringError, match="15 bytes is too short; take 1024 bytes"):
        Key(b"x" * 15)
