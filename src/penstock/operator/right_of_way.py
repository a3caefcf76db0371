"""Those of us who give Slurm nodes back, and those who take their workers away, keep out of each other's way.

Both ask Slurm right before, and both are right: the node is drained. Then one has it take jobs again, and the other
deletes the worker that is about to get one. So each says first which nodes it is about to touch, and leaves those alone
that the other named. Nobody waits for anybody: what could not be done now is done at the next look.

An order to give a node back that Slurm did not answer may still be carried out: a slurmrestd that stood still does so
when it goes on. So the worker of such a node goes only a while after Slurm has been heard again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from penstock.slurm.rest.errors import SlurmError

_GOES = 60.0
"""Seconds for which a node is that of a worker that goes: until then it is gone, or stays after all."""
_LATE = 10.0
"""Seconds in which an order that was not answered is carried out, once Slurm answers again."""


@dataclass(slots=True)
class RightOfWay:
    """The nodes of one Slurm that somebody of us is about to touch."""

    _given_back: set[str] = field(default_factory=set)
    _going: dict[str, float] = field(default_factory=dict)
    """Until when, by the loop's time."""
    _doubted: dict[str, float | None] = field(default_factory=dict)
    """Nodes that may still be given back, and until when; None: Slurm has not been heard since."""

    def take(self, nodes: Collection[str]) -> frozenset[str]:
        """Those of some nodes whose workers may be deleted now; from now on nobody gives them back."""
        now = asyncio.get_running_loop().time()
        free = frozenset(nodes).difference(self._given_back, self._doubted)
        self._going = {name: until for name, until in self._going.items() if until > now}
        self._going |= dict.fromkeys(free, now + _GOES)
        return free

    @contextmanager
    def give_back(self, nodes: Collection[str]) -> Iterator[frozenset[str]]:
        """Those of some nodes that may be given back now; nobody deletes their workers meanwhile."""
        now = asyncio.get_running_loop().time()
        free = frozenset(name for name in nodes if self._going.get(name, now) <= now) - self._given_back
        self._given_back |= free
        try:
            yield free
        except SlurmError:
            self.doubt(free)
            raise
        finally:
            self._given_back -= free

    def doubt(self, nodes: Iterable[str]) -> None:
        """Slurm was told to give some nodes back, and did not say whether it does."""
        self._doubted |= dict.fromkeys(nodes)

    def heard(self) -> None:
        """Slurm answers: what it was told before is carried out in a while, or never."""
        if self._doubted:
            now = asyncio.get_running_loop().time()
            until = {name: until or now + _LATE for name, until in self._doubted.items()}
            self._doubted = {name: moment for name, moment in until.items() if moment > now}
