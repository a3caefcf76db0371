"""Which address a pod gets: one that nobody has, and that nobody had for as long as possible.

Slurm remembers addresses of nodes that are gone; an address that comes back soon with somebody else behind it leads its
messages astray. Pure and forgetful: who uses which address stands with the pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Address, IPv4Network


class NoAddressLeft(Exception):
    """Every address of the subnet is in use; pods must go, or the subnet must be larger."""


class Addresses:
    """The addresses of one subnet: the first is the gateway's, the others are for pods."""

    def __init__(self, subnet: IPv4Network, *, in_use: Iterable[IPv4Address] = ()) -> None:
        if subnet.num_addresses < 4:
            raise ValueError(f"subnet {subnet} has no room for pods; use /29 or larger, for instance 10.244.0.0/16")
        self.subnet = subnet
        self._in_use = {address for address in in_use if self._is_for_pods(address)}
        # Oldest first; only the order of a dict is used.
        self._released: dict[IPv4Address, None] = {}
        # After a restart nobody knows what was released lately, but it is mostly below what was given last.
        self._last = max(self._in_use, default=self.gateway)
        self._fresh = self._never_given()

    @property
    def gateway(self) -> IPv4Address:
        """The address of the bridge."""
        return self.subnet.network_address + 1

    @property
    def in_use(self) -> frozenset[IPv4Address]:
        """Who could be called."""
        return frozenset(self._in_use)

    def allocate(self, wanted: IPv4Address | None = None) -> IPv4Address:
        """Give the wanted address if it is free, else the one that has been free for longest."""
        free = wanted is not None and self._is_for_pods(wanted) and wanted not in self._in_use
        address = wanted if free and wanted is not None else self._longest_free()
        self._released.pop(address, None)
        self._in_use.add(address)
        return address

    def release(self, address: IPv4Address) -> None:
        """Nobody has it any more; once more is as good as once."""
        if address in self._in_use:
            self._in_use.remove(address)
            self._released[address] = None

    def _longest_free(self) -> IPv4Address:
        for address in self._fresh:
            if address not in self._in_use and address not in self._released:
                return address
        for address in self._released:
            return address
        raise NoAddressLeft(f"all {len(self._in_use)} addresses of {self.subnet} are in use; give a larger subnet")

    def _never_given(self) -> Iterator[IPv4Address]:
        """Every address for pods once, beginning behind the last one that was in use."""
        first, beyond = int(self.gateway) + 1, int(self.subnet.broadcast_address)
        start = int(self._last) + 1
        for number in (*range(start, beyond), *range(first, start)):
            yield IPv4Address(number)

    def _is_for_pods(self, address: IPv4Address) -> bool:
        return self.gateway < address < self.subnet.broadcast_address
