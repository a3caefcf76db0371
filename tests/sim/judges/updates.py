"""An update takes no more workers away than it may.

That is `maxUnavailable` at a time; with `OnDelete` none at all, and with `ScheduledUpdate` none outside of the window.

Workers of machines go for other reasons too, so there only those count of which our own words say that they go for an
update. Who is missed depends on which machines there are, and an operator may hear of those late: so nobody is judged
by `maxUnavailable` there while machines come, go or are cordoned, nor shortly after.
"""

from __future__ import annotations

import math

from penstock.cluster.resources import Whole
from penstock.cluster.store.records import Change
from penstock.operator.nodeset.drains import PENSTOCK
from penstock.operator.nodeset.steps import Cause
from penstock.operator.resources import MACHINES, PODS
from penstock.render import labels
from tests.sim.books import Books, Promise, SetBook, Wish
from tests.simulation.loop import now
from tests.simulation.manifests import NAMESPACE
from tests.simulation.slurm import node_name

_FOR_UPDATES = f"{PENSTOCK}{Cause.UPDATE.value}"
_STILL = 100.0
"""Seconds after a change of a machine in which every operator has heard of it, whatever the weather."""


class Updates:
    """Knows how many workers were taken away, and nobody has come for them."""

    def __init__(self, books: Books) -> None:
        self._books = books
        self._away: dict[str, list[str]] = {}
        """By NodeSet: workers that went, the first first."""
        self._sizes: dict[str, tuple[str, int]] = {}
        """How many workers were asked for when the last one went, and in which mode."""
        self._machines_at = 0.0
        """When a machine last changed."""
        books.here.store.witness(PODS.name, self._pod)
        books.here.store.witness(MACHINES.name, self._machine)
        books.here.kubernetes.on_ready.append(self._ready)

    def _ready(self, pod: Whole) -> None:
        """Somebody is there; which seat it has does not matter."""
        if pod.metadata.labels.get(labels.NAME) == "slurmd":
            del self._away.get(pod.metadata.labels.get(labels.INSTANCE, ""), [])[:1]

    def _machine(self, _change: Change) -> None:
        """Who went before need not be missed any more."""
        self._machines_at = now()
        for book in self._books.sets.values():
            if book.wish.per_machine:
                self._away.pop(book.name, None)

    def _pod(self, change: Change) -> None:
        departure = self._books.departed.get(change.uid)
        if departure is None or departure.at != now() or departure.call is None:
            return
        book = self._books.set_of(change.before) if change.before else None
        if book is None or book.deleting or departure.astray or departure.excess > 0:
            return
        if book.wish.per_machine and not self._goes_for_an_update(change.uid):
            return
        if self._books.was_well(change.key.name):
            self._replaced(book, change.key.name, departure.wishes)

    def _goes_for_an_update(self, uid: str) -> bool:
        """Whether a worker does, by what Slurm was told."""
        nodes = self._books.here.slurm.nodes.values()
        return any(node.pod == uid and node.reason.startswith(_FOR_UPDATES) for node in nodes)

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
        if book.wish.per_machine and not self._is_missed(name):
            return
        size = (book.wish.scaling_mode, self._size(book.wish))
        if self._sizes.get(book.name) != size:
            # Who went before the NodeSet changed its size may not be missed any more.
            self._away[book.name], self._sizes[book.name] = [], size
        away = self._away.setdefault(book.name, [])
        away.append(name)
        self._books.counted["updates on machines" if book.wish.per_machine else "updates"] += 1
        allowed = max(_allowed(wish, self._size(wish)) for wish in wishes)
        if len(away) > allowed:
            words = f"{name} went for an update, {len(away)} are away ({', '.join(away)}), and {allowed} may be"
            self._books.breaks(Promise.AVAILABLE, words)

    def _is_missed(self, name: str) -> bool:
        """Whether somebody has to come for a worker of a machine: one that is cordoned takes nobody else."""
        pod = self._books.here.kubernetes.pods.get(name, NAMESPACE)
        machine = self._books.here.sight.views["Node"].get(str(pod.spec.get("nodeName"))) if pod else None
        still = now() > self._machines_at + _STILL
        return still and machine is not None and not machine.spec.get("unschedulable")

    def _size(self, wish: Wish) -> int:
        """How many workers are asked for; of machines all, for a cordoned one may have kept its own."""
        return len(self._books.here.sight.all("Node")) if wish.per_machine else wish.replicas


def _allowed(wish: Wish, size: int) -> int:
    most = wish.update_strategy.rolling_update.max_unavailable
    if isinstance(most, int):
        return most
    return math.ceil(size * int(most.rstrip("%")) / 100)
