"""Simulations of NodeSets: play schedules, cut a failing one down, play it again.

python -m tests.sim --count 1000                 a thousand schedules, from seed 0 on
python -m tests.sim --seed 17                    this one, told in words
python -m tests.sim --schedule '{"cluster":...}' this one, as it was printed
"""

from __future__ import annotations

import argparse
import ctypes
import logging
import os
import sys

from . import forks, report
from .draw import schedule_of
from .mutants import MUTANTS, Mutant
from .schedule import Schedule, read

_SAME_ADDRESSES = 0x0040000
"""ADDR_NO_RANDOMIZE, for the program that we become."""


def main() -> int:
    """Do as the command line says; 1 when a promise was broken."""
    if os.environ.get("PYTHONHASHSEED") != "0":
        # The order of sets is chance otherwise, that of hashes of texts and of addresses, and a schedule would not take
        # the same steps twice.
        ctypes.CDLL(None).personality(_SAME_ADDRESSES)
        again = [sys.executable, "-m", "tests.sim", *sys.argv[1:]]
        os.execve(sys.executable, again, {**os.environ, "PYTHONHASHSEED": "0"})  # noqa: S606 - there is none
    given = _arguments()
    logging.basicConfig(format="%(message)s") if given.log else logging.disable(logging.CRITICAL)
    mutant = MUTANTS[given.mutant] if given.mutant else None
    if given.schedule or given.seed is not None:
        schedule = read(given.schedule) if given.schedule else schedule_of(given.seed)
        return _one(schedule, mutant, traced=given.trace)
    seeds = range(given.first, given.first + given.count)
    shrink = not given.unshrunk
    return report.many(seeds, workers=given.workers, failures=given.failures, shrink=shrink, mutant=mutant)


def _one(schedule: Schedule, mutant: Mutant | None, *, traced: bool) -> int:
    print(*schedule.words(), sep="\n", flush=True)
    tell = (lambda line: print(line, flush=True)) if traced else None
    total = report.Total()
    for result in forks.play_alone(schedule, tell=tell, mutant=mutant):
        total.add(result)
        print(*result.broken, sep="\n", end="\n" if result.broken else "")
    print(*total.lines(), sep="\n")
    print(f"{total.schedules} acts: {total.verdict()}")
    return int(bool(total.failed))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.sim", description="Simulations of NodeSets.")
    parser.add_argument("--seed", type=int, help="play the schedule of one seed, told in words")
    parser.add_argument("--schedule", metavar="JSON", help="play this schedule")
    parser.add_argument("--count", type=int, default=1000, help="how many schedules to play")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="the first of them")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)), help="processes at a time")
    parser.add_argument("--failures", type=int, default=1, metavar="N", help="stop after so many broken promises")
    parser.add_argument("--unshrunk", action="store_true", help="do not cut a failing schedule down")
    parser.add_argument("--mutant", choices=sorted(MUTANTS), help="break the planner on purpose")
    parser.add_argument("--trace", action="store_true", help="tell everything that happens")
    parser.add_argument("--log", action="store_true", help="show what the operator logs")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
