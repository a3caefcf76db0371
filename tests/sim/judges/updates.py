"""An update takes no more workers away than it may.

That is `maxUnavailable` at a time; with `OnDelete` none at all, and with `ScheduledUpdate` none outside of the window.
"""

from __future__ import annotations

import math

from penstock.cluster.resources import Whole
from penstock.cluster.store.records import Change
from penstock.operator.resources import PODS
from penstock.render import labels
from tests.sim.books import Books, Promise, SetBook, Wish
from tests.simulation.loop import now
from tests.simulation.manifests import NAMESPACE
from tests.simulation.slurm import node_name


class Updates:
    """Knows how many workers were taken away, and nobody has come for them."""

    def __init__(self, books: Books) -> None:
        self._books = books
        self._away: dict[str, list[str]] = {}
        """By NodeSet: workers that went, the first first."""
        self._sizes: dict[str, int] = {}
        """How many workers were asked for when the last one went."""
        books.here.store.witness(PODS.name, self._pod)
        books.here.kubernetes.on_ready.append(self._ready)

    def _ready(self, pod: Whole) -> None:
        """Somebody is there; which seat it has does not matter."""
        if pod.metadata.labels.get(labels.NAME) == "slurmd":
            del self._away.get(pod.metadata.labels.get(labels.INSTANCE, ""), [])[:1]

    def _pod(self, change: Change) -> None:
        departure = self._books.departed.get(change.uid)
        if departure is None or departure.at != now() or departure.call is None:
            return
        book = self._books.set_of(change.before) if change.before else None
        if book is None or book.deleting or book.wish.per_machine or departure.excess > 0:
            return
        if self._books.was_well(change.key.name):
            self._replaced(book, change.key.name, departure.wishes)

    def _replaced(self, book: SetBook, name: str, wishes: tuple[Wish, ...]) -> None:
        """A worker goes for an update; what people asked for a moment ago may still allow it."""
        strategies = {wish.update_strategy.type for wish in wishes}
        if "ScheduledUpdate" in strategies and self._in_window(name):
            self._books.counted["updates in a window"] += 1
        elif "RollingUpdate" in strategies:
            self._rolled(book, name, wishes)
        else:
            words = f"{name} went for an update, with {', '.join(sorted(strategies))}"
            self._books.breaks(Promise.AVAILABLE, words)

    def _in_window(self, name: str) -> bool:
        pod = self._books.here.kubernetes.pods.get(name, NAMESPACE)
        node = self._books.here.slurm.nodes.get(node_name(pod)) if pod else None
        return node is not None and bool(node.reservation)

    def _rolled(self, book: SetBook, name: str, wishes: tuple[Wish, ...]) -> None:
        if self._sizes.get(book.name) != book.wish.replicas:
            # Who went before the NodeSet changed its size may not be missed any more.
            self._away[book.name], self._sizes[book.name] = [], book.wish.replicas
        away = self._away[book.name]
        away.append(name)
        self._books.counted["updates"] += 1
        allowed = max(_allowed(wish) for wish in wishes)
        if len(away) > allowed:
            words = f"{name} went for an update, {len(away)} are away ({', '.join(away)}), and {allowed} may be"
            self._books.breaks(Promise.AVAILABLE, words)


def _allowed(wish: Wish) -> int:
    most = wish.update_strategy.rolling_update.max_unavailable
    if isinstance(most, int):
        return most
    return math.ceil(wish.replicas * int(most.rstrip("%")) / 100)
