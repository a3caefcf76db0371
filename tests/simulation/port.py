"""The operator's way to the cluster: every call is noted, and the n-th can go wrong as ordered."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing
from contextvars import ContextVar, Token
from dataclasses import dataclass
from enum import Enum
from types import TracebackType

from penstock.api.objects import Json
from penstock.cluster.errors import ClusterError, Conflict, Failing, Forbidden, Overloaded, Refused, Unreachable
from penstock.cluster.port import ALWAYS, EVERYTHING, MANAGER, Cluster, Event, Preconditions, Propagation, Selection, T
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
    who: str = ""
    done: bool = False
    """It came back without an error."""


ACTOR: ContextVar[Call | None] = ContextVar("who writes", default=None)
"""For witnesses of a change: the operator's call that makes it; None when somebody else does."""


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
        self.on_fault: Callable[[Fault], None] = lambda _fault: None
        """Told of each call that goes wrong."""
        self.before_write: Callable[[str, str], None] = lambda _verb, _resource: None
        """Told of each write when it is about to leave."""
        self.after_write: Callable[[str, str], None] = lambda _verb, _resource: None
        """Told of each write that has just taken effect."""
        self.undeletable: frozenset[str] = frozenset()
        """Names of objects that somebody does not let go."""
        self.unchangeable: frozenset[str] = frozenset()
        """Names of objects that somebody does not let be patched."""
        self.failing: dict[tuple[str, str], str] = {}
        """What the server says, by verb and resource, of calls that it fails at."""
        self.delayed: Callable[[str, str], Awaitable[None]] | None = None
        """What goes on while the answer to a call is on its way."""
        self.cut_after: Callable[[], int] | None = None
        """After how many events each watch breaks."""

    def writes(self, since: float = 0.0, *, besides: tuple[str, ...] = (LEASE,)) -> list[Call]:
        """What was written."""
        return [one for one in self.calls if one.verb in WRITES and one.at >= since and one.resource not in besides]

    def counted(self, since: float = 0.0) -> Counter[tuple[str, str]]:
        """How often each verb was used on each resource."""
        return Counter((one.verb, one.resource) for one in [*self.calls, *self.watches] if one.at >= since)

    def _noted(self, verb: Read | Write, resource: str) -> AbstractAsyncContextManager[None]:
        fault = self.faults.get(len(self.calls))
        fault = self.next_of.pop(verb, fault)
        call = Call(verb, resource, now(), self.who)
        self.calls.append(call)
        return _Passage(self, call, fault)

    async def delete(
        self,
        resource: Resource[T],
        name: str,
        *,
        namespace: str = "",
        only_if: Preconditions = ALWAYS,
        grace_seconds: int | None = None,
        propagation: Propagation = Propagation.BACKGROUND,
    ) -> None:
        """Delete one object, if it may go."""
        if name in self.undeletable:
            raise Forbidden("simulated: somebody does not let it go")
        await super().delete(
            resource, name, namespace=namespace, only_if=only_if, grace_seconds=grace_seconds, propagation=propagation
        )

    async def patch(
        self,
        resource: Resource[T],
        name: str,
        patch: Json,
        *,
        namespace: str = "",
        subresource: str = "",
        manager: str = MANAGER,
    ) -> T:
        """Change one object, if it may change; who asks in vain has asked all the same."""
        if name in self.unchangeable:
            async with self._noted("patch", resource.name):
                raise Forbidden("simulated: somebody does not let it change")
        return await super().patch(resource, name, patch, namespace=namespace, subresource=subresource, manager=manager)

    async def travel(self) -> None:
        """What a request, an answer or an event goes through."""
        await asyncio.sleep(random.random() * self.latency)  # noqa: S311 - chance, not secrecy
        if self.down:
            raise Unreachable(f"simulated: {self.who} has no network")

    async def go_wrong(self, fault: Fault) -> None:
        """Have a call end otherwise."""
        self.on_fault(fault)
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
        await self.travel()
        left: int | None = None
        async with aclosing(super().watch(resource, where, since=since)) as events:
            async for event in events:
                await self.hears.wait()
                await self.travel()
                # Also a watch that was there before the lines began to break.
                left = None if self.cut_after is None else self.cut_after() if left is None else left - 1
                if left == 0:
                    raise Unreachable("simulated: the line broke")
                yield event


@dataclass(slots=True)
class _Passage(AbstractAsyncContextManager[None]):
    """One call on its way there and back. A class, for there are hundreds in every simulation."""

    port: Port
    call: Call
    fault: Fault | None
    token: Token[Call | None] | None = None

    async def __aenter__(self) -> None:
        if self.call.verb in WRITES:
            self.port.before_write(self.call.verb, self.call.resource)
        await self.port.travel()
        if (words := self.port.failing.get((self.call.verb, self.call.resource))) is not None:
            raise Failing(words)
        if self.fault is not None and not self.fault.late:
            await self.port.go_wrong(self.fault)
        self.token = ACTOR.set(self.call)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.token is not None:
            ACTOR.reset(self.token)
        if error is not None:
            return
        if self.call.verb in WRITES:
            self.port.after_write(self.call.verb, self.call.resource)
        if self.port.delayed is not None:
            await self.port.delayed(self.call.verb, self.call.resource)
        await self.port.travel()
        if self.fault is not None and self.fault.late:
            await self.port.go_wrong(self.fault)
        self.call.done = True


class Behind(Port):
    """A port whose watch of one kind can be held up."""

    def __init__(self, cluster: Cluster, kind: str) -> None:
        super().__init__(cluster)
        self._kind = kind
        self.shows = asyncio.Event()
        self.shows.set()

    async def watch(
        self, resource: Resource[T], where: Selection = EVERYTHING, *, since: str
    ) -> AsyncGenerator[Event[T], None]:
        """What happens, to objects of that kind as soon as it is shown."""
        async with aclosing(super().watch(resource, where, since=since)) as events:
            async for event in events:
                if resource.kind == self._kind:
                    await self.shows.wait()
                yield event
