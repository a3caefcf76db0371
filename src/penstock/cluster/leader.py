"""Only one of us writes: a Lease (coordination.k8s.io/v1) says who, and `Fenced` keeps the others' hands still.

Nobody's clock is compared with anybody else's. The holder counts from the moment before it asked for a renewal; a
candidate counts from the moment after it saw the last one. So the holder, who stops `margin` seconds before the lease
is over, has always stopped when a candidate begins, even if it slept through the end: the clock is looked at right
before each write leaves (`permit`), and writes under way are cut off when time is up. What cannot be cut off is a write
that the server already has; `margin` is there for those.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from penstock.api.objects import Json
from penstock.cluster import permit
from penstock.cluster.errors import AlreadyExists, ClusterError, Conflict, NotFound, NotLeader, Unreachable
from penstock.cluster.outage import Outage
from penstock.cluster.port import Cluster
from penstock.cluster.resources import Lean, Resource

_LOG = logging.getLogger(__name__)
_NEVER = float("-inf")


class LeaseSpec(msgspec.Struct, frozen=True, rename="camel"):
    """Who holds a lease, and for how long after the last renewal."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    lease_transitions: int | None = None


class LeaseObject(Lean, frozen=True):
    """A Lease as an election reads it."""

    spec: LeaseSpec = LeaseSpec()


LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease", LeaseObject)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How long a lease is, in seconds."""

    duration: int = 15
    """Others wait so long after the last renewal they saw."""
    margin: float = 5.0
    """The holder stops writing so long before that."""
    interval: float = 2.0
    """Between two renewals, or two looks of a candidate."""

    def __post_init__(self) -> None:
        if not 0 < self.interval < self.writable < self.duration:
            raise ValueError(f"{self}: needs 0 < interval < duration - margin < duration")

    @property
    def writable(self) -> float:
        """How long after asking for a renewal the holder may write."""
        return self.duration - self.margin


