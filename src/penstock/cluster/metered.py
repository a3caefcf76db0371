"""A cluster that has counted what is asked of it and how that ends. Who counts, and in what, is not its matter."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Protocol, TypeVar

from penstock.cluster.port import EVERYTHING, Cluster, Event, Selection, T
from penstock.cluster.resources import Resource
from penstock.cluster.wrapper import Read, Wrapper, Write

V = TypeVar("V")

OK = "ok"
CANCELLED = "cancelled"
"""Whoever asked gave up."""


class Count(Protocol):
    """Told once of each call, at its end; of a stream when it is over, however long that takes."""

    def __call__(self, verb: str, resource: str, outcome: str) -> None:
        """Take note: `get`, `nodesets.slinky.slurm.net`, and `ok`, `cancelled` or the error's class: `NotFound`."""
        ...


class Metered(Wrapper):
    """A `Cluster` that does as the one behind it, and has each call counted."""

    def __init__(self, cluster: Cluster, count: Count) -> None:
        super().__init__(cluster, self._counted)
        self._count = count

    def watch(
        self, resource: Resource[T], where: Selection = EVERYTHING, *, since: str
    ) -> AsyncGenerator[Event[T], None]:
        """What happens after `since`, counted at the end."""
        return self._to_the_end("watch", resource.name, super().watch(resource, where, since=since))

    def logs(self, name: str, *, namespace: str, container: str, tail: int = 0) -> AsyncGenerator[str, None]:
        """The lines of a container's log, counted at the end."""
        lines = super().logs(name, namespace=namespace, container=container, tail=tail)
        return self._to_the_end("logs", "pods", lines)

    async def _to_the_end(self, verb: Read, resource: str, items: AsyncGenerator[V, None]) -> AsyncGenerator[V, None]:
        async with self._counted(verb, resource), aclosing(items):
            async for item in items:
                yield item

    @asynccontextmanager
    async def _counted(self, verb: Read | Write, resource: str) -> AsyncIterator[None]:
        outcome = OK
        try:
            yield
        except GeneratorExit:
            raise  # A reader that has enough of a stream ends it well.
        except asyncio.CancelledError:
            outcome = CANCELLED
            raise
        except BaseException as error:
            outcome = _public_name(error)
            raise
        finally:
            self._count(verb, resource, outcome)


def _public_name(error: BaseException) -> str:
    """The error's class, or the one that it is a private kind of: adapters may have some for themselves."""
    return next(kind.__name__ for kind in type(error).__mro__ if not kind.__name__.startswith("_"))
