"""A cluster that only the leader can write to."""

from __future__ import annotations

from collections.abc import AsyncIterator

from penstock.api.objects import Json
from penstock.cluster.leader import Election
from penstock.cluster.port import (
    ALWAYS,
    EVERYTHING,
    MANAGER,
    Cluster,
    Event,
    Listing,
    Preconditions,
    Propagation,
    Selection,
    T,
)
from penstock.cluster.resources import Resource


class Fenced:
    """A `Cluster` that reads as the one behind it, and writes only while `election` is certain; else `NotLeader`."""

    def __init__(self, cluster: Cluster, election: Election) -> None:
        self._cluster = cluster
        self._election = election

    async def get(self, resource: Resource[T], name: str, namespace: str = "") -> T:
        """One object."""
        return await self._cluster.get(resource, name, namespace)

    async def list(
        self, resource: Resource[T], where: Selection = EVERYTHING, *, limit: int = 500, continue_token: str = ""
    ) -> Listing[T]:
        """One page of objects."""
        return await self._cluster.list(resource, where, limit=limit, continue_token=continue_token)

    def watch(self, resource: Resource[T], where: Selection = EVERYTHING, *, since: str) -> AsyncIterator[Event[T]]:
        """What happens after `since`."""
        return self._cluster.watch(resource, where, since=since)

    async def create(self, resource: Resource[T], body: Json, *, dry_run: bool = False) -> T:
        """Make an object, as the leader."""
        async with self._election.writing():
            return await self._cluster.create(resource, body, dry_run=dry_run)

    async def apply(
        self, resource: Resource[T], body: Json, *, manager: str = MANAGER, force: bool = True, dry_run: bool = False
    ) -> T:
        """Server-side apply, as the leader."""
        async with self._election.writing():
            return await self._cluster.apply(resource, body, manager=manager, force=force, dry_run=dry_run)

    async def apply_status(self, resource: Resource[T], body: Json, *, manager: str = MANAGER, force: bool = True) -> T:
        """Server-side apply of the status, as the leader."""
        async with self._election.writing():
            return await self._cluster.apply_status(resource, body, manager=manager, force=force)

    async def patch(
        self, resource: Resource[T], name: str, patch: Json, *, namespace: str = "", subresource: str = ""
    ) -> T:
        """A JSON merge patch, as the leader."""
        async with self._election.writing():
            return await self._cluster.patch(resource, name, patch, namespace=namespace, subresource=subresource)

    async def scale(self, resource: Resource[T], name: str, replicas: int, *, namespace: str = "") -> None:
        """Set the size, as the leader."""
        async with self._election.writing():
            await self._cluster.scale(resource, name, replicas, namespace=namespace)

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
        """Delete, as the leader."""
        async with self._election.writing():
            await self._cluster.delete(
                resource,
                name,
                namespace=namespace,
                only_if=only_if,
                propagation=propagation,
                grace_seconds=grace_seconds,
            )

    async def evict(self, name: str, *, namespace: str, only_if: Preconditions = ALWAYS) -> None:
        """Ask for a pod to go, as the leader."""
        async with self._election.writing():
            await self._cluster.evict(name, namespace=namespace, only_if=only_if)
