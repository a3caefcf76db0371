"""No storms: so much in a minute and not more, and at rest nothing but a question now and then."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter

from penstock.cluster.wrapper import WRITES
from tests.sim.books import Books, Promise
from tests.simulation.loop import now
from tests.simulation.port import LEASE, Call
from tests.simulation.slurmrestd import Request

WRITES_A_MINUTE = 400
REQUESTS_A_MINUTE = 200
RESTS = 2
"""How many of the operator's own pauses a rest is long."""
QUESTIONS_AT_REST = RESTS + 2


class Calm:
    """Counts what operators write and ask."""

    def __init__(self, books: Books) -> None:
        self._books = books
        self._since = 0.0

    def begins(self) -> None:
        """From now on it counts."""
        self._since = now()

    def over(self) -> None:
        """Judge what there was since it began."""
        for what, most, times in (
            ("writes", WRITES_A_MINUTE, [call.at for call in self._writes()]),
            ("requests to slurmrestd", REQUESTS_A_MINUTE, [one.at for one in self._requests()]),
        ):
            a_minute = Counter(int(at - self._since) // 60 for at in times)
            if a_minute and max(a_minute.values()) > most:
                self._books.breaks(Promise.CALM, f"there were {max(a_minute.values())} {what} in a minute")

    def rested(self) -> None:
        """Judge what there was since it began, which was rest."""
        if writes := self._writes():
            told = Counter(f"{call.verb} {call.resource}" for call in writes)
            self._books.breaks(Promise.CALM, f"there was writing at rest: {dict(told)}")
        if len(requests := self._requests()) > QUESTIONS_AT_REST:
            told = Counter(f"{one.method} {one.path.partition('?')[0]}" for one in requests)
            self._books.breaks(Promise.CALM, f"there were too many requests at rest: {dict(told)}")

    def _writes(self) -> list[Call]:
        return [
            call
            for running in self._books.here.operators
            for call in _since(running.port.calls, self._since)
            if call.verb in WRITES and call.resource != LEASE
        ]

    def _requests(self) -> list[Request]:
        return [one for one in self._books.here.slurmrestd.requests if one.at >= self._since]


def _since(calls: list[Call], at: float) -> list[Call]:
    """Those of a time or later; they are noted when they begin, so in the order of their times."""
    return calls[bisect_left(calls, at, key=lambda call: call.at) :]
