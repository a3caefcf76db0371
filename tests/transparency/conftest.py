"""The three clusters of every suite, and the cases that run on them."""

import tomllib
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

import spank
from penstock.images.recipe import book
from rootfs import rootfs

from .results import Case, Result, result
from .sides import SIDES, Side, side

HERE = Path(__file__).parent


def _cases() -> Iterator[Case]:
    for path in sorted((HERE / "cases").glob("*.toml")):
        for name, says in tomllib.loads(path.read_text()).items():
            yield Case(name, **({"script": says} if isinstance(says, str) else says))


CASES = {case.name: case for case in _cases()}
SLOW = ("told before the end", "the time limit", "deaf to the end")
"""Slurm takes its time over these, up to two minutes: they are begun first."""
AT_ONCE = 6
"""Cases that run beside each other: most of their time they wait for Slurm."""
Results = Mapping[str, Future[Result]]


@dataclass(frozen=True, slots=True)
class Runs:
    """What runs, on all sides at once."""

    suite: str
    sides: tuple[Side, ...]
    pool: ThreadPoolExecutor
    begun: dict[str, Results]

    def begin(self, case: str) -> Results:
        """Begin a case, unless it has been."""
        if case not in self.begun:
            run = self.pool.submit
            self.begun[case] = {one.name: run(result, one, CASES[case]) for one in self.sides}
        return self.begun[case]

    def missing(self, case: str) -> str:
        """Why a case cannot be run; nothing if it can."""
        suites = CASES[case].suites
        return f"Debian {self.suite}'s Slurm lacks what it needs" if suites and self.suite not in suites else ""

    def of(self, case: str) -> dict[str, Result]:
        """What a case came to, by the side's name."""
        return {name: running.result() for name, running in self.begin(case).items()}


@pytest.fixture(scope="session", params=list(book().suites))
def runs(request: pytest.FixtureRequest) -> Iterator[Runs]:
    """Give the clusters of a suite; a test that asks for them runs once per suite."""
    suite = str(request.param)
    root, plugin = rootfs(suite, "openmpi"), spank.plugin(suite)
    chosen = [case for item in request.session.items if (case := _case(item, suite))]
    with ExitStack() as stack:
        sides = tuple(stack.enter_context(side(name, root, plugin)) for name in SIDES)
        pool = stack.enter_context(ThreadPoolExecutor(len(SIDES) * AT_ONCE))
        stack.callback(pool.shutdown, cancel_futures=True)
        running = Runs(suite, sides, pool, {})
        for case in sorted(chosen, key=lambda case: case not in SLOW):
            if not running.missing(case):
                running.begin(case)
        yield running


def _case(item: pytest.Item, suite: str) -> str | None:
    if not isinstance(item, pytest.Function) or item.callspec.params.get("runs") != suite:
        return None
    return str(item.callspec.params["case"])
