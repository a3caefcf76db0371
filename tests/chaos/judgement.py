"""Whether every job that Slurm accepted ran exactly once, or was lost with a node and is reported so.

Slurm itself promises less when its controller is killed: slurmctld answers first and writes its jobs down up to five
seconds later (`SAVE_MAX_WAIT`). What happened to a job in the last moments before a kill of slurmctld is forgotten: an
accepted job may be gone, and one that began or ended may begin again. Such jobs are counted, and nothing is asked of
them but that they did not run more than twice; all others are judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .stream import Submission

MEMORY = 6.5
"""Seconds: SAVE_MAX_WAIT, one for the clock of whole seconds that Slurm counts with, and some for the disk."""
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
        mine = [line for line in ran if line.name == one.name]
        began, ended = (sum(line.what == what for line in mine) for what in ("began", "ended"))
        state = states.get(one.name, "unknown")
        told = f"job {one.name} ({one.number or 'no answer'}): began {began}, ended {ended}, Slurm says {state}"
        moments = [one.at, *(line.at for line in mine)]
        forgotten = any(at <= end <= at + MEMORY for at in moments for end in ends_of_slurmctld)
        _one(verdict, told, accepted=bool(one.number), began=began, ended=ended, state=state, forgotten=forgotten)
    strangers = {line.name for line in ran} - {one.name for one in submissions}
    verdict.wrongs += [f"job {name} ran, and nobody submitted it" for name in sorted(strangers)]
    return verdict


def _one(verdict: Verdict, told: str, *, accepted: bool, began: int, ended: int, state: str, forgotten: bool) -> None:
    if (began, ended, state) == (1, 1, "COMPLETED"):
        verdict.counts["ran once"] += 1
    elif state in _LOST and began <= 1:
        verdict.counts["lost with a node"] += 1
    elif not accepted and began == 0:
        verdict.counts["not accepted"] += 1
    elif forgotten and began <= 2:
        verdict.counts["in what slurmctld forgot"] += 1
    else:
        verdict.wrongs.append(told)
