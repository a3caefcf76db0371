"""Jobs are ended only by the policy that says so: `drain.onTimeout`, when its time is over, and after a warning.

Or by who deletes their NodeSet and says that nobody waits for them; they are warned all the same.
"""

from __future__ import annotations

from penstock.api.scalars import Duration
from tests.sim.books import Books, Promise, SetBook, Wish
from tests.simulation.loop import now
from tests.simulation.slurm_orders import KILL, REQUEUE
from tests.simulation.slurm_records import Job, Node

from .drains import Drains

_ACTIONS = {KILL: "Cancel", REQUEUE: "Requeue"}
_ROUNDING = 1.0
"""Seconds: Slurm's clock has no parts of them."""


class Bound:
    """Looks at each order about a running job."""

    def __init__(self, books: Books, drains: Drains) -> None:
        self._books = books
        self._drains = drains
        self._warned: set[int] = set()
        """Numbers of jobs."""
        books.here.slurm.on_order = self._order

    def _order(self, job: Job, order: str, _who: str) -> None:
        if order not in _ACTIONS:
            self._warned.add(job.number)
            self._books.counted["jobs warned"] += 1
            return
        self._books.counted[f"jobs ended by drain.onTimeout {_ACTIONS[order]}"] += 1
        nodes = [self._books.here.slurm.nodes[name] for name in job.nodes]
        if not any(self._is_over(node, _ACTIONS[order]) for node in nodes):
            self._books.breaks(Promise.BOUND, f"job {job.number} on {', '.join(job.nodes)} got {order}; nobody said so")
        elif job.number not in self._warned:
            self._books.breaks(Promise.BOUND, f"job {job.number} got {order}, and no warning")

    def _is_over(self, node: Node, action: str) -> bool:
        since, book = self._drains.ours.get(node.name), self._set_of(node)
        if book is not None and book.deleting and book.cancels:
            return action == "Cancel" and node.drain
        if since is None or book is None:
            return False
        return any(_allows(wish, action, now() - since + _ROUNDING) for wish in self._books.wishes(book))

    def _set_of(self, node: Node) -> SetBook | None:
        there = [*self._books.ended.values(), *self._books.sets.values()]
        return next((one for one in reversed(there) if one.name == f"slurm-worker-{node.feature}"), None)


def _allows(wish: Wish, action: str, seconds: float) -> bool:
    timeout = wish.drain.timeout
    return timeout is not None and wish.drain.on_timeout == action and seconds >= Duration.parse(timeout).seconds
