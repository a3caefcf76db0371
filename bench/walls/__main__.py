"""Measure what the plugin adds to the start of a step, on a real node of one machine, as root.

    .venv/bin/python bench/walls                          40 turns of srun: about a minute
    .venv/bin/python bench/walls --turns 100 --suite trixie

A turn runs a step of every class, so that all of them meet the same machine; what counts is the difference to steps of
admins, who get Slurm as it is, in the same run.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import sys
from pathlib import Path

# Python puts the directory that it runs before all others; the packages are found from their parents.
_BENCH = Path(__file__).resolve().parent.parent
sys.path[:1] = [str(_BENCH), str(_BENCH.parent), str(_BENCH.parent / "tools")]

from walls.steps import PLAIN, WAYS, Taken, Way, furnished_node, srun  # noqa: E402


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, prog="bench/walls"
    )
    parser.add_argument("--turns", type=int, default=40, help="steps of each class (default: %(default)s)")
    parser.add_argument("--suite", default="forky", help="of images/suites.toml (default: %(default)s)")
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # whatever was started is ended
    print(f"load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors", flush=True)
    with furnished_node(chosen.suite) as node:
        show(f"srun of true, {chosen.suite}, {chosen.turns} turns", srun(node, chosen.turns))
    return 0


def show(title: str, taken: Taken) -> None:
    """Medians, what they are longer than an admin's, and the same of the best: the others were disturbed."""
    print(f"\n{title}: milliseconds\n  {'':<24}{'median':>8}{'added':>8}{'ratio':>8}{'best':>8}{'added':>8}")
    for way in WAYS:
        (best, median), (best_plain, median_plain) = (_best_and_median(taken.milliseconds[one]) for one in (way, PLAIN))
        more = median - median_plain
        shown = f"{median:8.1f}{more:8.1f}{median / median_plain:8.2f}{best:8.1f}{best - best_plain:8.1f}"
        print(f"  {way.name:<24}{shown}{_verdict(way, more)}", flush=True)


def _best_and_median(milliseconds: list[float]) -> tuple[float, float]:
    return min(milliseconds), statistics.median(milliseconds)


def _verdict(way: Way, more: float) -> str:
    if way.bar is None:
        return ""
    return f"   (bar {way.bar:.0f} ms: {'reached' if more < way.bar else 'MISSED'})"


if __name__ == "__main__":
    sys.exit(main())
