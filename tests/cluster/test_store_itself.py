"""What only the store promises: the clock and the names it is given, the same again every time, leave to write."""

from __future__ import annotations

import asyncio
import base64
import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from penstock.api.objects import Json
from penstock.cluster import permit
from penstock.cluster.errors import Overloaded, Refused
from penstock.cluster.port import Event, Propagation
from penstock.cluster.resources import Resource, Whole
from penstock.cluster.store import Store

CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap", Whole)
SECRETS = Resource("", "v1", "secrets", "Secret", Whole)
PODS = Resource("", "v1", "pods", "Pod", Whole)
NODE_SETS = Resource("slinky.slurm.net", "v1beta1", "nodesets", "NodeSet", Whole)
BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", Whole)
BEGINNING = datetime(2026, 11, 15, 8, tzinfo=UTC)


class Clock:
    """A clock that somebody turns."""

    def __init__(self) -> None:
        self.now = BEGINNING

    def __call__(self) -> datetime:
        """The time it shows."""
        return self.now


def simulated() -> tuple[Store, Clock]:
    """A store in which nothing is left to chance."""
    clock, numbers = Clock(), itertools.count()
    return Store(clock=clock, uids=lambda: f"uid-{next(numbers)}"), clock


def named(name: str, **metadata: Any) -> Json:
    """Metadata."""
    return {"name": name, "namespace": "test", **metadata}


def test_time_is_what_the_clock_says() -> None:
    async def main() -> None:
        store, clock = simulated()
        pod = {"metadata": named("pod"), "spec": {"nodeName": "machine", "terminationGracePeriodSeconds": 60}}
        made = await store.create(PODS, pod)
        assert made.metadata.creation_timestamp == "2026-11-15T08:00:00Z"
        clock.now += timedelta(days=1)
        await store.delete(PODS, "pod", namespace="test")
        ending = await store.get(PODS, "pod", "test")
        assert ending.metadata.deletion_timestamp == "2026-11-16T08:01:00Z"

    asyncio.run(main())


async def story(store: Store) -> list[Event[Whole]]:
    """A little of everything; what a watcher sees of it."""
    since = (await store.list(CONFIG_MAPS)).resource_version
    owner = await store.create(CONFIG_MAPS, {"metadata": {"generateName": "some-", "namespace": "test"}})
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner.metadata.name, "uid": owner.metadata.uid}
    for number in range(20):
        body = {"metadata": named(f"child-{number}", ownerReferences=[reference])}
        await store.apply(CONFIG_MAPS, body, manager=f"manager-{number % 3}")
    await store.delete(CONFIG_MAPS, owner.metadata.name, namespace="test", propagation=Propagation.BACKGROUND)
    watch = store.watch(CONFIG_MAPS, since=since)
    return [await anext(watch) for _ in range(42)]


def test_a_node_set_that_goes_with_its_owner_keeps_its_workers_until_it_goes_itself() -> None:
    """Whoever owns it and waits for it waits for the jobs of its workers (NS-3)."""

    async def main() -> None:
        store, _ = simulated()
        owner = await store.create(CONFIG_MAPS, {"metadata": named("owner")})
        above = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.metadata.uid}
        held = named("set", ownerReferences=[above | {"blockOwnerDeletion": True}], finalizers=["example.org/drain"])
        made = await store.create(NODE_SETS, {"metadata": held, "spec": {"controllerRef": {"name": "slurm"}}})
        reference: Json = {"apiVersion": "slinky.slurm.net/v1beta1", "kind": "NodeSet", "name": "set"}
        reference |= {"uid": made.metadata.uid, "blockOwnerDeletion": True}
        await store.create(PODS, {"metadata": named("worker", ownerReferences=[reference])})
        await store.delete(CONFIG_MAPS, "owner", namespace="test", propagation=Propagation.FOREGROUND)
        leaving = (await store.get(NODE_SETS, "set", "test")).metadata
        assert (leaving.finalizers, bool(leaving.deletion_timestamp)) == (("example.org/drain",), True)
        assert (await store.get(PODS, "worker", "test")).metadata.deletion_timestamp is None
        await store.patch(NODE_SETS, "set", {"metadata": {"finalizers": None}}, namespace="test")
        assert not [item for kind in (PODS, NODE_SETS, CONFIG_MAPS) for item in (await store.list(kind)).items]

    asyncio.run(main())


def test_the_same_story_is_told_with_the_same_words() -> None:
    first, second = (asyncio.run(story(simulated()[0])) for _ in range(2))
    assert first == second


def test_leave_to_write_is_asked_for_at_the_last_moment() -> None:
    def never() -> None:
        raise Refused("not any more")

    async def main() -> None:
        store = Store()
        await store.create(CONFIG_MAPS, {"metadata": named("one")})
        with permit.required(never):
            with pytest.raises(Refused, match="not any more"):
                await store.create(CONFIG_MAPS, {"metadata": named("two")})
            with pytest.raises(Refused, match="not any more"):
                await store.patch(CONFIG_MAPS, "one", {"data": {"a": "1"}}, namespace="test")
            with pytest.raises(Refused, match="not any more"):
                await store.delete(CONFIG_MAPS, "one", namespace="test")
        assert [(item.metadata.name, item.data) for item in (await store.list(CONFIG_MAPS)).items] == [("one", {})]

    asyncio.run(main())


