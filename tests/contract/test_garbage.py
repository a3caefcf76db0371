"""What an object owned goes after it, before it, or stays, as the deletion asks. A real cluster takes a moment."""

from __future__ import annotations

import pytest

from penstock.api.deletion import refusal
from penstock.cluster.errors import Forbidden
from penstock.cluster.port import Propagation

from .world import CONFIG_MAPS, NODE_SETS, PODS, Object, World, contract, eventually

FINALIZER = "example.com/wait"


async def child(
    world: World, name: str, *owners: Object, blocks: bool = True, finalizers: tuple[str, ...] = ()
) -> Object:
    """A ConfigMap that belongs to others."""
    references = [world.owner(owner, blockOwnerDeletion=blocks) for owner in owners]
    body = world.config_map(name, ownerReferences=references, finalizers=list(finalizers))
    return await world.cluster.create(CONFIG_MAPS, body)


async def let_go(world: World, name: str) -> None:
    """Take the finalizers off."""
    await world.cluster.patch(CONFIG_MAPS, name, {"metadata": {"finalizers": None}}, namespace=world.namespace)


@contract
async def test_what_an_object_owned_goes_with_it_over_several_steps(world: World) -> None:
    parent = await world.cluster.create(CONFIG_MAPS, world.config_map("parent"))
    middle = await child(world, "child", parent)
    await child(world, "grandchild", middle)
    await world.cluster.create(CONFIG_MAPS, world.config_map("stranger"))
    await world.cluster.delete(CONFIG_MAPS, "parent", namespace=world.namespace)
    await eventually(lambda: world.is_gone(CONFIG_MAPS, "grandchild"))
    assert await world.is_gone(CONFIG_MAPS, "child")
    assert not await world.is_gone(CONFIG_MAPS, "stranger")


@contract
async def test_our_own_kinds_own_things_as_well(world: World) -> None:
    owner = await world.cluster.create(NODE_SETS, world.node_set("set"))
    reference = world.owner(owner, "NodeSet", "slinky.slurm.net/v1beta1", controller=True)
    await world.cluster.create(PODS, world.pod("pod", ownerReferences=[reference]))
    await world.cluster.delete(NODE_SETS, "set", namespace=world.namespace)
    await eventually(lambda: world.is_gone(PODS, "pod"))


@contract
async def test_nothing_goes_while_the_owner_is_still_held_back(world: World) -> None:
    parent = await world.cluster.create(CONFIG_MAPS, world.config_map("parent", finalizers=[FINALIZER]))
    await child(world, "child", parent)
    await world.cluster.delete(CONFIG_MAPS, "parent", namespace=world.namespace)
    assert not await world.is_gone(CONFIG_MAPS, "child")
    await let_go(world, "parent")
    await eventually(lambda: world.is_gone(CONFIG_MAPS, "child"))


@contract
async def test_an_object_with_another_owner_stays_and_forgets_the_one_that_went(world: World) -> None:
    first = await world.cluster.create(CONFIG_MAPS, world.config_map("first"))
    second = await world.cluster.create(CONFIG_MAPS, world.config_map("second"))
    await child(world, "child", first, second)
    await world.cluster.delete(CONFIG_MAPS, "first", namespace=world.namespace)

    async def has_one_owner() -> bool:
        owners = (await world.get(CONFIG_MAPS, "child")).metadata.owner_references
        return [owner.name for owner in owners] == ["second"]

    await eventually(has_one_owner)
    await world.cluster.delete(CONFIG_MAPS, "second", namespace=world.namespace)
    await eventually(lambda: world.is_gone(CONFIG_MAPS, "child"))


@contract
async def test_in_the_foreground_the_owner_waits_for_what_blocks_it(world: World) -> None:
    parent = await world.cluster.create(CONFIG_MAPS, world.config_map("parent"))
    await child(world, "child", parent, finalizers=(FINALIZER,))
    await child(world, "loose", parent, blocks=False)
    await world.cluster.delete(CONFIG_MAPS, "parent", namespace=world.namespace, propagation=Propagation.FOREGROUND)
    await eventually(lambda: world.is_gone(CONFIG_MAPS, "loose"))
    held = await world.get(CONFIG_MAPS, "parent")
    assert held.metadata.finalizers == ("foregroundDeletion",)
    assert (await world.get(CONFIG_MAPS, "child")).metadata.deletion_timestamp is not None
    await let_go(world, "child")
    await eventually(lambda: world.is_gone(CONFIG_MAPS, "parent"))


