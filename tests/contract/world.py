"""What contract tests share: a namespace of their own, objects on one line, and ways to watch and to wait."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, aclosing, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from penstock.api.objects import Json
from penstock.cluster.errors import ClusterError, NotFound
from penstock.cluster.port import Cluster, Event, EventType, Selection
from penstock.cluster.resources import Lean, Meta, Resource, Whole

_PATIENCE = 120.0
"""Seconds for what a real cluster does a little later; its garbage collector notices new kinds after half a minute."""


class Metadata(Meta, frozen=True):
    """Metadata with what only tests look at."""

    managed_fields: tuple[Json, ...] = ()
    deletion_grace_period_seconds: int | None = None


class Object(Whole, frozen=True):
    """An object as tests read it."""

    metadata: Metadata

    def owned_by(self, manager: str, *, operation: str = "Apply", subresource: str = "") -> Json:
        """The fields that a manager owns, in Kubernetes' own form; nothing when it owns nothing."""
        wanted = (manager, operation, subresource)
        for entry in self.metadata.managed_fields:
            if (entry["manager"], entry["operation"], entry.get("subresource", "")) == wanted:
                fields: Json = entry["fieldsV1"]
                return fields
        return {}


NAMESPACES = Resource("", "v1", "namespaces", "Namespace", Lean, namespaced=False)
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap", Object)
SERVICES = Resource("", "v1", "services", "Service", Object)
PODS = Resource("", "v1", "pods", "Pod", Object)
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment", Object)
BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", Object)
NODE_SETS = Resource("slinky.slurm.net", "v1beta1", "nodesets", "NodeSet", Object)
TOKENS = Resource("slinky.slurm.net", "v1beta1", "tokens", "Token", Object)


@dataclass(frozen=True)
class World:
    """A cluster, and a namespace in it that no other test knows."""

    cluster: Cluster
    namespace: str

    @property
    def here(self) -> Selection:
        """All that the test put into the namespace."""
        return self.where()

    def where(self, *, labels: str = "", fields: str = "") -> Selection:
        """A part of what the test put into the namespace."""
        # A real cluster puts something of its own into each.
        ours = "metadata.name!=kube-root-ca.crt"
        return Selection(namespace=self.namespace, labels=labels, fields=f"{ours},{fields}" if fields else ours)

    def named(self, name: str, **metadata: Any) -> Json:
        """Metadata."""
        return {"name": name, "namespace": self.namespace, **metadata}

    def config_map(self, name: str, data: dict[str, str] | None = None, **metadata: Any) -> Json:
        """A ConfigMap."""
        return {"metadata": self.named(name, **metadata)} | ({} if data is None else {"data": data})

    def pod(self, name: str, *, node: str = "", **metadata: Any) -> Json:
        """A pod, on a machine or on none yet."""
        spec: Json = {"containers": [{"name": "main", "image": "image"}], "terminationGracePeriodSeconds": 30}
        return {"metadata": self.named(name, **metadata), "spec": spec | ({"nodeName": node} if node else {})}

    def deployment(self, name: str, *containers: Json, **spec: Any) -> Json:
        """A Deployment."""
        template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": list(containers) or [container()]}}
        selector = {"matchLabels": {"app": name}}
        return {"metadata": self.named(name), "spec": {"selector": selector, "template": template, **spec}}

    def node_set(self, name: str, **spec: Any) -> Json:
        """A NodeSet."""
        return {"metadata": self.named(name), "spec": {"controllerRef": {"name": "slurm"}, **spec}}

    def owner(self, owner: Object, kind: str = "ConfigMap", version: str = "v1", **more: Any) -> Json:
        """A reference to an owner."""
        return {"apiVersion": version, "kind": kind, "name": owner.metadata.name, "uid": owner.metadata.uid, **more}

    async def get(self, resource: Resource[Any], name: str) -> Any:
        """One object of the namespace."""
        return await self.cluster.get(resource, name, self.namespace)

    async def names(self, resource: Resource[Any], where: Selection | None = None) -> list[str]:
        """The names of what a selection finds."""
        found = await self.cluster.list(resource, where or self.here)
        return [item.metadata.name for item in found.items]

    async def is_gone(self, resource: Resource[Any], name: str) -> bool:
        """Whether there is no such object."""
        try:
            await self.get(resource, name)
        except NotFound:
            return True
        return False


def container(name: str = "main", **fields: Any) -> Json:
    """A container."""
    return {"name": name, "image": "image", **fields}


def contract(test: Callable[[World], Awaitable[None]]) -> Callable[[AbstractAsyncContextManager[Cluster]], None]:
    """Make a test of an adapter out of an async function: it runs in a loop and a namespace of its own."""

    def run(adapter: AbstractAsyncContextManager[Cluster]) -> None:
        asyncio.run(_in_a_namespace(adapter, test))

    functools.update_wrapper(run, test)
    del run.__dict__["__wrapped__"]  # pytest would look there for the names of fixtures
    return run


async def _in_a_namespace(
    adapter: AbstractAsyncContextManager[Cluster], test: Callable[[World], Awaitable[None]]
) -> None:
    async with adapter as cluster:
        made = await cluster.create(NAMESPACES, {"metadata": {"generateName": "contract-"}})
        try:
            await test(World(cluster, made.metadata.name))
        finally:
            await cluster.delete(NAMESPACES, made.metadata.name)


@contextmanager
def refused(error: type[ClusterError], *words: str) -> Iterator[None]:
    """What is inside must fail like this, with all these words in its message."""
    with pytest.raises(error) as caught:
        yield
    assert [word for word in words if word not in str(caught.value)] == [], str(caught.value)


async def events(watch: AsyncGenerator[Event[Any], None], count: int) -> list[Event[Any]]:
    """The next events of a watch, without bookmarks; the watch is over then."""
    found: list[Event[Any]] = []
    async with asyncio.timeout(_PATIENCE), aclosing(watch) as items:
        async for event in items:
            found += [event] if event.type is not EventType.BOOKMARK else []
            if len(found) == count:
                break
    return found


def told(found: list[Event[Any]]) -> list[str]:
    """Events as a list that reads well: `ADDED name`."""
    return [f"{event.type.value} {event.object.metadata.name}" for event in found if event.object]


async def eventually(question: Callable[[], Awaitable[bool]]) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(_PATIENCE):
        while not await question():  # noqa: ASYNC110 - a question to a cluster, which has no event to wait for
            await asyncio.sleep(0.05)
