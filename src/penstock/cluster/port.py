"""What reconcilers may ask of a cluster.

The semantics are Kubernetes' own, and `tests/contract` holds both adapters to them:

- every write makes a new `resourceVersion`; `generation` grows when something other than metadata and status changes;
- `apply` is server-side apply: fields of the given manager that are no longer stated are removed, others' stay;
- `status` and `scale` are doors of their own: a write through the front door does not touch status;
- deletion waits for finalizers, then sweeps what the object owned;
- a watch begins behind the resource version given, repeats nothing and leaves nothing out, or says `Expired`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from enum import Enum
from typing import Generic, Protocol, TypeVar

from penstock.api.objects import Json
from penstock.cluster.resources import Lean, Resource

T = TypeVar("T", bound=Lean)

MANAGER = "penstock"
"""Our name as a field manager."""
LONGEST_LOG_LINE = 64 * 1024
"""Bytes; what a line of a log has beyond them is cut off."""


class EventType(Enum):
    """What happened to an object."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    """Nothing happened; the watch has come this far."""


@dataclass(frozen=True, slots=True)
class Event(Generic[T]):
    """One thing that happened, and the resource version it brought."""

    type: EventType
    object: T | None
    """None for a bookmark."""
    resource_version: str


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """Objects at one moment."""

    items: list[T]
    resource_version: str
    """Watch from here to miss nothing."""
    continue_token: str = ""
    """Not empty: there is more, ask again with it."""


Early = Callable[[str], None]
"""Told where the next page begins; perhaps never, and twice when a page has to be asked for twice."""


class Propagation(Enum):
    """What becomes of the objects that a deleted one owned."""

    BACKGROUND = "Background"
    FOREGROUND = "Foreground"
    ORPHAN = "Orphan"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which objects of a resource are meant."""

    namespace: str | None = None
    """None: all namespaces."""
    labels: str = ""
    """A label selector: `app=x,tier in (a,b),!old`."""
    fields: str = ""
    """A field selector; both adapters know metadata.name and metadata.namespace."""


EVERYTHING = Selection()


@dataclass(frozen=True, slots=True, kw_only=True)
class Preconditions:
    """What must still be true of an object for a deletion to happen."""

    uid: str | None = None
    resource_version: str | None = None


ALWAYS = Preconditions()


class Cluster(Protocol):
    """A Kubernetes API server, or something that behaves like one."""

    async def get(self, resource: Resource[T], name: str, namespace: str = "") -> T:
        """One object, or `NotFound`."""
        ...

    async def list(
        self,
        resource: Resource[T],
        where: Selection = EVERYTHING,
        *,
        limit: int = 500,
        continue_token: str = "",
        early: Early | None = None,
    ) -> Listing[T]:
        """One page of objects. Pages of one listing show one moment; a token too old is `Expired`.

        `early` may be told the token of the next page before this one is here. `penstock.cluster.pages` reads them all.
        """
        ...

    def watch(
        self, resource: Resource[T], where: Selection = EVERYTHING, *, since: str
    ) -> AsyncGenerator[Event[T], None]:
        """What happens after `since`, until the server closes the stream; `Expired` when history is gone.

        With "" or "0" it begins with everything there is, each as ADDED and in no order of versions, so no watch can
        go on from one of these; "" is up to date, with "0" the server may begin with what it knew a moment ago.
        Bookmarks may come at any time, and one comes at least about once a minute unless the stream ends before.
        """
        ...

    def logs(self, name: str, *, namespace: str, container: str, tail: int = 0) -> AsyncGenerator[str, None]:
        """The lines of a container's log: the last `tail` of those there are, then each as it comes.

        Ends when the container does, or when the server closes the stream. `NotFound` when there is no such pod or
        container, `NotYet` while the container has not begun, `Unreachable` when the stream breaks. A log may be silent
        for days; a line longer than `LONGEST_LOG_LINE` is cut.
        """
        ...

    async def create(self, resource: Resource[T], body: Json, *, manager: str = MANAGER, dry_run: bool = False) -> T:
        """Make an object; its namespace is in its metadata. `AlreadyExists` when it is there."""
        ...

    async def apply(
        self, resource: Resource[T], body: Json, *, manager: str = MANAGER, force: bool = True, dry_run: bool = False
    ) -> T:
        """Server-side apply: make the object, or make these fields ours and so."""
        ...

    async def apply_status(self, resource: Resource[T], body: Json, *, manager: str = MANAGER, force: bool = True) -> T:
        """Server-side apply of the status alone."""
        ...

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
        """A JSON merge patch; with `metadata.resourceVersion` in it, `Conflict` unless that is current."""
        ...

    async def scale(self, resource: Resource[T], name: str, replicas: int, *, namespace: str = "") -> None:
        """Set the size through the scale subresource."""
        ...

    async def delete(
        self,
        resource: Resource[T],
        name: str,
        *,
        namespace: str = "",
        only_if: Preconditions = ALWAYS,
        propagation: Propagation = Propagation.BACKGROUND,
        grace_seconds: int | None = None,
    ) -> None:
        """Delete; `Conflict` when the preconditions do not hold, `NotFound` when it is gone already."""
        ...

    async def evict(self, name: str, *, namespace: str, only_if: Preconditions = ALWAYS) -> None:
        """Ask for a pod to go, with budgets respected: `Overloaded` when a budget says not now."""
        ...
