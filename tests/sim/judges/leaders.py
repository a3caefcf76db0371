"""Only the leader writes: what takes effect while somebody else holds the lease was not lawful."""

from __future__ import annotations

import msgspec

from penstock.cluster.leader import LeaseSpec
from penstock.cluster.store.records import Change
from tests.sim.books import Books, Promise
from tests.simulation.port import LEASE


class _Lease(msgspec.Struct, frozen=True):
    spec: LeaseSpec = LeaseSpec()


class Leaders:
    """Knows who holds the lease."""

    def __init__(self, books: Books) -> None:
        self._books = books
        self._holder: str | None = None
        books.here.store.witness(LEASE, self._lease)

    def wrote(self, who: str, verb: str, resource: str) -> None:
        """A write of an operator has taken effect."""
        if resource != LEASE and self._holder not in {None, "", who}:
            self._books.breaks(Promise.LEADER, f"{who} did {verb} {resource}, while {self._holder} held the lease")

    def _lease(self, change: Change) -> None:
        if change.after is not None:
            self._holder = msgspec.json.decode(change.after.body, type=_Lease).spec.holder_identity
