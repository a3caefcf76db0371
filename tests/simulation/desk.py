"""What reconcilers work with, for tests of one step of theirs: a Context, in a cluster whose operator has stopped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from penstock.api.controller import Controller
from penstock.api.nodeset import NodeSet
from penstock.api.objects import Json
from penstock.cluster.events import Recorder
from penstock.operator.caches import Caches
from penstock.operator.contents import Contents
from penstock.operator.context import Context
from penstock.operator.metrics import Metrics
from penstock.operator.nodeset.errand import Errand
from penstock.operator.nodeset.expected import Expected
from penstock.operator.nodeset.refusals import Refusals
from penstock.operator.nodeset.snapshot import Snapshot
from penstock.operator.owned import Owned
from penstock.operator.reports import Reports
from penstock.operator.resources import Custom
from penstock.operator.slurm import Slurm
from penstock.operator.slurm_links import Links
from penstock.render.names import Domain

from .loop import clock
from .manifests import NAMESPACE, NODE_SET
from .world import World, cluster


@dataclass(frozen=True, slots=True)
class Desk:
    """A Context, and what it is about."""

    here: World
    context: Context

    @property
    def controller(self) -> Controller:
        """The sample's Controller."""
        found = self.context.caches.decoded(("Controller", NAMESPACE, "slurm"))
        assert isinstance(found, Controller)
        return found

    @property
    def item(self) -> Custom:
        """The sample's NodeSet, as the watch shows it."""
        found = self.context.caches.find(("NodeSet", NAMESPACE, NODE_SET))
        assert found is not None
        return found

    @property
    def node_set(self) -> NodeSet:
        """The same, decoded."""
        found = self.context.caches.decoded(("NodeSet", NAMESPACE, NODE_SET))
        assert isinstance(found, NodeSet)
        return found

    async def errand(self) -> Errand:
        """What acting on what the watch shows now needs, whenever that is."""
        pods = tuple(self.context.caches.pods.by("owners", self.node_set.metadata.uid))
        inventory = await self.context.inventory(NAMESPACE)
        return Errand(
            context=self.context, item=self.item, cluster=inventory.cluster(self.controller), expected=Expected(),
            now=Snapshot(node_set=self.node_set, pods=pods), refused=Refusals(),
        )  # fmt: skip

    async def told(self) -> dict[str, str]:
        """The events that there are, by reason: the last of each."""
        await asyncio.sleep(0.1)
        return {one.reason: one.note for one in self.here.sight.all("Event")}


@asynccontextmanager
async def desk(
    documents: Sequence[Json] | None = None, *, replicas: int = 3, tell: Callable[[str], None] | None = None
) -> AsyncIterator[Desk]:
    """The sample cluster at rest, in which nothing is done any more but what the test does; with `tell`, not even that.

    No operator undoes what the test does, and none does it before the test.
    """
    async with cluster(documents, replicas=replicas) as (here, running):
        await running.stop()
        store = here.store
        caches = Caches.over(store, ())
        contents = Contents(store, caches.config_maps, caches.secrets)
        events = Recorder(store, instance="desk", now=clock)
        slurm = Slurm(
            caches, look=_ignore, tell=tell, links=Links(
                caches, contents, locate=lambda _: "http://slurm:6820", now=clock,
                connect=lambda url: here.slurmrestd.connect(url, "desk"),
            ),
        )  # fmt: skip
        context = Context(
            cluster=store, caches=caches, contents=contents, owned=Owned(store, []), events=events, slurm=slurm,
            reports=Reports(store, caches, _ignore), metrics=Metrics(), domain=Domain(), now=clock, look=_ignore,
        )  # fmt: skip
        tasks = [asyncio.create_task(informer.run()) for view in caches.views for informer in view.informers]
        tasks.append(asyncio.create_task(events.run()))
        await caches.synced()
        try:
            yield Desk(here, context)
        finally:
            for task in tasks:
                task.cancel()
            await slurm.close()


def _ignore(_key: object, _seconds: float) -> None:
    """Nobody looks again."""
