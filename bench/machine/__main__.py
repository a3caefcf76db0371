"""Measure a cluster on this machine, as root, with nothing else running.

    .venv/bin/python bench/machine                        everything: about five minutes
    .venv/bin/python bench/machine warm --turns 5         warm start of two and of ten workers against bare daemons
    .venv/bin/python bench/machine many --workers 40      many workers: time, memory, rest
    .venv/bin/python bench/machine containers             one container: made, started, executed in
    .venv/bin/python bench/machine leaving                how soon a worker goes when its last job has ended

The cluster has a directory, a name and ports of its own, and is gone in the end. All ratios are of one run: seconds say
more about the machine than about us. Only `leaving` has bars in seconds, and ends with 1 when one is missed.
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
sys.path[:1] = [str(_BENCH), str(_BENCH.parent)]

from machine import containers, leaving, many, warm  # noqa: E402
from machine.subject import Subject, subject  # noqa: E402

PARTS = ("warm", "many", "containers", "leaving")
BARS = {2: 1.5, 10: 2.0}
"""How many times as long as bare daemons so many workers may take."""
GOES_WITHIN = 2.0
"""Seconds until a worker goes, in the median: Slurm is asked every second while one drains."""


def main() -> int:
    """Measure what is asked for and print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, prog="bench/machine"
    )
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--turns", type=int, default=3, help="of each warm start (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=40, help="how many are many (default: %(default)s)")
    parser.add_argument("--rest", type=float, default=30.0, help="seconds at rest (default: %(default)s)")
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # whatever was started is ended
    parts, reached = chosen.parts or PARTS, True
    print(f"load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors", flush=True)
    if "containers" in parts:
        show_containers()
    if {"warm", "many", "leaving"} & {*parts}:
        with subject() as it:
            if "warm" in parts:
                for workers in BARS:
                    show_warm(it, workers, chosen.turns)
            if "leaving" in parts:
                reached = show_leaving(it, 20)
            if "many" in parts:
                show_many(it, chosen.workers, chosen.rest)
    return 0 if reached else 1


def show_containers() -> None:
    """One container."""
    print("\none container, medians")
    for what, milliseconds in containers.run(20).items():
        print(f"  {what:<24}{milliseconds:7.1f} ms", flush=True)


def show_warm(it: Subject, workers: int, turns: int) -> None:
    """Warm start."""
    found = warm.measure(it, workers=workers, turns=turns)
    print(f"\nwarm start to {workers} idle nodes")
    rows = (("penstock up", found.penstock), ("bare, in order", found.bare), ("bare, all at once", found.at_once))
    for name, seconds in rows:
        each = " ".join(f"{one:.2f}" for one in seconds)
        print(f"  {name:<24}{statistics.median(seconds):7.2f} s   ({each})")
    told = f"(bar {BARS[workers]}; to all at once {found.ratio_at_once:.2f})"
    print(f"  {'ratio':<24}{found.ratio:7.2f}     {told}")
    print(f"  {'the command came back':<24}{statistics.median(found.command):7.2f} s")
    print("  the last bare start:")
    print("".join(f"    {seconds:7.2f} s  {what}\n" for what, seconds in found.steps.items()), end="")
    print("  the last start of ours:")
    print(found.timeline.table() if found.timeline else "", end="", flush=True)


def show_leaving(it: Subject, turns: int) -> bool:
    """Workers that go; tells whether they go soon enough."""
    found = leaving.measure(it, turns=turns)
    print(f"\na worker goes, medians of {turns} turns")
    medians = list[float]()
    for what, seconds in (("its job has ended", found.drained), ("idle, scale request", found.idle)):
        medians.append(statistics.median(seconds))
        verdict = "reached" if medians[-1] < GOES_WITHIN else "MISSED"
        told = f"(from {min(seconds):.2f} to {max(seconds):.2f}; bar {GOES_WITHIN:g} s: {verdict})"
        print(f"  {what:<24}{medians[-1]:7.2f} s   {told}", flush=True)
    return max(medians) < GOES_WITHIN


def show_many(it: Subject, workers: int, rest: float) -> None:
    """Many workers."""
    found = many.measure(it, workers=workers, rest=rest)
    print(f"\n{workers} workers")
    print(f"  {f'from {found.before} to all idle':<24}{found.seconds_to_idle:7.2f} s")
    print(f"  {f'srun -N{workers} hostname':<24}{found.seconds_of_srun:7.2f} s")
    parts = f"slurmd {found.slurmd:.2f}, tini {found.tini:.2f}, conmon {found.conmon:.2f}, ours {found.serve_share:.2f}"
    print(f"  {'memory of one worker':<24}{found.per_worker:7.2f} MiB   ({parts})")
    print(f"  {'memory of penstock serve':<24}{found.serve:7.2f} MiB")
    print(f"  {'processor at rest':<24}{found.cpu_at_rest * 100:7.2f} %     (over {found.rest:.0f} s)")
    print(
        f"  {'writes to the store':<24}{found.writes_at_rest:7d}       ({found.bytes_at_rest} bytes to disk)",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
