"""Server-side apply: managers own fields, and each takes care of its own only."""

from __future__ import annotations

from penstock.cluster.errors import Conflict, Refused

from .world import CONFIG_MAPS, NODE_SETS, World, contract, refused


@contract
async def test_what_is_not_there_is_made(world: World) -> None:
    made = await world.cluster.apply(CONFIG_MAPS, world.config_map("one", {"a": "1"}, labels={"x": "1"}))
    assert made == await world.get(CONFIG_MAPS, "one")
    assert made.owned_by("penstock") == {"f:data": {"f:a": {}}, "f:metadata": {"f:labels": {"f:x": {}}}}


@contract
async def test_applying_the_same_again_is_no_write(world: World) -> None:
    body = world.config_map("one", {"a": "1"}, labels={"x": "1"}, finalizers=["example.com/x"])
    made = await world.cluster.apply(CONFIG_MAPS, body)
    assert await world.cluster.apply(CONFIG_MAPS, body) == made
    await world.cluster.patch(CONFIG_MAPS, "one", {"metadata": {"finalizers": None}}, namespace=world.namespace)


@contract
async def test_what_a_manager_no_longer_states_goes(world: World) -> None:
    await world.cluster.apply(CONFIG_MAPS, world.config_map("one", {"a": "1", "b": "2"}, labels={"x": "1"}))
    left = await world.cluster.apply(CONFIG_MAPS, world.config_map("one", {"b": "2"}))
    assert (left.data, left.metadata.labels) == ({"b": "2"}, {})


@contract
async def test_what_others_own_stays(world: World) -> None:
    await world.cluster.apply(CONFIG_MAPS, world.config_map("one", {"a": "1", "b": "2"}))
    await world.cluster.apply(CONFIG_MAPS, world.config_map("one", {"b": "2", "c": "3"}), manager="other")
    left = await world.cluster.apply(CONFIG_MAPS, world.config_map("one"))
    assert left.data == {"b": "2", "c": "3"}
    assert left.owned_by("penstock") == {}
    assert left.owned_by("other") == {"f:data": {"f:b": {}, "f:c": {}}}


@contract
async def test_what_somebody_patched_in_stays(world: World) -> None:
    await world.cluster.apply(CONFIG_MAPS, world.config_map("one", {"a": "1"}), manager="other")
    await world.cluster.patch(CONFIG_MAPS, "one", {"data": {"b": "2"}}, namespace=world.namespace)
    left = await world.cluster.apply(CONFIG_MAPS, world.config_map("one", {"a": "2"}), manager="other")
    assert left.data == {"a": "2", "b": "2"}
    assert left.owned_by("penstock", operation="Update") == {"f:data": {"f:b": {}}}


@contract
async def test_two_may_own_a_field_while_they_agree(world: World) -> None:
    await world.cluster.apply(CONFIG_MAPS, world.config_map("one", {"a": "1"}))
    both = await world.cluster.apply(CONFIG_MAPS, world.config_map("one", {"a": "1"}), manager="other", force=False)
    assert both.owned_by("penstock") == both.owned_by("other") == {"f:data": {"f:a": {}}}
    left = await world.cluster.apply(CONFIG_MAPS, world.config_map("one"))
    assert left.data == {"a": "1"}


@contract
async def test_another_managers_field_is_not_changed_without_force(world: World) -> None:
    made = await world.cluster.apply(CONFIG_MAPS, world.config_map("one", {"a": "1", "b": "1"}))
    with refused(Conflict, 'Apply failed with 1 conflict: conflict with "penstock": .data.a'):
        await world.cluster.apply(CONFIG_MAPS, world.config_map("one", {"a": "2"}), manager="other", force=False)
    with refused(Conflict, 'Apply failed with 2 conflicts: conflicts with "penstock":\n- .data.a\n- .data.b'):
        body = world.config_map("one", {"a": "2", "b": "2"})
        await world.cluster.apply(CONFIG_MAPS, body, manager="other", force=False)
    assert await world.get(CONFIG_MAPS, "one") == made


@contract
async def test_a_patched_field_is_somebodys_too(world: World) -> None:
    await world.cluster.apply(CONFIG_MAPS, world.config_map("one", {"a": "1"}), manager="other")
    await world.cluster.patch(CONFIG_MAPS, "one", {"data": {"a": "2"}}, namespace=world.namespace)
    with refused(Conflict, 'conflict with "penstock" using v1: .data.a'):
        await world.cluster.apply(CONFIG_MAPS, world.config_map("one", {"a": "1"}), manager="other", force=False)


