"""Addresses of pods: never two at once, and never again soon."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.addresses import Addresses, NoAddressLeft

SMALL = IPv4Network("10.9.0.0/28")
ROOM = 13  # 16 without the network's own, the gateway's and the broadcast address


def ip(last: int) -> IPv4Address:
    return SMALL.network_address + last


@given(st.sets(st.integers(0, 15)), st.lists(st.integers(0, 12) | st.none(), max_size=60))
def test_no_address_is_given_twice_and_all_are_for_pods(used: set[int], steps: list[int | None]) -> None:
    """None allocates, a number releases one of those in use."""
    addresses = Addresses(SMALL, in_use=[ip(number) for number in used])
    held = set(addresses.in_use)
    for step in steps:
        if step is None and len(held) < ROOM:
            given_out = addresses.allocate()
            assert given_out not in held
            assert ip(2) <= given_out <= ip(14)
            held.add(given_out)
        elif step is not None and held:
            gone = sorted(held)[step % len(held)]
            addresses.release(gone)
            held.remove(gone)
    assert addresses.in_use == held


def test_a_released_address_rests_for_as_long_as_possible() -> None:
    """Slurm caches addresses: the one that was released last comes back last."""
    addresses = Addresses(SMALL)
    first = [addresses.allocate() for _ in range(ROOM)]
    for number in (5, 3, 8):
        addresses.release(first[number])
    assert [addresses.allocate() for _ in range(3)] == [first[5], first[3], first[8]]


def test_an_address_nobody_had_goes_before_a_released_one() -> None:
    addresses = Addresses(SMALL)
    gone = addresses.allocate()
    addresses.release(gone)
    assert gone not in [addresses.allocate() for _ in range(ROOM - 1)]
    assert addresses.allocate() == gone


def test_after_a_restart_those_behind_the_last_in_use_come_first() -> None:
    """What was released before the restart is mostly below it."""
    addresses = Addresses(SMALL, in_use=[ip(7)])
    assert [addresses.allocate() for _ in range(8)] == [ip(number) for number in (8, 9, 10, 11, 12, 13, 14, 2)]


def test_an_address_that_was_in_use_before_a_restart_rests_too() -> None:
    addresses = Addresses(SMALL, in_use=[ip(2), ip(7)])
    addresses.release(ip(2))
    given_out = [addresses.allocate() for _ in range(ROOM - 1)]
    assert given_out[-1] == ip(2)


def test_a_wanted_address_is_given_while_it_is_free() -> None:
    addresses = Addresses(SMALL)
    assert addresses.allocate(ip(9)) == ip(9)
    assert addresses.allocate(ip(9)) == ip(2)
    assert addresses.allocate(addresses.gateway) == ip(3), "the gateway's is never free"


def test_a_full_subnet_says_so() -> None:
    addresses = Addresses(SMALL, in_use=[ip(number) for number in range(2, 15)])
    with pytest.raises(NoAddressLeft, match=r"all 13 addresses of 10\.9\.0\.0/28 are in use"):
        addresses.allocate()


def test_releasing_twice_or_what_was_never_given_changes_nothing() -> None:
    addresses = Addresses(SMALL)
    given_out = addresses.allocate()
    addresses.release(given_out)
    addresses.release(given_out)
    addresses.release(IPv4Address("192.0.2.1"))
    everything = [addresses.allocate() for _ in range(ROOM)]
    assert len(set(everything)) == ROOM


def test_a_subnet_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="no room for pods"):
        Addresses(IPv4Network("10.0.0.0/31"))