@contract
async def test_in_the_foreground_what_does_not_block_is_not_waited_for(world: World) -> None:
    parent = await world.cluster.create(CONFIG_MAPS, world.config_map("parent"))
    await child(world, "child", parent, blocks=False, finalizers=(FINALIZER,))
    await world.cluster.delete(CONFIG_MAPS, "parent", namespace=world.namespace, propagation=Propagation.FOREGROUND)
    await eventually(lambda: world.is_gone(CONFIG_MAPS, "parent"))

    async def child_is_ending() -> bool:
        return (await world.get(CONFIG_MAPS, "child")).metadata.deletion_timestamp is not None

    await eventually(child_is_ending)
    await let_go(world, "child")


@contract
async def test_no_node_set_goes_in_the_foreground(world: World) -> None:
    """Its workers would go at once, with their jobs; also not when it is being deleted already (NS-3)."""
    owner = await world.cluster.create(
        NODE_SETS, world.node_set("set") | {"metadata": world.named("set", finalizers=[FINALIZER])}
    )
    reference = world.owner(owner, "NodeSet", "slinky.slurm.net/v1beta1", controller=True, blockOwnerDeletion=True)
    await world.cluster.create(PODS, world.pod("pod", ownerReferences=[reference]))
    for _ in range(2):
        with pytest.raises(Forbidden) as refused:
            await world.cluster.delete(NODE_SETS, "set", namespace=world.namespace, propagation=Propagation.FOREGROUND)
        assert refusal("set", world.namespace) in str(refused.value)
        await world.cluster.delete(NODE_SETS, "set", namespace=world.namespace)
    assert (await world.get(PODS, "pod")).metadata.deletion_timestamp is None
    assert (await world.get(NODE_SETS, "set")).metadata.finalizers == (FINALIZER,)
    await world.cluster.patch(NODE_SETS, "set", {"metadata": {"finalizers": None}}, namespace=world.namespace)
    await eventually(lambda: world.is_gone(PODS, "pod"))


@contract
async def test_orphans_stay_and_forget_their_owner(world: World) -> None:
    parent = await world.cluster.create(CONFIG_MAPS, world.config_map("parent"))
    await child(world, "child", parent)
    await world.cluster.delete(CONFIG_MAPS, "parent", namespace=world.namespace, propagation=Propagation.ORPHAN)
    await eventually(lambda: world.is_gone(CONFIG_MAPS, "parent"))
    assert (await world.get(CONFIG_MAPS, "child")).metadata.owner_references == ()


@contract
async def test_what_names_an_owner_that_is_not_there_is_collected(world: World) -> None:
    gone = await world.cluster.create(CONFIG_MAPS, world.config_map("gone"))
    await world.cluster.delete(CONFIG_MAPS, "gone", namespace=world.namespace)
    await child(world, "child", gone)
    await eventually(lambda: world.is_gone(CONFIG_MAPS, "child"))


@contract
async def test_an_owner_is_known_by_its_uid_not_by_its_name(world: World) -> None:
    gone = await world.cluster.create(CONFIG_MAPS, world.config_map("parent"))
    await world.cluster.delete(CONFIG_MAPS, "parent", namespace=world.namespace)
    await world.cluster.create(CONFIG_MAPS, world.config_map("parent"))
    await child(world, "child", gone)
    await eventually(lambda: world.is_gone(CONFIG_MAPS, "child"))


@contract
async def test_pods_that_go_with_their_owner_get_their_grace(world: World) -> None:
    owner = await world.cluster.create(CONFIG_MAPS, world.config_map("parent"))
    await world.cluster.create(PODS, world.pod("pod", node="machine", ownerReferences=[world.owner(owner)]))
    await world.cluster.delete(CONFIG_MAPS, "parent", namespace=world.namespace)

    async def is_ending() -> bool:
        pod: Object = await world.get(PODS, "pod")
        return pod.metadata.deletion_grace_period_seconds == 30

    await eventually(is_ending)
    await world.cluster.delete(PODS, "pod", namespace=world.namespace, grace_seconds=0)
