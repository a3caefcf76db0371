"""Objects go when nothing holds them back: preconditions, finalizers, and the grace of pods."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from penstock.cluster.errors import Conflict, Refused
from penstock.cluster.port import Preconditions

from .world import CONFIG_MAPS, NODE_SETS, PODS, Object, World, contract, refused

FINALIZER = "example.com/wait"


async def being_deleted(world: World) -> Object:
    """A ConfigMap that waits for its finalizer."""
    await world.cluster.create(CONFIG_MAPS, world.config_map("one", finalizers=[FINALIZER]))
    await world.cluster.delete(CONFIG_MAPS, "one", namespace=world.namespace)
    found: Object = await world.get(CONFIG_MAPS, "one")
    return found


async def let_go(world: World) -> None:
    """Take the finalizer off."""
    await world.cluster.patch(CONFIG_MAPS, "one", {"metadata": {"finalizers": None}}, namespace=world.namespace)


@contract
async def test_what_nothing_holds_back_is_gone_at_once(world: World) -> None:
    await world.cluster.create(CONFIG_MAPS, world.config_map("one"))
    await world.cluster.delete(CONFIG_MAPS, "one", namespace=world.namespace)
    assert await world.is_gone(CONFIG_MAPS, "one")


@contract
async def test_a_name_is_free_again_and_what_takes_it_is_another_object(world: World) -> None:
    first = await world.cluster.create(CONFIG_MAPS, world.config_map("one"))
    await world.cluster.delete(CONFIG_MAPS, "one", namespace=world.namespace)
    second = await world.cluster.create(CONFIG_MAPS, world.config_map("one"))
    assert second.metadata.uid != first.metadata.uid


@contract
async def test_preconditions_protect_what_came_after(world: World) -> None:
    made = await world.cluster.create(CONFIG_MAPS, world.config_map("one"))
    with refused(Conflict, "UID in the precondition (other)"):
        only_if = Preconditions(uid="other")
        await world.cluster.delete(CONFIG_MAPS, "one", namespace=world.namespace, only_if=only_if)
    changed = await world.cluster.patch(CONFIG_MAPS, "one", {"data": {"a": "1"}}, namespace=world.namespace)
    with refused(Conflict, "ResourceVersion in the precondition"):
        only_if = Preconditions(resource_version=made.metadata.resource_version)
        await world.cluster.delete(CONFIG_MAPS, "one", namespace=world.namespace, only_if=only_if)
    only_if = Preconditions(uid=made.metadata.uid, resource_version=changed.metadata.resource_version)
    await world.cluster.delete(CONFIG_MAPS, "one", namespace=world.namespace, only_if=only_if)
    assert await world.is_gone(CONFIG_MAPS, "one")


@contract
async def test_a_finalizer_holds_an_object_back_and_it_says_so(world: World) -> None:
    held = await being_deleted(world)
    assert held.metadata.deletion_timestamp is not None
    assert held.metadata.finalizers == (FINALIZER,)
    await let_go(world)
    assert await world.is_gone(CONFIG_MAPS, "one")


@contract
async def test_what_is_being_deleted_can_still_be_changed_but_not_held_longer(world: World) -> None:
    await being_deleted(world)
    changed = await world.cluster.patch(CONFIG_MAPS, "one", {"data": {"a": "1"}}, namespace=world.namespace)
    assert changed.data == {"a": "1"}
    with refused(Refused, "no new finalizers can be added if the object is being deleted", "example.com/more"):
        patch = {"metadata": {"finalizers": [FINALIZER, "example.com/more"]}}
        await world.cluster.patch(CONFIG_MAPS, "one", patch, namespace=world.namespace)
    await let_go(world)


@contract
async def test_deleting_twice_changes_nothing(world: World) -> None:
    held = await being_deleted(world)
    await world.cluster.delete(CONFIG_MAPS, "one", namespace=world.namespace)
    assert await world.get(CONFIG_MAPS, "one") == held
    await let_go(world)


@contract
async def test_a_finalizer_can_also_be_let_go_by_apply(world: World) -> None:
    await world.cluster.apply(CONFIG_MAPS, world.config_map("one", finalizers=[FINALIZER]))
    await world.cluster.delete(CONFIG_MAPS, "one", namespace=world.namespace)
    await world.cluster.apply(CONFIG_MAPS, world.config_map("one"))
    assert await world.is_gone(CONFIG_MAPS, "one")


@contract
async def test_beginning_to_delete_is_a_new_generation(world: World) -> None:
    """So that observedGeneration tells whether a reconciler has seen it."""
    body = world.node_set("set")
    body["metadata"]["finalizers"] = [FINALIZER]
    await world.cluster.create(NODE_SETS, body)
    await world.cluster.delete(NODE_SETS, "set", namespace=world.namespace)
    held = await world.get(NODE_SETS, "set")
    assert held.metadata.generation == 2
    patch = {"metadata": {"finalizers": None}}
    await world.cluster.patch(NODE_SETS, "set", patch, namespace=world.namespace)
    assert await world.is_gone(NODE_SETS, "set")


@contract
async def test_a_pod_on_a_machine_gets_its_grace_and_goes_when_the_machine_says(world: World) -> None:
    await world.cluster.create(PODS, world.pod("pod", node="machine"))
    await world.cluster.delete(PODS, "pod", namespace=world.namespace)
    ending = (await world.get(PODS, "pod")).metadata
    assert ending.deletion_grace_period_seconds == 30
    left = datetime.fromisoformat(ending.deletion_timestamp) - datetime.now(UTC)
    assert timedelta(seconds=20) < left <= timedelta(seconds=31)
    await world.cluster.delete(PODS, "pod", namespace=world.namespace, grace_seconds=0)
    assert await world.is_gone(PODS, "pod")


@contract
async def test_grace_can_be_shortened_and_never_prolonged(world: World) -> None:
    await world.cluster.create(PODS, world.pod("pod", node="machine"))
    await world.cluster.delete(PODS, "pod", namespace=world.namespace)
    first = (await world.get(PODS, "pod")).metadata
    await world.cluster.delete(PODS, "pod", namespace=world.namespace, grace_seconds=5)
    second = (await world.get(PODS, "pod")).metadata
    await world.cluster.delete(PODS, "pod", namespace=world.namespace, grace_seconds=60)
    third = (await world.get(PODS, "pod")).metadata
    assert (second.deletion_grace_period_seconds, third.deletion_grace_period_seconds) == (5, 5)
    times = [datetime.fromisoformat(item.deletion_timestamp) for item in (first, second)]
    assert times[0] - times[1] == timedelta(seconds=25)
    await world.cluster.delete(PODS, "pod", namespace=world.namespace, grace_seconds=0)


@contract
async def test_a_pod_that_runs_nowhere_needs_no_grace(world: World) -> None:
    await world.cluster.create(PODS, world.pod("waiting"))
    await world.cluster.delete(PODS, "waiting", namespace=world.namespace)
    assert await world.is_gone(PODS, "waiting")
    await world.cluster.create(PODS, world.pod("finished", node="machine"))
    phase = {"status": {"phase": "Succeeded"}}
    await world.cluster.patch(PODS, "finished", phase, namespace=world.namespace, subresource="status")
    await world.cluster.delete(PODS, "finished", namespace=world.namespace)
    assert await world.is_gone(PODS, "finished")


@contract
async def test_a_pod_waits_for_its_finalizers_and_for_its_machine(world: World) -> None:
    await world.cluster.create(PODS, world.pod("pod", node="machine", finalizers=[FINALIZER]))
    await world.cluster.delete(PODS, "pod", namespace=world.namespace)
    patch = {"metadata": {"finalizers": None}}
    await world.cluster.patch(PODS, "pod", patch, namespace=world.namespace)
    assert not await world.is_gone(PODS, "pod")
    await world.cluster.delete(PODS, "pod", namespace=world.namespace, grace_seconds=0)
    assert await world.is_gone(PODS, "pod")
