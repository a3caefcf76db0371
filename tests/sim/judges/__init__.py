"""Who looks after the promises while a schedule is played. Each listens to what it minds, and looks at nothing else."""

from __future__ import annotations

from penstock.api.objects import Json
from tests.sim.books import Books, Promise
from tests.simulation.slurm_records import Node

from .bound import Bound
from .calm import Calm
from .claims import Claims
from .drains import Drains
from .jobs import Jobs
from .leaders import Leaders
from .updates import Updates


class Bench:
    """All judges of a world."""

    def __init__(self, books: Books) -> None:
        self.jobs = Jobs(books)
        self.claims = Claims(books)
        self.drains = Drains(books)
        self.bound = Bound(books, self.drains)
        self.calm = Calm(books)
        self.leaders = Leaders(books)
        self.updates = Updates(books)
        books.here.slurm.on_change = self._changes
        books.here.slurm.on_forgotten = self._forgotten
        books.here.slurm.on_partition_lost = lambda name: books.breaks(Promise.PARTITIONS, f"partition {name} went")

    def _changes(self, node: Node, body: Json, who: str) -> None:
        self.jobs.changes(node, body, who)
        self.drains.changes(node, body, who)

    def _forgotten(self, node: Node) -> None:
        self.jobs.forgot(node)
        self.drains.forgot(node)
