"""No pod with a running job is deleted by us, and no worker that Slurm may still give jobs to."""

from __future__ import annotations

from penstock.api.objects import Json
from penstock.cluster.store.records import Change
from penstock.operator.resources import CUSTOMS, PODS
from tests.sim.books import LATELY, Books, Departure, Promise
from tests.simulation.loop import now
from tests.simulation.slurm import OPERATOR
from tests.simulation.slurm_records import Node


class Jobs:
    """Looks at each worker in the moment of its deletion."""

    def __init__(self, books: Books) -> None:
        self._books = books
        self._given_back: dict[str, float] = {}
        """When somebody other than the operator last had a node take jobs again."""
        books.here.store.witness(PODS.name, self._pod)
        books.here.store.witness(CUSTOMS["NodeSet"].name, self._node_set)

    def changes(self, node: Node, body: Json, who: str) -> None:
        """A node is told something."""
        if who != OPERATOR and "UNDRAIN" in (body.get("state") or []):
            self._given_back[node.name] = now()

    def forgot(self, node: Node) -> None:
        """Slurm forgot a drain."""
        self._given_back[node.name] = now()

    def _pod(self, change: Change) -> None:
        departure = self._books.departed.get(change.uid)
        if departure is None or departure.at != now() or departure.call is None:
            return
        node = next((one for one in self._books.here.slurm.nodes.values() if one.pod == change.uid), None)
        if node is None or node.down or self._nobody_could_know(node, departure):
            return
        if node.jobs:
            jobs = ", ".join(map(str, node.jobs))
            self._books.breaks(Promise.JOBS, f"{change.key.name} went, while job {jobs} ran on {node.name}")
        elif not node.drain and self._books.was_well(change.key.name):
            self._books.breaks(Promise.DRAINED, f"{change.key.name} went, and {node.name} was not drained")

    def _nobody_could_know(self, node: Node, departure: Departure) -> bool:
        """Whether the node was given back after the operator was told of it, and it asked right before it acted.

        That may have been for its jobs alone: those that it had by then are no surprise.
        """
        call = departure.call
        assert call is not None
        told = self._books.told(call.who, call.at)
        asked = max(told, self._books.counted_jobs(call.who, node.name, call.at))
        late = self._given_back.get(node.name, -1.0) >= told and call.at - asked <= LATELY
        late = late and all(self._books.here.slurm.jobs[number].began >= asked for number in node.jobs)
        self._books.counted["races that nobody can win"] += late
        return late

    def _node_set(self, change: Change) -> None:
        """A NodeSet that is gone takes along whoever is left of its workers; there should be nobody."""
        book = self._books.ended.get(change.uid)
        if change.after is not None or book is None:
            return
        for node in self._books.here.slurm.nodes.values():
            if node.pod in book.present and node.jobs:
                words = f"NodeSet {book.name} went, while job {', '.join(map(str, node.jobs))} ran on {node.name}"
                self._books.breaks(Promise.JOBS, words)
