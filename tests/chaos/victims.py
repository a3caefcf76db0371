"""Whom to kill next: chosen by a seed, found among what runs at that moment."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from penstock.engine import processes
from penstock.engine.layout import Layout
from penstock.engine.processes import Identity
from penstock.engine.record import Bundle
from penstock.machine import process

CONTAINERS = (
    "slurmctld", "reconfigure", "slurmdbd", "mariadb", "slurmrestd", "slurmd", "sackd", "login", "initconf",
)  # fmt: skip
"""By the names of their containers; `slurmd` is one of several."""
OURSELVES = ("serve", "supervise")
"""The process with store, engine and operator; and the one that starts it again."""


@dataclass(frozen=True, slots=True)
class Shot:
    """What is to be killed, and how long nothing is killed after it."""

    what: str
    """`serve`, `supervise`, a container's `conmon`, its `first` process, or the `daemon` below that."""
    container: str
    choice: float
    """Which of several, between 0 and 1."""
    pause: float | None
    """Seconds; None: until a job has been accepted and has run since."""


@dataclass(frozen=True, slots=True)
class Kill:
    """What was killed, and when."""

    at: float
    what: str
    who: str

    def __str__(self) -> str:
        return f"{self.what} of {self.who}"


def schedule(seed: int, count: int) -> list[Shot]:
    """The same for the same seed. Bursts, pauses in which things recover half, and some in which all works again."""
    chance = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
    found = []
    for _ in range(count):
        what = chance.choices(["serve", "supervise", "conmon", "first", "daemon"], [18, 4, 26, 26, 26])[0]
        pause = chance.choices([0.05, chance.uniform(0.3, 1.5), None], [25, 45, 30])[0]
        found.append(Shot(what, chance.choice(CONTAINERS), chance.random(), pause))
    return found


def kill(shot: Shot, layout: Layout) -> Kill | None:
    """Kill it, or the next best when it is just being started again; None when nothing at all runs."""
    for one in _or_next_best(shot):
        if found := _found(one, layout):
            name, victim = found[int(one.choice * len(found))]
            at = time.time()
            if processes.send(victim, signal.SIGKILL):
                return Kill(at, one.what, name)
    return None


def containers(layout: Layout, name: str = "*") -> Iterator[tuple[str, Identity, Identity]]:
    """Containers as the engine has noted them: pod and name, conmon, first process; the dead ones too."""
    latest: dict[Path, int] = {}
    for path in layout.pods.glob(f"*/containers/{name}/*/container.json"):
        number = int(path.parent.name)
        latest[path.parent.parent] = max(number, latest.get(path.parent.parent, 0))
    for place, number in sorted(latest.items()):
        record = Bundle(place / str(number), "").read()
        if record and record.conmon and record.init:
            yield f"{place.name} ({place.parents[1].name[:8]})", record.conmon, record.init


def _or_next_best(shot: Shot) -> Iterator[Shot]:
    yield shot
    place = CONTAINERS.index(shot.container)
    what = "conmon" if shot.what in OURSELVES else shot.what
    for container in (*CONTAINERS[place:], *CONTAINERS[:place]):
        yield replace(shot, what=what, container=container)


def _found(shot: Shot, layout: Layout) -> list[tuple[str, Identity]]:
    if shot.what in OURSELVES:
        known = process.found(layout, shot.what)
        return [("the cluster", known)] if known else []
    found = []
    for name, conmon, first in containers(layout, shot.container):
        chosen = {"conmon": conmon, "first": first, "daemon": below(first) or first}[shot.what]
        if processes.is_alive(chosen):
            found.append((name, chosen))
    return found


def below(first: Identity) -> Identity | None:
    """The one child of a process, when it has exactly one: the daemon under tini."""
    try:
        children = Path(f"/proc/{first.pid}/task/{first.pid}/children").read_text().split()
    except OSError:
        return None
    return processes.identify(int(children[0])) if len(children) == 1 else None
