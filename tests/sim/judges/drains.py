"""People's drains and cordons stay. A drain of theirs that an order of ours crosses on its way is nobody's fault."""

from __future__ import annotations

from penstock.api.objects import Json
from penstock.cluster.store.records import Change
from penstock.operator.resources import PODS
from penstock.render import labels
from tests.sim.books import LATELY, Books, Promise
from tests.simulation.loop import now
from tests.simulation.port import ACTOR
from tests.simulation.slurm import OPERATOR, PERSON
from tests.simulation.slurm_records import Node

CORDONS = ("nodeset.slinky.slurm.net/pod-cordon", "slinky.slurm.net/pod-cordon")


class Drains:
    """Whose drains there are."""

    def __init__(self, books: Books) -> None:
        self._books = books
        self.people: dict[str, float] = {}
        """Nodes that people drained, and when."""
        self.ours: dict[str, float] = {}
        """Nodes that the operator drained, and since when."""
        books.here.store.witness(PODS.name, self._pod)

    def changes(self, node: Node, body: Json, who: str) -> None:
        """A node is told something."""
        for word in body.get("state") or []:
            if who == OPERATOR:
                self._ordered(node, word)
            elif word == "DRAIN":
                self.people[node.name] = now()
            else:
                self.people.pop(node.name, None)
            if who == OPERATOR and word == "DRAIN":
                self.ours.setdefault(node.name, now())
            else:
                self.ours.pop(node.name, None)
            self._books.counted[f"{'drains' if word == 'DRAIN' else 'undrains'} by {who}"] += 1

    def forgot(self, node: Node) -> None:
        """Slurm forgot what happened to a node of late."""
        if node.drain and node.whose == PERSON:
            self.people.setdefault(node.name, now())
        else:
            self.people.pop(node.name, None)
        if not node.drain or node.whose != OPERATOR:
            self.ours.pop(node.name, None)

    def _ordered(self, node: Node, word: str) -> None:
        """The operator speaks about a node; what people did after it was last told it cannot know.

        That may be long on its way, where there are many nodes: it has to speak as soon as it hears.
        """
        since, asking = self.people.get(node.name), self._books.here.slurmrestd.asking
        if since is None or asking is None:
            return
        heard, told = self._books.heard(asking.who, asking.at)
        if since >= told and asking.at - heard <= LATELY:
            self._books.counted["races that nobody can win"] += 1
            del self.people[node.name]
        elif word == "UNDRAIN":
            self._books.breaks(Promise.PEOPLE, f"{node.name} was given back, which a person drained at {since:.2f} s")
        else:
            words = f"{node.name} got a reason of ours ({node.reason!r} is lost), and a person drained it"
            self._books.breaks(Promise.PEOPLE, f"{words} at {since:.2f} s")

    def _pod(self, change: Change) -> None:
        if ACTOR.get() is None or change.before is None or change.after is None:
            return
        was, now_are = change.before.meta.annotations, change.after.meta.annotations
        if was == now_are or change.after.meta.labels.get(labels.NAME) != "slurmd":
            return
        for name in CORDONS:
            if was.get(name) != now_are.get(name):
                self._books.breaks(Promise.PEOPLE, f"{change.key.name}: {name} is {now_are.get(name)}, not as it was")
