"""The operator's way to the cluster: every call is noted, and the n-th can go wrong as ordered."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from enum import Enum

from penstock.cluster.errors import ClusterError, Conflict, Overloaded, Refused, Unreachable
from penstock.cluster.port import EVERYTHING, Cluster, Event, Selection, T
from penstock.cluster.resources import Resource
from penstock.cluster.wrapper import WRITES, Read, Wrapper, Write

from .loop import now

LEASE = "leases.coordination.k8s.io"


@dataclass(slots=True)
class Call:
    """One call through a port."""

    verb: str
    resource: str
    at: float
    done: bool = False
    """It came back without an error."""


class Fault(Enum):
    """What can happen to a call."""

    CRASH_BEFORE = "the operator dies before the call takes effect"
    CRASH_AFTER = "the operator dies before it hears of the effect"
    LOST_BEFORE = "the request is lost"
    LOST_AFTER = "the answer is lost"
    CONFLICT = "somebody was faster"
    OVERLOADED = "the server is busy"
    REFUSED = "the server says no"

    @property
    def crash(self) -> bool:
        """Whether the operator dies of it."""
        return self in {Fault.CRASH_BEFORE, Fault.CRASH_AFTER}

    @property
    def late(self) -> bool:
        """Whether the call has taken effect by then."""
        return self in {Fault.CRASH_AFTER, Fault.LOST_AFTER}


_ERRORS: dict[Fault, Callable[[], ClusterError]] = {
    Fault.LOST_BEFORE: lambda: Unreachable("simulated: the request is lost"),
    Fault.LOST_AFTER: lambda: Unreachable("simulated: the answer is lost"),
    Fault.CONFLICT: lambda: Conflict("simulated: somebody was faster"),
    Fault.OVERLOADED: lambda: Overloaded("simulated: come back later", retry_after=2.0),
    Fault.REFUSED: lambda: Refused("simulated: no"),
}


class Port(Wrapper):
    """A `Cluster` in front of another, as one operator sees it."""

    def __init__(self, cluster: Cluster, *, who: str = "operator") -> None:
        super().__init__(cluster, self._noted)
        self.who = who
        self.calls: list[Call] = []
        self.watches: list[Call] = []
        self.latency = 0.01
        """Seconds that a request, an answer or an event takes at most."""
        self.down = False
        """Nothing comes through."""
        self.hears = asyncio.Event()
        """Cleared, watches are silent, and nobody says that they are dead."""
        self.hears.set()
        self.faults: dict[int, Fault] = {}
        """By the number of the call, from 0."""
        self.next_of: dict[str, Fault] = {}
        """What happens to the next call of a verb."""
        self.crash: Callable[[], None] = lambda: None
        """Ends the operator."""
        self.before_write: Callable[[str, str], None] = lambda _verb, _resource: None
        """Told of each write when it is about to leave."""
        self.after_write: Callable[[str, str], None] = lambda _verb, _resource: None
        """Told of each write that has just taken effect."""
        self.cut_after: Callable[[], int] | None = None
        """After how many events each watch breaks."""

    def writes(self, since: float = 0.0, *, besides: tuple[str, ...] = (LEASE,)) -> list[Call]:
        """What was written."""
        return [one for one in self.calls if one.verb in WRITES and one.at >= since and one.resource not in besides]

    def counted(self, since: float = 0.0) -> Counter[tuple[str, str]]:
        """How often each verb was used on each resource."""
        return Counter((one.verb, one.resource) for one in [*self.calls, *self.watches] if one.at >= since)

    @asynccontextmanager
    async def _noted(self, verb: Read | Write, resource: str) -> AsyncIterator[None]:
        fault = self.faults.get(len(self.calls))
        fault = self.next_of.pop(verb, fault)
        call = Call(verb, resource, now())
        self.calls.append(call)
        if verb in WRITES:
            self.before_write(verb, resource)
        await self._travel()
        if fault is not None and not fault.late:
            await self._go_wrong(fault)
        yield
        if verb in WRITES:
            self.after_write(verb, resource)
        await self._travel()
        if fault is not None and fault.late:
            await self._go_wrong(fault)
        call.done = True

    async def _travel(self) -> None:
        await asyncio.sleep(random.random() * self.latency)  # noqa: S311 - chance, not secrecy
        if self.down:
            raise Unreachable(f"simulated: {self.who} has no network")

    async def _go_wrong(self, fault: Fault) -> None:
        if not fault.crash:
            error = _ERRORS[fault]()
            raise error
        self.down = True
        self.crash()
        await asyncio.Event().wait()

    async def watch(
        self, resource: Resource[T], where: Selection = EVERYTHING, *, since: str
    ) -> AsyncGenerator[Event[T], None]:
        """What happens after `since`, as long as the line holds."""
        self.watches.append(Call("watch", resource.name, now()))
        await self._travel()
        left = self.cut_after() if self.cut_after else -1
        async with aclosing(super().watch(resource, where, since=since)) as events:
            async for event in events:
                await self.hears.wait()
                await self._travel()
                if left == 0:
                    raise Unreachable("simulated: the line broke")
                left -= 1
                yield event
