"""Whether every job that Slurm accepted ran exactly once, or was lost with a node and is reported so.

Slurm itself promises less when its controller is killed: slurmctld answers first and writes its jobs down up to five
seconds later (`SAVE_MAX_WAIT`). What happened to a job in the last moments before a kill of slurmctld is forgotten: an
accepted job may be gone, and one that began or ended may begin again. Such jobs are counted, and nothing is asked of
them but that each run after the first has such a kill of its own, next to the run before; all others are judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from .stream import Submission

MEMORY = 6.5
"""Seconds: SAVE_MAX_WAIT, one for the clock of whole seconds that Slurm counts with, and some for the disk."""
LATE = 2.5
"""Seconds by which a job, or the answer to who submitted it, may come after what slurmctld did, on a busy machine."""
_LOST = frozenset({"NODE_FAIL"})


@dataclass(frozen=True, slots=True)
class Line:
    """What a job wrote down."""

    name: str
    number: str
    restarts: int
    at: float
    what: str


@dataclass(slots=True)
class Verdict:
    """What became of the jobs."""

    counts: Counter[str] = field(default_factory=Counter)
    wrongs: list[str] = field(default_factory=list)


def lines(text: str) -> list[Line]:
    """Read what jobs wrote; a line that a job could not finish counts for nothing."""
    found = []
    for line in text.splitlines():
        match line.split():
            case [name, number, restarts, at, what]:
                found.append(Line(name, number, int(restarts), float(at), what))
    return found


def judge(
    submissions: Iterable[Submission],
    ran: Sequence[Line],
    states: Mapping[str, str],
    *,
    ends_of_slurmctld: Sequence[float],
) -> Verdict:
    """Judge every job by what it wrote and by what Slurm says of it; `states` by name."""
    verdict = Verdict()
    for one in submissions:
        mine = sorted((line for line in ran if line.name == one.name), key=lambda line: line.at)
        began, ended = (sum(line.what == what for line in mine) for what in ("began", "ended"))
        state = states.get(one.name, "unknown")
        told = f"job {one.name} ({one.number or 'no answer'}): began {began}, ended {ended}, Slurm says {state}"
        forgotten = any(_forgets(at, ends_of_slurmctld) for at in (one.at, *(line.at for line in mine)))
        if (began, ended, state) == (1, 1, "COMPLETED"):
            verdict.counts["ran once"] += 1
        elif state in _LOST and began <= 1:
            verdict.counts["lost with a node"] += 1
        elif not one.number and began == 0:
            verdict.counts["not accepted"] += 1
        elif forgotten and _explained(mine, ends_of_slurmctld):
            verdict.counts["in what slurmctld forgot"] += 1
        else:
            verdict.wrongs.append(told)
    strangers = {line.name for line in ran} - {one.name for one in submissions}
    verdict.wrongs += [f"job {name} ran, and nobody submitted it" for name in sorted(strangers)]
    return verdict


def _forgets(at: float, ends: Sequence[float]) -> bool:
    """Whether slurmctld may have forgotten what happened at a time."""
    return any(at - LATE <= end <= at + MEMORY for end in ends)


def _explained(mine: Sequence[Line], ends: Sequence[float]) -> bool:
    """Whether before each run after the first slurmctld forgot the beginning or the end of the one before."""
    begins = [place for place, line in enumerate(mine) if line.what == "began"]
    runs = [mine[first:after] for first, after in pairwise(begins)]
    return all(any(_forgets(line.at, ends) for line in run) for run in runs)
