"""What happens to objects from a moment on, across the ends of single watches: for `--watch`, `wait`, `rollout`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, cast

from penstock.api.objects import Json
from penstock.cli.objects.selecting import Where, everything, selection, typed, whole
from penstock.cli.objects.session import Session
from penstock.cluster.catalogue import Entry
from penstock.cluster.errors import Expired, Unreachable
from penstock.cluster.port import EventType

_PAUSE = 1.0
"""Seconds before asking again a cluster that broke off."""
_PATIENCE = 30
"""Failures in a row after which the cluster counts as gone."""

Change = tuple[EventType, Json]


async def changes(session: Session, entry: Entry, where: Where, *, since: str) -> AsyncGenerator[Change, None]:
    """What happens after `since`. When history is lost, what is there is told once more as modified."""
    failures, reached = 0, since
    while True:
        try:
            async with aclosing(_once(session, entry, where, reached)) as told:
                async for version, change in told:
                    failures, reached = 0, version
                    if change is not None:
                        yield change
        except Expired:
            found = await everything(session, entry, where)
            for item in found.items:
                yield EventType.MODIFIED, item
            reached = found.resource_version
        except Unreachable:
            failures += 1
            if failures > _PATIENCE:
                raise
            await asyncio.sleep(_PAUSE)


async def _once(
    session: Session, entry: Entry, where: Where, since: str
) -> AsyncGenerator[tuple[str, Change | None], None]:
    watch = session.cluster.watch(whole(entry), selection(session, entry, where), since=since)
    async with aclosing(watch) as events:
        async for event in events:
            item = cast(Any, event.object)
            yield event.resource_version, None if item is None else (event.type, typed(entry, item))


async def states(session: Session, entry: Entry, name: str) -> AsyncGenerator[Json | None, None]:
    """One object as it is, and as it becomes; None while it is not there."""
    where = Where(fields=f"metadata.name={name}")
    found = await everything(session, entry, where)
    yield found.items[0] if found.items else None
    async with aclosing(changes(session, entry, where, since=found.resource_version)) as told:
        async for kind, item in told:
            yield None if kind is EventType.DELETED else item
