"""A schedule: a small cluster, and what people and the weather do to it, as data that can be kept and cut down.

It has acts. Each begins where the one before has come to rest, and ends when the cluster rests again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

MACHINES = 3
"""Machines there are at first: `machine-0` and so on."""


class Set(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A NodeSet. Policies are in the spelling of its spec."""

    name: str
    replicas: int
    per_machine: bool = False
    claims: bool = False
    policy: dict[str, Any] = {}

    @property
    def full_name(self) -> str:
        """The name of the object."""
        return f"slurm-worker-{self.name}"


class Cluster(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What there is at first."""

    sets: tuple[Set, ...]
    leaders: int = 1
    """Operators, of which one leads."""
    history: int = 10_000
    """Changes that the API server remembers."""


class Step(msgspec.Struct, frozen=True, array_like=True):
    """Something that happens."""

    at: float
    """Seconds after the act began."""
    what: str
    about: dict[str, Any] = {}

    def __str__(self) -> str:
        details = ", ".join(f"{name} {value}" for name, value in self.about.items())
        return f"{self.at:7.2f} s  {self.what}" + (f" ({details})" if details else "")


class Act(msgspec.Struct, frozen=True):
    """Steps until the cluster rests. The seed is that of the small chances: how long a message takes."""

    seed: int
    steps: tuple[Step, ...] = ()


class Schedule(msgspec.Struct, frozen=True):
    """All of it."""

    cluster: Cluster
    acts: tuple[Act, ...]

    def text(self) -> str:
        """As JSON, in one line."""
        return msgspec.json.encode(self).decode()

    def words(self) -> Iterator[str]:
        """In words, line by line."""
        for one in self.cluster.sets:
            size = "one worker per machine" if one.per_machine else f"{one.replicas} workers"
            yield f"NodeSet {one.name}: {size}{', with claims' if one.claims else ''}, {one.policy or 'no policy'}"
        yield f"{self.cluster.leaders} operators; the API server remembers {self.cluster.history} changes"
        for number, act in enumerate(self.acts, start=1):
            yield f"act {number} of {len(self.acts)} (seed {act.seed}):"
            yield from (f"  {step}" for step in act.steps)


def read(text: str) -> Schedule:
    """The schedule of a text."""
    return msgspec.json.decode(text, type=Schedule)
