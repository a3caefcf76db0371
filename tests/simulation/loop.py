"""Virtual time for simulations: the loop of the cluster's tests, in which a thread's work takes no time at all."""

from __future__ import annotations

import asyncio
import functools
import random
import selectors
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, ParamSpec, TypeVar, TypeVarTuple

from tests.cluster.virtual_time import VirtualLoop

V = TypeVar("V")
Ts = TypeVarTuple("Ts")
P = ParamSpec("P")

_BEGINNING = datetime(2030, 1, 1, tzinfo=UTC)


_BUSY = 1_000
"""Rounds of the loop in which no time passes: who needs more has no end. Fifty workers take two dozen."""


class Endless(AssertionError):
    """Somebody works and works, and time stands still."""


class SimulatedLoop(VirtualLoop):
    """A virtual loop without threads: while one worked, hours would pass. Nor does it ask for I/O, which is not."""

    def selector(self) -> selectors.BaseSelector:
        """What lets time pass."""
        return _TimeOnly(self.pause)

    def run_in_executor(self, executor: Any, func: Callable[[*Ts], V], *args: *Ts) -> asyncio.Future[V]:
        """Do it now."""
        del executor
        done: asyncio.Future[V] = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:
            done.set_exception(error)
        return done


class _TimeOnly(selectors.SelectSelector):
    """Lets time pass, or says that it never will."""

    def __init__(self, advance: Callable[[float], None]) -> None:
        super().__init__()
        self._advance = advance
        self._rounds = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._rounds += 1
        if timeout:
            self._rounds = 0
            self._advance(timeout)
        if timeout is None:
            raise AssertionError("everybody waits, and nothing will ever happen")
        if self._rounds > _BUSY:
            raise Endless("somebody works without end, and no time passes")
        return []


def simulate(main: Coroutine[Any, Any, V], *, seed: int = 0) -> V:
    """Run a simulation; the same seed takes the same steps."""
    random.seed(seed)
    with asyncio.Runner(loop_factory=SimulatedLoop) as runner:
        return runner.run(main)


def simulated(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """A test that is a simulation."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        simulate(test(*args, **kwargs))

    return run


def now() -> float:
    """Virtual seconds."""
    return asyncio.get_running_loop().time()


def clock() -> datetime:
    """The same as a time of day, for the store and for people."""
    return _BEGINNING + timedelta(seconds=now())
