"""All that a command needs of the cluster it talks to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from penstock.api.objects import Json
from penstock.cli.objects.kinds import Kinds
from penstock.cluster.catalogue import Entry
from penstock.cluster.port import Cluster
from penstock.cluster.streams import Streams

MANAGER = "penstock-cli"
"""Our name as a field manager: what a person said through a command."""


class Reachable(Cluster, Streams, Protocol):
    """A cluster whose containers can be reached as well."""


def _now() -> datetime:
    return datetime.now(UTC)


async def no_columns(_entry: Entry) -> list[Json] | None:
    """One machine serves no kinds that we do not know."""
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A cluster, the namespace that is meant, and what the cluster can say about its kinds."""

    cluster: Reachable
    namespace: str
    """The one that was said, or else the cluster's own default."""
    title: str
    """What messages call the cluster."""
    kinds: Kinds
    said_namespace: bool = False
    """Whether the command line named it: then a manifest may not name another."""
    columns: Callable[[Entry], Awaitable[list[Json] | None]] = no_columns
    """The printer columns of a kind that we do not know, from its CRD."""
    now: Callable[[], datetime] = _now
