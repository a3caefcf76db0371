"""Status and scale are doors of their own: what comes through one touches nothing behind another."""

from __future__ import annotations

from typing import Any

from penstock.cluster.errors import Conflict, NotFound, Refused

from .world import CONFIG_MAPS, DEPLOYMENTS, NODE_SETS, PODS, TOKENS, World, contract, refused

STATUS = {"nodeSetHash": "hash", "selector": "app=x", "replicas": 2}


def condition(kind: str, status: str = "True") -> dict[str, Any]:
    """A condition."""
    time = "2026-11-15T08:00:00Z"
    return {"type": kind, "status": status, "reason": "Test", "message": "", "lastTransitionTime": time}


def with_status(world: World, name: str, **status: Any) -> dict[str, Any]:
    """An object to apply a status with."""
    return {"metadata": world.named(name), "status": status}


@contract
async def test_who_makes_an_object_does_not_say_its_status(world: World) -> None:
    made = await world.cluster.create(NODE_SETS, world.node_set("set") | {"status": STATUS})
    assert made.status == {}
    applied = await world.cluster.apply(NODE_SETS, world.node_set("set") | {"status": STATUS})
    assert applied.status == {}
    pod = await world.cluster.create(PODS, world.pod("pod") | {"status": {"phase": "Running"}})
    assert pod.status["phase"] == "Pending"


@contract
async def test_the_front_door_leaves_the_status_alone(world: World) -> None:
    await world.cluster.create(NODE_SETS, world.node_set("set"))
    await world.cluster.patch(NODE_SETS, "set", {"status": STATUS}, namespace=world.namespace, subresource="status")
    patch = {"spec": {"replicas": 3}, "status": {"replicas": 9}}
    changed = await world.cluster.patch(NODE_SETS, "set", patch, namespace=world.namespace)
    assert (changed.spec["replicas"], changed.status) == (3, STATUS)


@contract
async def test_the_status_door_leaves_the_rest_alone(world: World) -> None:
    made = await world.cluster.create(NODE_SETS, world.node_set("set"))
    patch = {"spec": {"replicas": 9}, "metadata": {"labels": {"a": "b"}}, "status": STATUS}
    changed = await world.cluster.patch(NODE_SETS, "set", patch, namespace=world.namespace, subresource="status")
    assert changed.status == STATUS
    assert (changed.spec, changed.metadata.labels) == (made.spec, {})
    assert changed.metadata.generation == 1
    assert int(changed.metadata.resource_version) > int(made.metadata.resource_version)


@contract
async def test_a_status_may_insist_on_a_version(world: World) -> None:
    made = await world.cluster.create(NODE_SETS, world.node_set("set"))
    patch = {"metadata": {"resourceVersion": made.metadata.resource_version}, "status": STATUS}
    await world.cluster.patch(NODE_SETS, "set", patch, namespace=world.namespace, subresource="status")
    with refused(Conflict):
        await world.cluster.patch(NODE_SETS, "set", patch, namespace=world.namespace, subresource="status")


@contract
async def test_a_status_is_held_to_the_schema(world: World) -> None:
    await world.cluster.create(NODE_SETS, world.node_set("set"))
    with refused(Refused, "status.nodeSetHash", "status.selector"):
        patch = {"status": {"replicas": 1}}
        await world.cluster.patch(NODE_SETS, "set", patch, namespace=world.namespace, subresource="status")


@contract
async def test_conditions_of_several_managers_live_side_by_side(world: World) -> None:
    await world.cluster.create(TOKENS, token(world))
    await world.cluster.apply_status(TOKENS, with_status(world, "token", conditions=[condition("Ready")]))
    body = with_status(world, "token", conditions=[condition("Other")])
    both = await world.cluster.apply_status(TOKENS, body, manager="other")
    assert [item["type"] for item in both.status["conditions"]] == ["Ready", "Other"]
    key = 'k:{"type":"Ready"}'
    assert list(both.owned_by("penstock", subresource="status")["f:status"]["f:conditions"]) == [key]
    left = await world.cluster.apply_status(TOKENS, with_status(world, "token", conditions=[]))
    assert [item["type"] for item in left.status["conditions"]] == ["Other"]


@contract
async def test_applying_the_same_status_again_is_no_write(world: World) -> None:
    await world.cluster.create(TOKENS, token(world))
    body = with_status(world, "token", conditions=[condition("Ready")])
    applied = await world.cluster.apply_status(TOKENS, body)
    assert await world.cluster.apply_status(TOKENS, body) == applied


@contract
async def test_a_status_can_only_be_applied_to_what_is_there(world: World) -> None:
    with refused(NotFound):
        await world.cluster.apply_status(TOKENS, with_status(world, "token", conditions=[]))


@contract
async def test_a_kind_without_a_status_has_no_door_for_it(world: World) -> None:
    await world.cluster.create(CONFIG_MAPS, world.config_map("one"))
    with refused(NotFound):
        patch = {"status": {"a": "b"}}
        await world.cluster.patch(CONFIG_MAPS, "one", patch, namespace=world.namespace, subresource="status")


@contract
async def test_scale_sets_the_size_and_nothing_else(world: World) -> None:
    made = await world.cluster.create(NODE_SETS, world.node_set("set"))
    await world.cluster.scale(NODE_SETS, "set", 5, namespace=world.namespace)
    scaled = await world.get(NODE_SETS, "set")
    assert scaled.spec == made.spec | {"replicas": 5}
    assert scaled.metadata.generation == 2
    assert scaled.owned_by("penstock", operation="Update", subresource="scale") == {"f:spec": {"f:replicas": {}}}


@contract
async def test_deployments_have_a_size_too(world: World) -> None:
    await world.cluster.create(DEPLOYMENTS, world.deployment("d", replicas=1))
    await world.cluster.scale(DEPLOYMENTS, "d", 0, namespace=world.namespace)
    scaled = await world.get(DEPLOYMENTS, "d")
    assert (scaled.spec["replicas"], scaled.metadata.generation) == (0, 2)
    with refused(Refused, "spec.replicas"):
        await world.cluster.scale(DEPLOYMENTS, "d", -1, namespace=world.namespace)


@contract
async def test_the_size_it_has_already_is_no_write(world: World) -> None:
    await world.cluster.create(NODE_SETS, world.node_set("set"))
    await world.cluster.scale(NODE_SETS, "set", 2, namespace=world.namespace)
    scaled = await world.get(NODE_SETS, "set")
    await world.cluster.scale(NODE_SETS, "set", 2, namespace=world.namespace)
    assert await world.get(NODE_SETS, "set") == scaled


@contract
async def test_a_size_is_held_to_the_schema(world: World) -> None:
    await world.cluster.create(NODE_SETS, world.node_set("set"))
    with refused(Refused, "spec.replicas"):
        await world.cluster.scale(NODE_SETS, "set", -1, namespace=world.namespace)


@contract
async def test_what_has_no_size_or_is_not_there_cannot_be_scaled(world: World) -> None:
    await world.cluster.create(TOKENS, token(world))
    with refused(NotFound):
        await world.cluster.scale(TOKENS, "token", 1, namespace=world.namespace)
    with refused(NotFound, "none"):
        await world.cluster.scale(NODE_SETS, "none", 1, namespace=world.namespace)


def token(world: World) -> dict[str, Any]:
    """A Token, the smallest of our kinds."""
    spec = {"username": "slurm", "jwtKeyRef": {"name": "keys", "key": "jwt.key"}}
    return {"metadata": world.named("token"), "spec": spec}
