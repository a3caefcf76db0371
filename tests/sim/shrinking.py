"""The least that still fails: acts and steps are left out, one after another, as long as the same promise is broken."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from . import forks
from .mutants import Mutant
from .schedule import Act, Schedule


def shrunk(schedule: Schedule, broken: str, mutant: Mutant | None = None) -> Schedule:
    """A schedule that breaks the same promise with less."""
    promise = broken.partition(":")[0]
    smaller = True
    while smaller:
        smaller = False
        for less in _less(schedule):
            if _breaks(less, promise, mutant):
                schedule, smaller = less, True
                break
    return schedule


def _breaks(schedule: Schedule, promise: str, mutant: Mutant | None) -> bool:
    results = forks.play_alone(schedule, mutant=mutant)
    return any(words.partition(":")[0] == promise for one in results for words in one.broken)


def _less(schedule: Schedule) -> Iterator[Schedule]:
    """The schedule without something: whole acts first, for they are the largest."""
    acts = schedule.acts
    if len(acts) > 1:
        yield msgspec.structs.replace(schedule, acts=acts[-1:])
    for number in range(len(acts) - 1):
        yield msgspec.structs.replace(schedule, acts=(*acts[:number], *acts[number + 1 :]))
    for number, act in enumerate(acts):
        for one in _shorter(act):
            yield msgspec.structs.replace(schedule, acts=(*acts[:number], one, *acts[number + 1 :]))
    yield from _simpler(schedule)


def _shorter(act: Act) -> Iterator[Act]:
    for number in range(len(act.steps)):
        yield msgspec.structs.replace(act, steps=(*act.steps[:number], *act.steps[number + 1 :]))


def _simpler(schedule: Schedule) -> Iterator[Schedule]:
    """With a cluster of less: one operator, a long memory, one NodeSet."""
    cluster = schedule.cluster
    if cluster.leaders > 1:
        yield msgspec.structs.replace(schedule, cluster=msgspec.structs.replace(cluster, leaders=1))
    if cluster.history < 10_000:
        yield msgspec.structs.replace(schedule, cluster=msgspec.structs.replace(cluster, history=10_000))