@contract
async def test_with_force_a_field_changes_hands(world: World) -> None:
    await world.cluster.apply(CONFIG_MAPS, world.config_map("one", {"a": "1", "b": "1"}))
    taken = await world.cluster.apply(CONFIG_MAPS, world.config_map("one", {"a": "2"}), manager="other", force=True)
    assert taken.data == {"a": "2", "b": "1"}
    assert taken.owned_by("penstock") == {"f:data": {"f:b": {}}}
    assert taken.owned_by("other") == {"f:data": {"f:a": {}}}


@contract
async def test_a_patch_takes_what_it_changes_and_nothing_else(world: World) -> None:
    await world.cluster.apply(CONFIG_MAPS, world.config_map("one", {"a": "1", "b": "1"}), manager="other")
    patch = {"data": {"a": "1", "b": "2"}}
    taken = await world.cluster.patch(CONFIG_MAPS, "one", patch, namespace=world.namespace)
    assert taken.owned_by("other") == {"f:data": {"f:a": {}}}
    assert taken.owned_by("penstock", operation="Update") == {"f:data": {"f:b": {}}}


@contract
async def test_who_creates_owns_everything_including_the_maps_it_opened(world: World) -> None:
    made = await world.cluster.create(CONFIG_MAPS, world.config_map("one", {"a": "1"}))
    assert made.owned_by("penstock", operation="Update") == {"f:data": {".": {}, "f:a": {}}}


@contract
async def test_who_creates_or_patches_may_do_so_under_another_name(world: World) -> None:
    made = await world.cluster.create(CONFIG_MAPS, world.config_map("one", {"a": "1"}), manager="maker")
    assert made.owned_by("maker", operation="Update") == {"f:data": {".": {}, "f:a": {}}}
    patch = {"data": {"b": "2"}}
    patched = await world.cluster.patch(CONFIG_MAPS, "one", patch, namespace=world.namespace, manager="patcher")
    assert patched.owned_by("patcher", operation="Update") == {"f:data": {"f:b": {}}}
    assert patched.owned_by("penstock", operation="Update") == {}
    body = world.config_map("one", {"a": "2", "b": "3"})
    with refused(Conflict, 'conflicts with "maker" using v1:\n- .data.a', 'with "patcher" using v1:\n- .data.b'):
        await world.cluster.apply(CONFIG_MAPS, body, force=False)


@contract
async def test_an_applied_version_must_be_current(world: World) -> None:
    made = await world.cluster.apply(CONFIG_MAPS, world.config_map("one", {"a": "1"}))
    body = world.config_map("one", {"a": "2"}, resourceVersion=made.metadata.resource_version)
    await world.cluster.apply(CONFIG_MAPS, body)
    with refused(Conflict, "the object has been modified"):
        await world.cluster.apply(CONFIG_MAPS, world.config_map("one", {"a": "3"}) | {"metadata": body["metadata"]})


@contract
async def test_managed_fields_are_the_servers(world: World) -> None:
    with refused(Refused, "metadata.managedFields must be nil"):
        await world.cluster.apply(CONFIG_MAPS, world.config_map("one", managedFields=[{"manager": "me"}]))


@contract
async def test_defaults_belong_to_nobody_so_a_manager_may_state_and_drop_them(world: World) -> None:
    made = await world.cluster.apply(NODE_SETS, world.node_set("set"))
    assert made.owned_by("penstock") == {"f:spec": {"f:controllerRef": {}}}
    grown = await world.cluster.apply(NODE_SETS, world.node_set("set", replicas=3), force=False)
    assert grown.spec["replicas"] == 3
    back = await world.cluster.apply(NODE_SETS, world.node_set("set"))
    assert back.spec["replicas"] == 1


@contract
async def test_below_fields_that_only_pods_know_maps_are_shared_and_lists_are_not(world: World) -> None:
    """A pod template in a kind of ours has no schema: its maps are merged, its lists replaced."""
    ours = {"spec": {"securityContext": {"runAsUser": 1}, "tolerations": [{"key": "a"}]}}
    await world.cluster.apply(NODE_SETS, world.node_set("set", template=ours))
    theirs = {"spec": {"securityContext": {"fsGroup": 2}, "tolerations": [{"key": "b"}]}}
    both = await world.cluster.apply(NODE_SETS, world.node_set("set", template=theirs), manager="other")
    assert both.spec["template"]["spec"] == {
        "securityContext": {"runAsUser": 1, "fsGroup": 2},
        "tolerations": [{"key": "b"}],
    }
    left = await world.cluster.apply(NODE_SETS, world.node_set("set"))
    assert left.spec["template"] == theirs
