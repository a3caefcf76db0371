"""A cluster in memory with views of it, in virtual time: what we ask of it is counted, and its watch can be held up."""

from __future__ import annotations

import asyncio
import functools
import itertools
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

from tests.cluster.virtual_time import beside, run

from penstock.api.objects import Json
from penstock.cluster.index import owners
from penstock.cluster.metered import Metered
from penstock.cluster.port import EVERYTHING, Event, Selection, T
from penstock.cluster.resources import Lean, Resource, Whole
from penstock.cluster.store import Store
from penstock.operator.resources import CUSTOMS, OWNED, REVISIONS, SERVICE_MONITORS, Custom
from penstock.operator.views import View
from penstock.render import labels

BEGINNING = datetime(2026, 11, 16, 8, tzinfo=UTC)
PERSON = "kubectl"


class Held(Metered):
    """A metered cluster whose watches can be held up."""

    def __init__(self, store: Store, calls: Counter[str]) -> None:
        super().__init__(store, lambda verb, _resource, _outcome: calls.update([verb]))
        self.follows = asyncio.Event()
        self.follows.set()

    async def watch(
        self, resource: Resource[T], where: Selection = EVERYTHING, *, since: str
    ) -> AsyncGenerator[Event[T], None]:
        """What happens, as soon as we may know."""
        async with aclosing(super().watch(resource, where, since=since)) as events:
            async for event in events:
                await self.follows.wait()
                yield event


class Scene:
    """The cluster, the views, and others who change things."""

    def __init__(self) -> None:
        numbers = itertools.count()
        self.store = Store(clock=lambda: BEGINNING, uids=lambda: f"uid-{next(numbers)}")
        self.calls: Counter[str] = Counter()
        self.cluster = Held(self.store, self.calls)
        watched = [*(one for one in OWNED.values() if one is not SERVICE_MONITORS), *CUSTOMS.values()]
        self.views: dict[str, View[Any]] = {
            one.kind: View(self.cluster, one, indexes={"owners": owners}) for one in watched
        }
        of_workers = f"{labels.NAME}=slurmd"
        self.views[REVISIONS.kind] = View(self.cluster, REVISIONS, labels=of_workers, indexes={"owners": owners})

    @property
    def owned(self) -> list[View[Lean]]:
        """Views of what our kinds own."""
        return [view for kind, view in self.views.items() if kind in OWNED]

    async def run(self) -> None:
        """Keep the views up to date."""
        async with asyncio.TaskGroup() as group:
            for view in self.views.values():
                for informer in view.informers:
                    group.create_task(informer.run())

    async def seen(self) -> None:
        """Wait until the views show everything."""
        self.cluster.follows.set()
        await asyncio.sleep(1)

    async def behind(self) -> None:
        """From now on the views show nothing new."""
        await self.seen()
        self.cluster.follows.clear()

    async def custom(self, kind: str = "NodeSet", name: str = "n") -> Custom:
        """An object of ours, as the watch shows it."""
        body = {"metadata": {"name": name, "namespace": "hpc"}, "spec": {"controllerRef": {"name": "slurm"}}}
        await self.store.create(CUSTOMS[kind], body)
        await self.seen()
        shown: Custom = self.shown(kind, name)
        return shown

    def shown(self, kind: str, name: str) -> Any:
        """An object as the watch shows it."""
        return self.views[kind].get(name, "hpc")

    async def there(self, kind: str, name: str) -> Whole:
        """An object as it is."""
        return await self.store.get((OWNED | CUSTOMS)[kind].reading(Whole), name, "hpc")

    async def edit(self, kind: str, name: str, **patch: Any) -> None:
        """Somebody edits an object."""
        await self.store.patch((OWNED | CUSTOMS)[kind], name, patch, namespace="hpc", manager=PERSON)


def played(test: Callable[[Scene], Awaitable[None]]) -> Callable[[], None]:
    """Make a test out of an async function: it gets a scene of its own."""

    async def main() -> None:
        scene = Scene()
        await beside(scene.run(), _through(scene, test))

    def in_virtual_time() -> None:
        run(main())

    functools.update_wrapper(in_virtual_time, test)
    del in_virtual_time.__dict__["__wrapped__"]  # pytest would look there for the names of fixtures
    return in_virtual_time


async def _through(scene: Scene, test: Callable[[Scene], Awaitable[None]]) -> None:
    await scene.seen()
    await test(scene)


def controlled_by(owner: Lean, kind: str = "NodeSet") -> Json:
    """A reference to the one owner that counts."""
    reference = {"apiVersion": "slinky.slurm.net/v1beta1", "kind": kind, "name": owner.metadata.name}
    return {**reference, "uid": owner.metadata.uid, "controller": True}
