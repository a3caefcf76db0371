"""A watch begins behind a version, repeats nothing, leaves nothing out, and sees only what it asked for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from penstock.cluster.port import Event

from .world import CONFIG_MAPS, NODE_SETS, PODS, World, contract, events, told


async def version(world: World) -> str:
    """Where a watch has to begin to see everything from now on."""
    return (await world.cluster.list(CONFIG_MAPS, world.here)).resource_version


async def make(world: World, name: str, **labels: str) -> None:
    """A ConfigMap with labels."""
    await world.cluster.create(CONFIG_MAPS, world.config_map(name, labels=labels))


async def patch(world: World, name: str, patch: dict[str, Any]) -> None:
    """Change a ConfigMap."""
    await world.cluster.patch(CONFIG_MAPS, name, patch, namespace=world.namespace)


@contract
async def test_everything_after_the_version_is_told_once_and_in_order(world: World) -> None:
    await make(world, "before")
    since = await version(world)
    await make(world, "one")
    await patch(world, "one", {"data": {"a": "1"}})
    await make(world, "two")
    await world.cluster.delete(CONFIG_MAPS, "one", namespace=world.namespace)
    found = await events(world.cluster.watch(CONFIG_MAPS, world.here, since=since), 4)
    assert told(found) == ["ADDED one", "MODIFIED one", "ADDED two", "DELETED one"]
    versions = [int(event.resource_version) for event in found]
    assert versions == sorted(set(versions))
    assert versions[0] > int(since)


@contract
async def test_a_watch_goes_on_where_another_stopped(world: World) -> None:
    since = await version(world)
    for number in range(5):
        await make(world, f"map-{number}")
    first = await events(world.cluster.watch(CONFIG_MAPS, world.here, since=since), 2)
    rest = await events(world.cluster.watch(CONFIG_MAPS, world.here, since=first[-1].resource_version), 3)
    assert told(first + rest) == [f"ADDED map-{number}" for number in range(5)]


@contract
async def test_what_happens_later_is_told_when_it_happens(world: World) -> None:
    watch = world.cluster.watch(CONFIG_MAPS, world.here, since=await version(world))
    watching = asyncio.create_task(events(watch, 2))
    await asyncio.sleep(0.05)
    await make(world, "one")
    await make(world, "two")
    assert told(await watching) == ["ADDED one", "ADDED two"]


@contract
async def test_an_event_carries_the_object_as_it_was_then(world: World) -> None:
    since = await version(world)
    await world.cluster.create(CONFIG_MAPS, world.config_map("one", {"a": "1"}))
    await patch(world, "one", {"data": {"a": "2"}})
    await world.cluster.delete(CONFIG_MAPS, "one", namespace=world.namespace)
    found = await events(world.cluster.watch(CONFIG_MAPS, world.here, since=since), 3)
    assert [event.object.data for event in found if event.object] == [{"a": "1"}, {"a": "2"}, {"a": "2"}]
    assert all(event.object.metadata.resource_version == event.resource_version for event in found if event.object)


@contract
async def test_other_kinds_and_other_namespaces_are_not_seen(world: World) -> None:
    since = await version(world)
    await world.cluster.create(NODE_SETS, world.node_set("set"))
    elsewhere = {"metadata": {"name": f"of-{world.namespace}", "namespace": "default"}}
    await world.cluster.create(CONFIG_MAPS, elsewhere)
    await world.cluster.delete(CONFIG_MAPS, f"of-{world.namespace}", namespace="default")
    await make(world, "one")
    assert told(await events(world.cluster.watch(CONFIG_MAPS, world.here, since=since), 1)) == ["ADDED one"]


@contract
async def test_an_object_that_leaves_a_selection_is_deleted_and_one_that_enters_it_added(world: World) -> None:
    since = await version(world)
    await make(world, "one", color="red")
    await patch(world, "one", {"data": {"step": "1"}})
    await patch(world, "one", {"metadata": {"labels": {"color": "blue"}}, "data": {"step": "2"}})
    await patch(world, "one", {"data": {"step": "3"}})
    await patch(world, "one", {"metadata": {"labels": {"color": "red"}}})
    await world.cluster.delete(CONFIG_MAPS, "one", namespace=world.namespace)
    found = await events(world.cluster.watch(CONFIG_MAPS, world.where(labels="color=red"), since=since), 5)
    assert [event.type.value for event in found] == ["ADDED", "MODIFIED", "DELETED", "ADDED", "DELETED"]
    left = found[2].object
    assert left is not None
    assert (left.data, left.metadata.labels) == ({"step": "1"}, {"color": "red"})
    assert left.metadata.resource_version == found[2].resource_version


@contract
async def test_fields_select_as_labels_do(world: World) -> None:
    since = (await world.cluster.list(PODS, world.here)).resource_version
    await world.cluster.create(PODS, world.pod("here", node="machine"))
    await world.cluster.create(PODS, world.pod("there", node="other"))
    running = {"status": {"phase": "Running"}}
    await world.cluster.patch(PODS, "here", running, namespace=world.namespace, subresource="status")
    where = world.where(fields="spec.nodeName=machine,status.phase=Pending")
    found = await events(world.cluster.watch(PODS, where, since=since), 2)
    assert told(found) == ["ADDED here", "DELETED here"]


@contract
async def test_a_write_that_changes_nothing_is_no_event(world: World) -> None:
    since = await version(world)
    body = world.config_map("one", {"a": "1"})
    await world.cluster.apply(CONFIG_MAPS, body)
    await world.cluster.apply(CONFIG_MAPS, body)
    await patch(world, "one", {"data": {"a": "1"}})
    await make(world, "two")
    found = await events(world.cluster.watch(CONFIG_MAPS, world.here, since=since), 2)
    assert told(found) == ["ADDED one", "ADDED two"]


@contract
async def test_the_end_of_a_finalizer_is_the_end_of_the_object(world: World) -> None:
    since = await version(world)
    await world.cluster.create(CONFIG_MAPS, world.config_map("one", finalizers=["example.com/x"]))
    await world.cluster.delete(CONFIG_MAPS, "one", namespace=world.namespace)
    await patch(world, "one", {"metadata": {"finalizers": None}})
    found = await events(world.cluster.watch(CONFIG_MAPS, world.here, since=since), 3)
    assert told(found) == ["ADDED one", "MODIFIED one", "DELETED one"]


@contract
async def test_several_watch_at_once_and_one_that_gives_up_disturbs_nobody(world: World) -> None:
    since = await version(world)
    patient = [asyncio.create_task(events(watch_from(world, since), 2)) for _ in range(3)]
    hasty = asyncio.create_task(events(watch_from(world, since), 2))
    await make(world, "one")
    await asyncio.sleep(0.05)
    hasty.cancel()
    await asyncio.gather(hasty, return_exceptions=True)
    await make(world, "two")
    assert [told(found) for found in await asyncio.gather(*patient)] == [["ADDED one", "ADDED two"]] * 3


def watch_from(world: World, since: str) -> AsyncGenerator[Event[Any], None]:
    """A watch over the namespace."""
    return world.cluster.watch(CONFIG_MAPS, world.here, since=since)


@contract
async def test_without_a_version_a_watch_begins_with_all_that_is_there_now(world: World) -> None:
    await make(world, "gone")
    await world.cluster.delete(CONFIG_MAPS, "gone", namespace=world.namespace)
    await make(world, "one")
    await patch(world, "one", {"data": {"a": "1"}})
    watching = asyncio.create_task(events(watch_from(world, ""), 2))
    await asyncio.sleep(0.05)
    await make(world, "two")
    found = await watching
    assert told(found) == ["ADDED one", "ADDED two"]
    assert [event.object.data for event in found if event.object] == [{"a": "1"}, {}]


@contract
async def test_from_version_0_a_watch_begins_with_all_that_is_there(world: World) -> None:
    await make(world, "one", color="red")
    await make(world, "other", color="blue")
    where = world.where(labels="color=red")
    watching = asyncio.create_task(events(world.cluster.watch(CONFIG_MAPS, where, since="0"), 2))
    await asyncio.sleep(0.05)
    await make(world, "two", color="red")
    assert told(await watching) == ["ADDED one", "ADDED two"]
