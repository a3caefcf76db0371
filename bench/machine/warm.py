"""Warm start: images cached, data there, to all nodes idle; against the same daemons started bare, turn by turn."""

from __future__ import annotations

import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from machine import bare
from machine.subject import NODESET, Subject, idle_nodes, until
from machine.timeline import Timeline


@dataclass(slots=True)
class Turns:
    """Seconds of each turn."""

    penstock: list[float] = field(default_factory=list)
    command: list[float] = field(default_factory=list)
    """Until `penstock up` itself came back, a job having run on every node."""
    bare: list[float] = field(default_factory=list)
    at_once: list[float] = field(default_factory=list)
    """Bare, but nobody waits for anybody: what a script dares that knows slurmctld's own data to be there."""
    timeline: Timeline | None = None
    steps: dict[str, float] = field(default_factory=dict)
    """When each step of the bare start was done."""

    @property
    def ratio(self) -> float:
        """How many times as long it takes as a script that does one thing after the other."""
        return statistics.median(self.penstock) / statistics.median(self.bare)

    @property
    def ratio_at_once(self) -> float:
        """And as one that does not."""
        return statistics.median(self.penstock) / statistics.median(self.at_once)


def measure(it: Subject, *, workers: int, turns: int) -> Turns:
    """Take the cluster down and up again, and start its daemons bare in between; it is up in the end."""
    it.penstock("scale", NODESET, f"--replicas={workers}")
    it.until_idle(workers)
    found = Turns()
    with tempfile.TemporaryDirectory(prefix="pb-bare-", dir=it.place) as name:
        place = Path(name)
        place.chmod(0o755)
        wanted = bare.described(it.containers(), place, workers=workers)
        it.penstock("down")
        bare.with_data(it.layout.claims, place)
        with bare.machine(wanted, place) as machine:
            _bare_turn(machine, place, workers)  # once, so that its nodes are known as ours are
            for _ in range(turns):
                seconds, found.steps = _bare_turn(machine, place, workers)
                found.bare.append(seconds)
                _our_turn(it, workers, found)
                found.at_once.append(_bare_turn(machine, place, workers, at_once=True)[0])
                it.penstock("down")
    it.penstock("up", "--detach", "--workers", str(workers))
    return found


def _bare_turn(
    machine: subprocess.Popen[str], place: Path, workers: int, *, at_once: bool = False
) -> tuple[float, dict[str, float]]:
    began = time.time()
    steps = {what: at - began for what, at in bare.started(machine, at_once=at_once).items()}
    enter = bare.enter(machine, place)
    seconds = until(lambda: idle_nodes(enter, began) == workers, seconds=60) - began
    bare.stopped(machine)
    return seconds, steps


def _our_turn(it: Subject, workers: int, found: Turns) -> None:
    began = time.time()
    with it.start("up", "--detach", "--workers", str(workers)) as command:
        timeline = Timeline(it, began)
        timeline.follow(workers)
        found.penstock.append(timeline.seconds["all nodes idle"])
        if command.wait():
            raise RuntimeError((it.place / "said").read_text()[-2000:])
        found.command.append(time.time() - began)
        timeline.finish()
    found.timeline = timeline
