"""Virtual time for simulations: the loop of the cluster's tests, in which a thread's work takes no time at all."""

from __future__ import annotations

import asyncio
import functools
import random
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, ParamSpec, TypeVar, TypeVarTuple

from tests.cluster.virtual_time import VirtualLoop

V = TypeVar("V")
Ts = TypeVarTuple("Ts")
P = ParamSpec("P")

_BEGINNING = datetime(2030, 1, 1, tzinfo=UTC)


class SimulatedLoop(VirtualLoop):
    """A virtual loop without threads: while one worked, hours would pass."""

    def run_in_executor(self, executor: Any, func: Callable[[*Ts], V], *args: *Ts) -> asyncio.Future[V]:
        """Do it now."""
        del executor
        done: asyncio.Future[V] = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:
            done.set_exception(error)
        return done


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
