"""Virtual time for simulations: the loop of the cluster's tests, in which a thread's work takes no time at all."""

from __future__ import annotations

import asyncio
import functools
import heapq
import random
import selectors
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from datetime import UTC, datetime, timedelta
from itertools import count
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


class _Task(asyncio.Task[V]):
    """A task with a number: groups keep tasks in sets, whose order must not be that of addresses."""

    def __init__(self, main: Coroutine[Any, Any, V], *, loop: SimulatedLoop, **settings: Any) -> None:
        self._number = next(loop.numbers)
        super().__init__(main, loop=loop, **settings)

    def __hash__(self) -> int:
        return self._number


class SimulatedLoop(VirtualLoop):
    """A virtual loop without threads: while one worked, hours would pass. Nor does it ask for I/O, which is not.

    A simulation goes round some hundreds of times for each virtual minute. So rounds are made of what asyncio's own
    do for callbacks and timers, in its order, and not of what they do for sockets, threads and slow callbacks.
    """

    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]
    _stopping: bool
    _clock_resolution: float
    _rounds = 0
    """Those in a row in which no time passed."""
    get_debug = staticmethod(bool)
    """Every future asks, and a builtin says no sooner than a method would."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers = count()
        """For tasks."""
        self.set_task_factory(lambda loop, main, **settings: _Task(main, loop=loop, **settings))

    def selector(self) -> selectors.BaseSelector:
        """Nobody asks it."""
        return selectors.SelectSelector()

    def run_in_executor(self, executor: Any, func: Callable[[*Ts], V], *args: *Ts) -> asyncio.Future[V]:
        """Do it now."""
        del executor
        done: asyncio.Future[V] = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:
            done.set_exception(error)
        return done

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """Call something in the next round."""
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Call something at a time."""
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._scheduled, timer)
        return timer

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """It goes when its time comes."""

    def _run_once(self) -> None:
        """One round: when nobody is ready time passes, and then everybody who is has a turn."""
        ready, scheduled = self._ready, self._scheduled
        while scheduled and scheduled[0].cancelled():
            heapq.heappop(scheduled)
        self._rounds += 1
        if not ready and not self._stopping:
            self._pass_time()
        elif self._rounds > _BUSY:
            raise Endless("somebody works without end, and no time passes")
        due = self._now + self._clock_resolution
        while scheduled and scheduled[0].when() < due:
            ready.append(heapq.heappop(scheduled))
        for _ in range(len(ready)):
            handle = ready.popleft()
            if not handle._cancelled:  # noqa: SLF001 - a loop's own business, as is running it
                handle._run()  # noqa: SLF001

    def _pass_time(self) -> None:
        if not self._scheduled:
            raise AssertionError("everybody waits, and nothing will ever happen")
        if (pause := self._scheduled[0].when() - self._now) > 0:
            self._rounds = 0
            self.pause(pause)


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
