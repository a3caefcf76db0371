"""Each verb of the port, asked once of a store that has what it needs: for those who stand between."""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

from penstock.api.objects import Json
from penstock.cluster.port import Cluster, Preconditions, Propagation, Selection
from penstock.cluster.resources import Resource, Whole
from penstock.cluster.store import Store

NODE_SETS = Resource("slinky.slurm.net", "v1beta1", "nodesets", "NodeSet", Whole)
PODS = Resource("", "v1", "pods", "Pod", Whole)
SHOWN = Selection(namespace="test", labels="!hidden")
"""All but one of the NodeSets: `set`, `tail`."""
_BORN = datetime(2026, 11, 15, 8, tzinfo=UTC)


class Told:
    """Containers that say only where they are and how much was asked for."""

    async def logs(self, name: str, *, namespace: str, container: str, tail: int = 0) -> AsyncGenerator[str, None]:
        """One line."""
        yield f"{namespace}/{name} {container} {tail}"


def named(name: str, **metadata: Any) -> Json:
    """Metadata."""
    return {"name": name, "namespace": "test", **metadata}


def node_set(name: str, **spec: Any) -> Json:
    """A NodeSet."""
    return {"metadata": named(name), "spec": {"controllerRef": {"name": "slurm"}, **spec}}


def pod_with_log(metadata: Json) -> tuple[Resource[Whole], Json]:
    """A pod on a machine."""
    return PODS, {"metadata": metadata, "spec": {"nodeName": "machine", "containers": [{"name": "main"}]}}


async def prepared() -> Store:
    """A store with a NodeSet and a pod, in which nothing is left to chance."""
    numbers = itertools.count()
    store = Store(clock=lambda: _BORN, uids=lambda: f"uid-{next(numbers)}", logs=Told())
    await store.create(NODE_SETS, node_set("set"))
    await store.create(NODE_SETS, {**node_set("hidden"), "metadata": named("hidden", labels={"hidden": ""})})
    await store.create(NODE_SETS, node_set("tail"))
    await store.create(*pod_with_log(named("pod")))
    return store


async def get(cluster: Cluster) -> None:
    """One object, by name and namespace."""
    assert (await cluster.get(NODE_SETS, "set", "test")).metadata.name == "set"


async def list_(cluster: Cluster) -> None:
    """The first page, of one object, of what a selection finds."""
    page = await cluster.list(NODE_SETS, SHOWN, limit=1)
    assert [item.metadata.name for item in page.items] == ["set"]
    assert page.continue_token


async def watch(cluster: Cluster) -> None:
    """The first event that a selection sees after a version."""
    async with aclosing(cluster.watch(NODE_SETS, SHOWN, since="2")) as events:
        assert (await anext(events)).resource_version == "4"


async def logs(cluster: Cluster) -> None:
    """The first line."""
    async with aclosing(cluster.logs("pod", namespace="test", container="main", tail=3)) as lines:
        assert await anext(lines) == "test/pod main 3"


async def create(cluster: Cluster) -> None:
    """Make something under another name than ours."""
    await cluster.create(NODE_SETS, node_set("new"), manager="maker")


async def apply(cluster: Cluster) -> None:
    """Apply under another name, by force."""
    await cluster.apply(NODE_SETS, node_set("set", replicas=3), manager="other", force=True)


async def apply_status(cluster: Cluster) -> None:
    """Apply a status under another name."""
    status = {"nodeSetHash": "x", "selector": "y", "replicas": 2}
    await cluster.apply_status(NODE_SETS, {"metadata": named("set"), "status": status}, manager="other")


async def patch(cluster: Cluster) -> None:
    """Patch the status, under another name."""
    status = {"status": {"nodeSetHash": "x", "selector": "z", "replicas": 1}}
    await cluster.patch(NODE_SETS, "set", status, namespace="test", subresource="status", manager="patcher")


async def scale(cluster: Cluster) -> None:
    """Another size."""
    await cluster.scale(NODE_SETS, "set", 7, namespace="test")


async def delete(cluster: Cluster) -> None:
    """Delete with every option there is."""
    only_if = Preconditions(uid="uid-0")
    await cluster.delete(
        NODE_SETS, "set", namespace="test", only_if=only_if, propagation=Propagation.ORPHAN, grace_seconds=0
    )


async def evict(cluster: Cluster) -> None:
    """Ask the pod to go."""
    await cluster.evict("pod", namespace="test", only_if=Preconditions(uid="uid-3"))


_SETS = (get, list_, watch, create, apply, apply_status, patch, scale, delete)
_POD = (logs, evict)


def _naming(verb: Callable[[Cluster], Awaitable[None]], resource: str) -> Callable[[Cluster], Awaitable[str]]:
    async def ask(cluster: Cluster) -> str:
        await verb(cluster)
        return resource

    return ask


EVERY_VERB = {verb.__name__.strip("_"): _naming(verb, NODE_SETS.name) for verb in _SETS} | {
    verb.__name__: _naming(verb, "pods") for verb in _POD
}
"""By the port's own name: asks it of a cluster that `prepared` made, and says which resource that is about."""
