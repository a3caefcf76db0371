"""What keeps the reconcilers going: informers, the queue, the lease, and the rules about when not to act.

Nothing is done unless we certainly lead and our knowledge is whole and fresh; a look that comes at another time is put
off. When leadership comes back, everything is looked at, for nobody knows what the other leader left half done.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from penstock.cluster.errors import ClusterError
from penstock.cluster.events import Recorder
from penstock.cluster.fence import Fenced
from penstock.cluster.groups import TaskGroup
from penstock.cluster.leader import Election
from penstock.cluster.port import Cluster
from penstock.cluster.queue import WorkQueue
from penstock.cluster.rehearsal import Rehearsal
from penstock.operator.caches import Caches
from penstock.operator.contents import Contents
from penstock.operator.context import Context
from penstock.operator.customs import Key
from penstock.operator.looks import Looks
from penstock.operator.metrics import Metrics
from penstock.operator.nodeset.preview import Preview
from penstock.operator.owned import Owned
from penstock.operator.reports import Reports
from penstock.operator.slurm import Slurm
from penstock.operator.slurm_links import SLURM, Connect, Links, Locate, in_cluster
from penstock.operator.status import Now, Statuses, now_in_utc
from penstock.operator.triggers import Triggers
from penstock.render.names import Domain
from penstock.slurm.conf import ConfError
from penstock.slurm.rest.transport import Transport

_LOG = logging.getLogger(__name__)
_STALE_AGAIN = 5.0
"""Seconds before a look that found its knowledge stale is tried again."""

MakeElection = Callable[[Callable[[], None]], Election]
"""Makes an election that calls back when it is lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How an operator runs."""

    namespaces: tuple[str, ...] = ()
    """Those it looks after; none means all."""
    workers: int = 4
    domain: Domain = field(default_factory=Domain)
    stale_after: float = 120.0
    """Seconds; on knowledge that may be older nobody acts. A quiet watch gives a sign of life once a minute."""
    instance: str = "penstock"
    """Who reports events."""
    propagated_node_conditions: tuple[str, ...] = ()
    """Conditions of machines that Slurm is told as the reason of a drain."""


class Operator:
    """The operator. `run` it until it is cancelled, or told to `stop`."""

    def __init__(
        self,
        cluster: Cluster,
        settings: Settings,
        *,
        election: MakeElection | None = None,
        locate: Locate | None = None,
        now: Now = now_in_utc,
        metrics: Metrics | None = None,
        connect: Connect = Transport,
        rehearsal: Callable[[str], None] | None = None,
    ) -> None:
        self.caches = Caches.over(cluster, settings.namespaces)
        self.queue: WorkQueue[Key] = WorkQueue()
        self.metrics = metrics or Metrics()
        self._settings = settings
        self._lost = asyncio.Event()
        self._election = election(self._lost.set) if election else None
        writer: Cluster = Fenced(cluster, self._election) if self._election else cluster
        writer = Rehearsal(cluster, rehearsal) if rehearsal else writer
        self._events = Recorder(writer, instance=settings.instance, now=now)
        self._reports = Reports(cluster, self.caches, self._look)
        contents = Contents(cluster, self.caches.config_maps, self.caches.secrets)
        self._slurm = Slurm(
            self.caches, look=self._look, tell=rehearsal, links=Links(
                self.caches, contents, locate=locate or in_cluster(settings.domain), now=now, connect=connect
            ),
        )  # fmt: skip
        context = Context(
            cluster=writer, caches=self.caches, contents=contents,
            owned=Owned(writer, [*self.caches.owned, self.caches.claims]),
            slurm=self._slurm, metrics=self.metrics,
            events=self._events, reports=self._reports, domain=settings.domain, now=now, look=self._look,
            propagated_node_conditions=frozenset(settings.propagated_node_conditions),
        )  # fmt: skip
        self._looks = Looks(context, Statuses(writer, now))
        self._synced, self._stale = False, False
        Triggers(self.caches, self._look).subscribe()
        self._show()

    async def run(self) -> None:
        """Work until stopped; then finish what is in hand and give the lease back."""
        try:
            await self._run()
        finally:
            await self._slurm.close()

    async def _run(self) -> None:
        async with TaskGroup() as group:
            tasks = [group.create_task(informer.run()) for informer in self.caches.informers]
            tasks.append(group.create_task(self._events.run()))
            if self._election:
                tasks.append(group.create_task(self._election.run()))
            await self.caches.synced()
            self._synced = True
            tasks.append(group.create_task(self._terms()))
            try:
                await self.queue.run(self._work, workers=self._settings.workers)
            finally:
                for task in tasks:
                    task.cancel()

    async def rehearse(self, tell: Callable[[str], None]) -> None:
        """Look at everything once, writing nothing, and end; what would be written, or refused, is told."""
        async with self._informed():
            # Slurm first: what would be done about workers depends on what it says.
            for key in sorted(self._everything(), key=lambda key: key[0] != SLURM):
                try:
                    await self._looks.at(key)
                except (ClusterError, ConfError) as error:
                    tell(f"{key[0]} {key[1]}/{key[2]}: {error}")

    async def preview(self, key: Key) -> Preview:
        """What would be done about a NodeSet now; `NotFound` or `Refused` when there is none that can be used."""
        async with self._informed():
            return await self._looks.preview(key)

    @property
    def unheard(self) -> list[str]:
        """Resources of which not everything is known yet."""
        views = (view for view in self.caches.views if not all(one.synced.is_set() for one in view.informers))
        return sorted(view.resource.name for view in views)

    @asynccontextmanager
    async def _informed(self) -> AsyncIterator[None]:
        """Know the whole cluster for the length of a block, without working on it."""
        tasks = [asyncio.create_task(informer.run()) for informer in self.caches.informers]
        try:
            await self.caches.synced()
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._slurm.close()

    def stop(self) -> None:
        """Begin nothing more."""
        self.queue.stop()

    @property
    def trouble(self) -> str:
        """What keeps the operator from working, in a sentence; nothing when all is well. A stand-by is well."""
        if not self._synced:
            return "the first listing is not complete"
        if self.caches.staleness > self._settings.stale_after:
            return f"nothing was heard from the cluster for {self.caches.staleness:.0f} s"
        return ""

    @property
    def leads(self) -> bool:
        """Whether it may write at this moment."""
        return self._election is None or self._election.certain

    async def _terms(self) -> None:
        """At the beginning of each term, look at everything."""
        while True:
            if self._election:
                await self._election.leading.wait()
            self._lost.clear()
            self._slurm.begin_anew()
            for key in self._everything():
                self.queue.add(key)
            async with TaskGroup() as term:
                listening = term.create_task(self._reports.run())
                await self._lost.wait()
                listening.cancel()

    def _everything(self) -> list[Key]:
        keys = [*self.caches.keys()]
        return [*keys, *((SLURM, *key[1:]) for key in keys if key[0] == "Controller")]

    def _look(self, key: Key, seconds: float) -> None:
        if seconds > 0:
            self.queue.add_after(key, seconds)
        else:
            self.queue.add(key)

    async def _work(self, key: Key) -> None:
        if not self.leads:
            return
        if self._is_stale():
            self.queue.add_after(key, _STALE_AGAIN)
            return
        began, error = asyncio.get_running_loop().time(), ""
        try:
            again = await self._looks.at(key)
        except Exception as problem:
            error = type(problem).__name__
            raise
        finally:
            self.metrics.looked(key[0], asyncio.get_running_loop().time() - began, error)
        if again is not None:
            self._look(key, again)

    def _is_stale(self) -> bool:
        stale = self.caches.staleness > self._settings.stale_after
        if stale != self._stale:
            _LOG.warning("%s", self.trouble or "the cluster is heard again")
        self._stale = stale
        return stale

    def _show(self) -> None:
        self.metrics.gauge("queue_depth", "Objects that wait for a look.", lambda: self.queue.depth)
        self.metrics.gauge("queue_oldest_seconds", "How long the first of them waits.", lambda: self.queue.oldest_age)
        self.metrics.gauge("watch_staleness_seconds", "How old our knowledge may be.", lambda: self.caches.staleness)
        self.metrics.gauge("leader", "1 while this operator may write.", lambda: float(self.leads))
