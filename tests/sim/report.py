"""How often everything happened, and what a broken promise looks like."""

from __future__ import annotations

import shlex
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from . import forks, shrinking
from .draw import schedule_of
from .forks import Result
from .mutants import Mutant

_PROGRESS_EVERY = 5.0
"""Seconds."""


@dataclass(slots=True)
class Total:
    """What came of many schedules."""

    schedules: int = 0
    cpu: float = 0.0
    virtual: float = 0.0
    counted: Counter[str] = field(default_factory=Counter)
    failed: list[Result] = field(default_factory=list)

    def add(self, result: Result) -> None:
        """One more."""
        self.schedules += 1
        self.cpu += result.cpu
        self.virtual += result.virtual
        self.counted.update(result.counted)
        if result.broken:
            self.failed.append(result)

    def lines(self) -> Iterator[str]:
        """How often everything happened, per thousand schedules."""
        if self.schedules:
            yield "per thousand schedules there were"
        for name, count in sorted(self.counted.items(), key=lambda item: (-item[1], item[0])):
            if count:
                yield f"  {1000 * count / self.schedules:9.1f}  {name}"

    def verdict(self) -> str:
        """In a line."""
        broken = Counter(one.broken[0].partition(":")[0] for one in self.failed)
        each = 1000 * self.cpu / max(self.schedules, 1)
        kept = f"broken: {dict(broken)}" if broken else "every promise was kept"
        return f"{self.virtual / 3600:.0f} hours of virtual time, {each:.1f} ms of CPU per schedule; {kept}"


def many(seeds: range, *, workers: int, failures: int, shrink: bool, mutant: Mutant | None = None) -> int:
    """Play many schedules and tell about them; 1 when a promise was broken."""
    total, progress, began = Total(), _Progress(len(seeds)), time.monotonic()
    for result in forks.run(seeds, workers=workers, mutant=mutant):
        total.add(result)
        progress.tell(total)
        if result.broken:
            print(f"\nseed {result.seed}: {result.broken[0]}", file=sys.stderr, flush=True)
        if len(total.failed) >= failures:
            break
    progress.over()
    for result in total.failed:
        print(*_failure(result, mutant, shrink=shrink), sep="\n", flush=True)
    print(*total.lines(), sep="\n")
    took = f"in {time.monotonic() - began:.0f} s"
    print(f"{total.schedules} schedules, seeds {seeds.start} to {seeds.stop - 1}, {took}: {total.verdict()}")
    return int(bool(total.failed))


class _Progress:
    """A line that tells how far it is, now and then."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._began = self._told = time.monotonic()

    def tell(self, total: Total) -> None:
        if time.monotonic() - self._told > _PROGRESS_EVERY:
            self._told = time.monotonic()
            rate = total.schedules / (self._told - self._began)
            left = (self._count - total.schedules) / rate
            told = f"{total.schedules} of {self._count} schedules, {len(total.failed)} failed, {rate:.0f}/s"
            print(f"\r{told}, {left:.0f} s to go   ", end="", file=sys.stderr, flush=True)

    def over(self) -> None:
        if self._told != self._began:
            print(file=sys.stderr)


def _failure(result: Result, mutant: Mutant | None, *, shrink: bool) -> Iterator[str]:
    yield f"seed {result.seed} breaks a promise:"
    yield from (f"  {words}" for words in result.broken)
    yield f"replay: python -m tests.sim --seed {result.seed}"
    if shrink:
        least = shrinking.shrunk(schedule_of(result.seed), result.broken[0], mutant)
        yield "the least that was found to break it as well:"
        yield from (f"  {line}" for line in least.words())
        yield f"replay: python -m tests.sim --schedule {shlex.quote(least.text())}"
