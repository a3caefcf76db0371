"""A cluster that plays a script to an informer: what it will be asked, in order, and what it answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import cast

from penstock.cluster.errors import ClusterError
from penstock.cluster.port import EVERYTHING, Cluster, Early, Event, EventType, Listing, Selection
from penstock.cluster.resources import Meta, OwnerReference, Resource, Whole

THINGS = Resource("", "v1", "things", "Thing", Whole)
Step = Event[Whole] | ClusterError | float
"""Something a watch does: an event, an error, or so many seconds of silence."""


def thing(name: str, version: int = 1, *, uid: str = "", owner: str = "", colours: str = "") -> Whole:
    """An object."""
    owners = (OwnerReference(kind="Owner", name=owner, uid=owner),) if owner else ()
    return Whole(
        Meta(
            name=name,
            namespace="n",
            uid=uid or f"uid-{name}",
            resource_version=str(version),
            labels={"colours": colours},
            owner_references=owners,
        )
    )


def added(item: Whole) -> Event[Whole]:
    """It appeared."""
    return Event(EventType.ADDED, item, item.metadata.resource_version)


def modified(item: Whole) -> Event[Whole]:
    """It changed."""
    return Event(EventType.MODIFIED, item, item.metadata.resource_version)


def deleted(item: Whole) -> Event[Whole]:
    """It went."""
    return Event(EventType.DELETED, item, item.metadata.resource_version)


def bookmark(version: int) -> Event[Whole]:
    """Nothing happened up to here."""
    return Event(EventType.BOOKMARK, None, str(version))


@dataclass(frozen=True)
class Lists:
    """A question for a list, and its answer."""

    answer: Listing[Whole] | ClusterError
    page: str = ""
    """The token it must come with."""


@dataclass(frozen=True)
class Watches:
    """A question for a watch from `since`, and what the stream does before the server closes it."""

    since: int
    steps: tuple[Step, ...]


def lists(*items: Whole, version: int, page: str = "", more: str = "") -> Lists:
    """One page."""
    return Lists(Listing([*items], str(version), more), page)


def watches(since: int, *steps: Step) -> Watches:
    """One stream."""
    return Watches(since, steps)


class Script:
    """Plays its scenes in order, and remembers when each began; after the last one it is silent for ever."""

    def __init__(self, *scenes: Lists | Watches) -> None:
        self.times: list[float] = []
        self.closed = 0
        self.over = asyncio.Event()
        """Set when the last scene begins."""
        self._scenes = list(scenes)

    @property
    def cluster(self) -> Cluster:
        """The script, in its role."""
        return cast(Cluster, self)

    async def list(
        self,
        resource: Resource[Whole],
        where: Selection = EVERYTHING,
        *,
        limit: int = 500,
        continue_token: str = "",
        early: Early | None = None,
    ) -> Listing[Whole]:
        """The next scene must be this listing."""
        del early
        assert (resource, where, limit) == (THINGS, EVERYTHING, 500)
        if self.over.is_set():
            await asyncio.sleep(1e9)
        scene = self._next()
        assert isinstance(scene, Lists), f"asked for a list, the script has {scene}"
        assert continue_token == scene.page
        if isinstance(scene.answer, ClusterError):
            raise scene.answer
        return scene.answer

    async def watch(
        self, resource: Resource[Whole], where: Selection = EVERYTHING, *, since: str
    ) -> AsyncGenerator[Event[Whole], None]:
        """The next scene must be this watch."""
        assert (resource, where) == (THINGS, EVERYTHING)
        scene = Watches(int(since), (1e9,)) if self.over.is_set() else self._next()
        assert isinstance(scene, Watches), f"asked for a watch, the script has {scene}"
        assert since == str(scene.since)
        try:
            for step in scene.steps:
                if isinstance(step, ClusterError):
                    raise step
                if isinstance(step, float):
                    await asyncio.sleep(step)
                else:
                    yield step
        finally:
            self.closed += 1

    def _next(self) -> Lists | Watches:
        self.times.append(asyncio.get_running_loop().time())
        scene = self._scenes.pop(0)
        if not self._scenes:
            self.over.set()
        return scene
