"""Figures, with what they are compared to, as a table for people and as JSON for programs."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, dataclass, field, replace

_BEGAN = time.perf_counter()


@dataclass(frozen=True, slots=True)
class Figure:
    """One thing that was measured."""

    what: str
    value: float
    unit: str = "s"
    raw: float | None = None
    """The same done by a bare loop in the same run."""
    bar: float | None = None
    """How many times the bare one it may be at most."""

    @property
    def ratio(self) -> float | None:
        """How many times the bare one."""
        return self.value / self.raw if self.raw else None

    @property
    def reached(self) -> bool:
        """Whether it is as good as it has to be; without a bar anything is."""
        return self.bar is None or (self.ratio is not None and self.ratio <= self.bar)


@dataclass(slots=True)
class Report:
    """All figures so far; complete or not, it can be printed."""

    figures: list[Figure] = field(default_factory=list)
    details: dict[str, object] = field(default_factory=dict)
    """What stands behind a figure: requests by verb and resource."""

    def compare(self, raw: dict[str, float]) -> None:
        """Put another bare figure beside those that were compared with one, by what was measured."""
        self.figures = [replace(one, raw=raw.get(one.what, one.raw)) for one in self.figures]

    @property
    def missed(self) -> list[Figure]:
        """Those that are not as good as they have to be."""
        return [one for one in self.figures if not one.reached]

    def add(
        self, what: str, value: float, unit: str = "s", *, raw: float | None = None, bar: float | None = None
    ) -> float:
        """Note a figure, and say so to whoever waits."""
        self.figures.append(Figure(what, value, unit, raw, bar))
        say(_line(self.figures[-1]))
        return value

    def table(self) -> str:
        """For people."""
        head = f"{'':<58} {'operator':>12} {'raw':>11} {'ratio':>7}"
        rows = [_line(figure) for figure in self.figures]
        details = [f"{name}: {json.dumps(value)}" for name, value in self.details.items()]
        return "\n".join([head, *rows, *(["", *details] if details else []), ""])

    def json(self) -> str:
        """For programs."""
        figures = [asdict(figure) | {"ratio": figure.ratio, "reached": figure.reached} for figure in self.figures]
        return json.dumps({"figures": figures, "details": self.details}, indent=2) + "\n"


def say(line: str) -> None:
    """Progress, with the seconds since the start."""
    sys.stderr.write(f"[{time.perf_counter() - _BEGAN:6.1f} s] {line}\n")
    sys.stderr.flush()


def _line(figure: Figure) -> str:
    raw = f"{figure.raw:9.2f} {figure.unit}" if figure.raw is not None else ""
    ratio = f"{figure.ratio:7.2f}" if figure.ratio is not None else ""
    verdict = f"  (bar {figure.bar:g}: {'reached' if figure.reached else 'MISSED'})" if figure.bar is not None else ""
    return f"{figure.what:<58} {figure.value:10.2f} {figure.unit:<3}{raw:>9} {ratio}{verdict}".rstrip()
