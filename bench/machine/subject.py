"""The cluster that is measured: brought up and taken down by the commands that people use, looked at from outside."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from penstock.engine import processes
from penstock.engine.layout import Layout
from penstock.engine.record import Bundle, Record

_IMAGES = Path(os.environ.get("PENSTOCK_CACHE") or Path.home() / ".cache" / "penstock") / "images"
_AGAIN = 0.05
"""Seconds between two questions whether all nodes are idle; sinfo itself takes about half of it."""
NODESET = "nodeset/slurm-worker-compute"


@dataclass(frozen=True, slots=True)
class Found:
    """A container as the engine has noted it."""

    name: str
    pod: str
    place: Path
    record: Record

    @property
    def pid(self) -> int:
        """Its first process."""
        return self.record.init.pid if self.record.init else 0


@dataclass(frozen=True, slots=True)
class Subject:
    """A cluster in a directory of its own."""

    place: Path
    cluster: str

    @property
    def layout(self) -> Layout:
        """Where its things are."""
        state = self.place / "state" / "clusters" / self.cluster
        return Layout(cluster=self.cluster, state=state, run=self.place / "r" / self.cluster)

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        """Begin a command of ours."""
        env = os.environ | {
            "PENSTOCK_STATE": str(self.place / "state"), "PENSTOCK_RUN": str(self.place / "r"),
            "PENSTOCK_IMAGES": os.environ.get("PENSTOCK_IMAGES") or str(_IMAGES), "PENSTOCK_CLUSTER": self.cluster,
            # Compiled once, as an installed package is, wherever this tree may not be written to.
            "PYTHONPYCACHEPREFIX": str(self.place / "compiled"), "PYTHONDONTWRITEBYTECODE": "",
        }  # fmt: skip
        with (self.place / "said").open("ab") as said:
            return subprocess.Popen([sys.executable, "-m", "penstock", *words], env=env, stdout=said, stderr=said)

    def penstock(self, *words: str) -> None:
        """Run a command of ours to its end."""
        with self.start(*words) as running:
            if running.wait():
                raise RuntimeError(f"penstock {' '.join(words)}:\n{(self.place / 'said').read_text()[-2000:]}")

    def containers(self, name: str = "*") -> list[Found]:
        """Those that run now."""
        found = []
        for path in self.layout.pods.glob(f"*/containers/{name}/*/container.json"):
            record = Bundle(path.parent, "").read()
            if record and record.init and record.started_at and processes.is_alive(record.init):
                found.append(Found(path.parents[1].name, path.parents[3].name, path.parent, record))
        return found

    def idle_nodes(self, since: float = 0.0) -> int:
        """How many nodes Slurm calls idle, asked beside slurmctld."""
        for one in self.containers("slurmctld"):
            return idle_nodes(["nsenter", "-t", str(one.pid), "--mount", "--net", "--uts"], since)
        return 0

    def until_idle(self, nodes: int, *, seconds: float = 180.0) -> float:
        """Wait for so many idle nodes; the time at which they were."""
        return until(lambda: self.idle_nodes() == nodes, seconds=seconds)


def idle_nodes(enter: list[str], since: float) -> int:
    """How many nodes are idle whose slurmd has started since then; none while nobody can be asked.

    What sinfo shows right after a start is what slurmctld remembers: a node counts when its new slurmd has come.
    """
    words = [*enter, "env", "TZ=UTC", "scontrol", "--oneliner", "show", "nodes"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return sum(_is_idle(line, since) for line in done.stdout.splitlines())


def _is_idle(line: str, since: float) -> bool:
    facts = dict(word.split("=", 1) for word in line.split() if "=" in word)
    states = set(facts.get("State", "").split("+"))
    if "IDLE" not in states or states & {"NOT_RESPONDING", "DRAIN", "PLANNED"}:
        return False
    started = facts.get("SlurmdStartTime", "None")
    return started != "None" and datetime.fromisoformat(f"{started}+00:00").timestamp() >= int(since)


def until(look: Callable[[], bool], *, seconds: float) -> float:
    """Look again and again until it is true; the time at which it was."""
    deadline = time.time() + seconds
    while not look():
        if time.time() > deadline:
            raise TimeoutError(f"not so after {seconds:.0f} s")
        time.sleep(_AGAIN)
    return time.time()


@contextmanager
def subject() -> Iterator[Subject]:
    """A cluster that was up once, and is removed in the end."""
    with tempfile.TemporaryDirectory(prefix="pb-") as name:
        it = Subject(Path(name), f"bench-{os.getpid()}")
        try:
            it.penstock("up", "--detach")
            yield it
        finally:
            it.penstock("down", "--purge", "--yes")