def test_a_secret_keeps_plain_texts_encoded_as_kubernetes_does() -> None:
    async def main() -> None:
        store = Store()
        made = await store.create(SECRETS, {"metadata": named("one"), "stringData": {"a": "text"}})
        assert made.data == {"a": base64.b64encode(b"text").decode()}
        patched = await store.patch(SECRETS, "one", {"stringData": {"b": "more"}}, namespace="test")
        assert patched.data == made.data | {"b": base64.b64encode(b"more").decode()}

    asyncio.run(main())


def test_items_that_cannot_be_told_apart_are_refused_when_applied_and_kept_whole_otherwise() -> None:
    async def main() -> None:
        store = Store()
        twice = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
        pod = {"metadata": named("pod"), "spec": {"containers": [{"name": "main", "env": twice}]}}
        with pytest.raises(Refused, match="items of env lack their keys"):
            await store.apply(PODS, pod)
        await store.create(PODS, pod)
        status = {"status": {"phase": "Running"}}
        changed = await store.patch(PODS, "pod", status, namespace="test", subresource="status")
        assert changed.spec["containers"][0]["env"] == twice

    asyncio.run(main())


@pytest.mark.parametrize(
    ("spec", "ready", "allowed"),
    [
        ({"minAvailable": 3}, 4, 1),
        ({"minAvailable": 4}, 4, 0),
        ({"minAvailable": "50%"}, 4, 2),
        ({"minAvailable": "60%"}, 4, 1),
        ({"maxUnavailable": 1}, 4, 1),
        ({"maxUnavailable": "25%"}, 4, 1),
        ({"maxUnavailable": 1}, 3, 0),
        ({"maxUnavailable": 0}, 4, 0),
        ({"maxUnavailable": "100%"}, 2, 2),
    ],
)
def test_a_budget_reckons_with_the_size_that_the_owner_wants(spec: Json, ready: int, allowed: int) -> None:
    async def main() -> None:
        store = Store()
        await workers(store, ready=ready, of=4)
        selector = {"matchLabels": {"app": "x"}}
        await store.create(BUDGETS, {"metadata": named("budget"), "spec": {"selector": selector, **spec}})
        assert await evicted(store, ready) == allowed

    asyncio.run(main())


async def workers(store: Store, *, ready: int, of: int) -> None:
    """A NodeSet that wants `of` workers, of which `ready` are there."""
    set_ = await store.create(
        NODE_SETS, {"metadata": named("set"), "spec": {"controllerRef": {"name": "c"}, "replicas": of}}
    )
    version = "slinky.slurm.net/v1beta1"
    owner = {"apiVersion": version, "kind": "NodeSet", "name": "set", "uid": set_.metadata.uid, "controller": True}
    status = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    for number in range(ready):
        metadata = named(f"pod-{number}", labels={"app": "x"}, ownerReferences=[owner])
        await store.create(PODS, {"metadata": metadata, "spec": {"nodeName": "machine"}})
        await store.patch(PODS, f"pod-{number}", status, namespace="test", subresource="status")


async def evicted(store: Store, pods: int) -> int:
    """How many of the pods can be evicted one after the other."""
    count = 0
    for number in range(pods):
        try:
            await store.evict(f"pod-{number}", namespace="test")
        except Overloaded as answer:
            assert answer.retry_after == 10  # noqa: PT017 - one of two good outcomes
        else:
            count += 1
    return count


def test_what_its_readers_cannot_read_is_refused_at_every_door() -> None:
    """One object that cannot be read would leave every reader of its kind without news."""

    async def main() -> None:
        def unfit(resource: str, body: Json) -> str:
            return "data.a is not text" if resource == "configmaps" and body.get("data", {}).get("a") == 3 else ""

        async with Store(unfit=unfit) as store:
            await store.create(CONFIG_MAPS, {"metadata": {"name": "x", "namespace": "n"}, "data": {"a": "1"}})
            body = {"metadata": {"name": "x", "namespace": "n"}, "data": {"a": 3}}
            with pytest.raises(Refused, match=r"configmaps.* is invalid: data\.a is not text"):
                await store.apply(CONFIG_MAPS, body)
            with pytest.raises(Refused, match="is not text"):
                await store.patch(CONFIG_MAPS, "x", {"data": {"a": 3}}, namespace="n")
            with pytest.raises(Refused, match="is not text"):
                await store.create(CONFIG_MAPS, body | {"metadata": {"name": "y", "namespace": "n"}})
            assert [item.data for item in (await store.list(CONFIG_MAPS)).items] == [{"a": "1"}]

    asyncio.run(main())
