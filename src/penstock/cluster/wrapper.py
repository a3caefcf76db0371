"""A cluster around another: the port's verbs passed on, once for all who only add a thought to them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Literal, get_args

from penstock.api.objects import Json
from penstock.cluster.port import (
    ALWAYS,
    EVERYTHING,
    MANAGER,
    Cluster,
    Early,
    Event,
    Listing,
    Preconditions,
    Propagation,
    Selection,
    T,
)
from penstock.cluster.resources import Resource

Read = Literal["get", "list", "watch", "logs"]
Write = Literal["create", "apply", "apply_status", "patch", "scale", "delete", "evict"]
WRITES = frozenset(get_args(Write))

Around = Callable[[Read | Write, str], AbstractAsyncContextManager[None]]
"""What a call happens inside of, by its verb and the full name of the resource."""


class Wrapper:
    """A `Cluster` that does as the one behind it, each call inside of what `around` gives; streams are passed bare."""

    def __init__(self, cluster: Cluster, around: Around = lambda _verb, _resource: nullcontext()) -> None:
        self._cluster = cluster
        self._around = around

    async def get(self, resource: Resource[T], name: str, namespace: str = "") -> T:
        """One object."""
        async with self._around("get", resource.name):
            return await self._cluster.get(resource, name, namespace)

    async def list(
        self,
        resource: Resource[T],
        where: Selection = EVERYTHING,
        *,
        limit: int = 500,
        continue_token: str = "",
        early: Early | None = None,
    ) -> Listing[T]:
        """One page of objects."""
        async with self._around("list", resource.name):
            return await self._cluster.list(resource, where, limit=limit, continue_token=continue_token, early=early)

    def watch(
        self, resource: Resource[T], where: Selection = EVERYTHING, *, since: str
    ) -> AsyncGenerator[Event[T], None]:
        """What happens after `since`."""
        return self._cluster.watch(resource, where, since=since)

    def logs(self, name: str, *, namespace: str, container: str, tail: int = 0) -> AsyncGenerator[str, None]:
        """The lines of a container's log."""
        return self._cluster.logs(name, namespace=namespace, container=container, tail=tail)

    async def create(self, resource: Resource[T], body: Json, *, manager: str = MANAGER, dry_run: bool = False) -> T:
        """Make an object."""
        async with self._around("create", resource.name):
            return await self._cluster.create(resource, body, manager=manager, dry_run=dry_run)

    async def apply(
        self, resource: Resource[T], body: Json, *, manager: str = MANAGER, force: bool = True, dry_run: bool = False
    ) -> T:
        """Server-side apply."""
        async with self._around("apply", resource.name):
            return await self._cluster.apply(resource, body, manager=manager, force=force, dry_run=dry_run)

    async def apply_status(self, resource: Resource[T], body: Json, *, manager: str = MANAGER, force: bool = True) -> T:
        """Server-side apply of the status alone."""
        async with self._around("apply_status", resource.name):
            return await self._cluster.apply_status(resource, body, manager=manager, force=force)

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
        """A JSON merge patch."""
        async with self._around("patch", resource.name):
            return await self._cluster.patch(
                resource, name, patch, namespace=namespace, subresource=subresource, manager=manager
            )

    async def scale(self, resource: Resource[T], name: str, replicas: int, *, namespace: str = "") -> None:
        """Set the size."""
        async with self._around("scale", resource.name):
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
        """Delete an object."""
        async with self._around("delete", resource.name):
            await self._cluster.delete(
                resource,
                name,
                namespace=namespace,
                only_if=only_if,
                propagation=propagation,
                grace_seconds=grace_seconds,
            )

    async def evict(self, name: str, *, namespace: str, only_if: Preconditions = ALWAYS) -> None:
        """Ask for a pod to go."""
        async with self._around("evict", "pods"):
            await self._cluster.evict(name, namespace=namespace, only_if=only_if)