class Election:
    """One candidate for a lease. Somebody has to `run` it.

    `identity` must be that of no other process, not even of this one before a restart. `now` is what people read in
    the lease; nothing depends on it.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        name: str,
        namespace: str,
        identity: str,
        on_lost: Callable[[], None],
        terms: Terms | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.leading = asyncio.Event()
        """Set while we lead, for those who wait for it; who wants to write uses `writing`."""
        self._cluster = cluster
        self._name, self._namespace, self._identity = name, namespace, identity
        self._on_lost = on_lost
        self._terms = terms or Terms()
        self._now = now
        self._seen_version, self._seen_at = "", _NEVER
        self._until = _NEVER
        self._end: asyncio.TimerHandle | None = None
        self._leaving = False
        self._writes: set[asyncio.Timeout] = set()
        self._no_writes = asyncio.Event()
        self._no_writes.set()
        self._doubt_until = _NEVER
        self._outage = Outage(_LOG, f"lease {namespace}/{name}")

    @property
    def certain(self) -> bool:
        """Whether we lead at this very moment, whatever happened to the process or the network."""
        return not self._leaving and _time() < self._until

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """Do something that only the leader may; `NotLeader` when we are not, or are no more before it is done."""
        self._check()
        try:
            async with asyncio.timeout_at(self._until) as bound, self._counted(bound):
                with permit.required(self._check):
                    yield
        except TimeoutError:
            if not bound.expired():
                raise
            raise NotLeader(f"the lease {self._namespace}/{self._name} ran out during a write") from None

    def _check(self) -> None:
        if not self.certain:
            raise NotLeader(f"{self._identity} does not hold the lease {self._namespace}/{self._name}")

    @asynccontextmanager
    async def _counted(self, bound: asyncio.Timeout) -> AsyncIterator[None]:
        self._writes.add(bound)
        self._no_writes.clear()
        try:
            yield
        except (Unreachable, asyncio.CancelledError):
            self._doubt_until = _time() + self._terms.margin
            raise
        finally:
            self._writes.discard(bound)
            if not self._writes:
                self._no_writes.set()

    async def run(self) -> None:
        """Try to lead, and to go on leading, until cancelled; then hand over."""
        try:
            while True:
                await self._try()
                await asyncio.sleep(self._terms.interval)
        finally:
            await self._leave()

    async def _try(self) -> None:
        try:
            # Half of the time there is: one request that hangs must not cost the lease.
            async with asyncio.timeout(self._terms.writable / 2):
                lease = await self._look()
                if self._free(lease):
                    await self._take(lease)
                elif self.leading.is_set():
                    self._lose()
            self._outage.calm()
        except (ClusterError, TimeoutError) as error:
            # To be slower than another candidate is how most elections go.
            usual = isinstance(error, (AlreadyExists, Conflict))
            self._outage.tell(error, level=logging.INFO if usual else logging.WARNING)

    async def _look(self) -> LeaseObject:
        try:
            lease = await self._cluster.get(LEASES, self._name, self._namespace)
        except NotFound:
            # Nobody's at first: of two who find none, one gets to make it, and either may take it.
            place = {"name": self._name, "namespace": self._namespace}
            lease = await self._cluster.create(LEASES, {"metadata": place, "spec": {}})
        if lease.metadata.resource_version != self._seen_version:
            self._seen_version, self._seen_at = lease.metadata.resource_version, _time()
        return lease

    def _free(self, lease: LeaseObject) -> bool:
        """Whether we may take it: it is nobody's, or ours, or was not renewed all the while that we looked on."""
        holder, duration = lease.spec.holder_identity, lease.spec.lease_duration_seconds or self._terms.duration
        return not holder or holder == self._identity or _time() - self._seen_at >= duration

    async def _take(self, lease: LeaseObject) -> None:
        now = self._now().isoformat(timespec="microseconds").replace("+00:00", "Z")
        spec: Json = {"leaseDurationSeconds": self._terms.duration, "renewTime": now}
        if lease.spec.holder_identity != self._identity:
            transitions = (lease.spec.lease_transitions or 0) + 1
            spec |= {"holderIdentity": self._identity, "acquireTime": now, "leaseTransitions": transitions}
        asked_at = _time()
        await self._write(lease, spec)
        self._hold_until(asked_at + self._terms.writable)

    async def _write(self, lease: LeaseObject, spec: Json) -> None:
        # With the version: between the look and the write somebody may have been faster.
        patch = {"metadata": {"resourceVersion": lease.metadata.resource_version}, "spec": spec}
        await self._cluster.patch(LEASES, self._name, patch, namespace=self._namespace)

    def _hold_until(self, until: float) -> None:
        self._until = until
        if self._end is not None:
            self._end.cancel()
        self._end = asyncio.get_running_loop().call_at(until, self._lose)
        self._bound_writes(until)
        if self.certain and not self.leading.is_set():
            _LOG.info("%s leads: lease %s/%s", self._identity, self._namespace, self._name)
            self.leading.set()

    def _lose(self) -> None:
        self._until = _NEVER
        self._bound_writes(_time())
        if self.leading.is_set():
            _LOG.warning("%s does not lead any more: lease %s/%s", self._identity, self._namespace, self._name)
            self.leading.clear()
            self._on_lost()

    def _bound_writes(self, until: float) -> None:
        for bound in self._writes:
            if not bound.expired():
                bound.reschedule(until)

    async def _leave(self) -> None:
        """Begin no write, let those under way end, then say that we are gone. If in doubt say nothing: time will."""
        self._leaving = True
        self.leading.clear()
        await self._no_writes.wait()
        if self._end is not None:
            self._end.cancel()
        if self._doubt_until < _time() < self._until:
            with suppress(ClusterError, TimeoutError):
                async with asyncio.timeout(self._terms.interval):
                    await self._release()

    async def _release(self) -> None:
        lease = await self._cluster.get(LEASES, self._name, self._namespace)
        if lease.spec.holder_identity == self._identity:
            await self._write(lease, {"holderIdentity": ""})


def _time() -> float:
    return asyncio.get_running_loop().time()
