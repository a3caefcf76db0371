"""Objects are made, read and changed, each change under a version of its own."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from penstock.cluster.errors import AlreadyExists, Conflict, NotFound, Refused

from .world import CONFIG_MAPS, NODE_SETS, World, contract, refused


@contract
async def test_a_new_object_is_given_what_only_the_server_can_give(world: World) -> None:
    made = await world.cluster.create(CONFIG_MAPS, world.config_map("one", {"a": "1"}, labels={"app": "x"}))
    assert made == await world.get(CONFIG_MAPS, "one")
    assert made.data == {"a": "1"}
    assert made.metadata.labels == {"app": "x"}
    assert made.metadata.uid
    assert int(made.metadata.resource_version) > 0
    age = datetime.now(UTC) - datetime.fromisoformat(made.metadata.creation_timestamp)
    assert abs(age) < timedelta(minutes=1)


@contract
async def test_what_only_the_server_can_give_is_not_taken_from_the_body(world: World) -> None:
    body = world.config_map("one", uid="mine", creationTimestamp="2001-01-01T00:00:00Z")
    made = await world.cluster.create(CONFIG_MAPS, body)
    assert made.metadata.uid != "mine"
    assert not made.metadata.creation_timestamp.startswith("2001")


@contract
async def test_a_name_can_be_taken_once(world: World) -> None:
    await world.cluster.create(CONFIG_MAPS, world.config_map("one"))
    with refused(AlreadyExists, 'configmaps "one" already exists'):
        await world.cluster.create(CONFIG_MAPS, world.config_map("one"))


@contract
async def test_what_is_not_there_is_not_found(world: World) -> None:
    with refused(NotFound, 'configmaps "one" not found'):
        await world.get(CONFIG_MAPS, "one")
    with refused(NotFound, 'nodesets.slinky.slurm.net "one" not found'):
        await world.get(NODE_SETS, "one")
    with refused(NotFound):
        await world.cluster.patch(CONFIG_MAPS, "one", {"data": {"a": "1"}}, namespace=world.namespace)
    with refused(NotFound):
        await world.cluster.delete(CONFIG_MAPS, "one", namespace=world.namespace)


@contract
async def test_names_are_made_up_on_request(world: World) -> None:
    body = {"metadata": {"generateName": "some-", "namespace": world.namespace}}
    names = {(await world.cluster.create(CONFIG_MAPS, body)).metadata.name for _ in range(3)}
    assert len(names) == 3
    assert all(name.startswith("some-") and len(name) == 10 for name in names)


@contract
async def test_the_body_that_was_given_is_left_as_it_was(world: World) -> None:
    body = world.config_map("one", {"a": "1"})
    await world.cluster.create(CONFIG_MAPS, body)
    await world.cluster.apply(CONFIG_MAPS, body)
    assert body == world.config_map("one", {"a": "1"})


@contract
async def test_every_write_has_a_later_version_than_the_one_before_across_kinds(world: World) -> None:
    first = await world.cluster.create(CONFIG_MAPS, world.config_map("one"))
    second = await world.cluster.create(NODE_SETS, world.node_set("set"))
    third = await world.cluster.patch(CONFIG_MAPS, "one", {"data": {"a": "1"}}, namespace=world.namespace)
    versions = [int(item.metadata.resource_version) for item in (first, second, third)]
    assert versions == sorted(set(versions))


@contract
async def test_a_patch_merges_maps_replaces_the_rest_and_removes_what_is_null(world: World) -> None:
    await world.cluster.create(CONFIG_MAPS, world.config_map("one", {"a": "1", "b": "2"}, labels={"x": "1"}))
    patch = {"data": {"a": None, "b": "3", "c": "4"}, "metadata": {"annotations": {"note": "n"}}}
    changed = await world.cluster.patch(CONFIG_MAPS, "one", patch, namespace=world.namespace)
    assert changed.data == {"b": "3", "c": "4"}
    assert (changed.metadata.labels, changed.metadata.annotations) == ({"x": "1"}, {"note": "n"})


@contract
async def test_a_patch_that_changes_nothing_is_no_write(world: World) -> None:
    made = await world.cluster.create(CONFIG_MAPS, world.config_map("one", {"a": "1"}))
    same = await world.cluster.patch(CONFIG_MAPS, "one", {"data": {"a": "1"}}, namespace=world.namespace)
    assert same == made


@contract
async def test_a_patch_may_insist_on_a_version(world: World) -> None:
    made = await world.cluster.create(CONFIG_MAPS, world.config_map("one"))
    patch = {"metadata": {"resourceVersion": made.metadata.resource_version}, "data": {"a": "1"}}
    await world.cluster.patch(CONFIG_MAPS, "one", patch, namespace=world.namespace)
    with refused(Conflict, "the object has been modified"):
        await world.cluster.patch(CONFIG_MAPS, "one", patch, namespace=world.namespace)


@contract
async def test_a_patch_cannot_make_another_object_of_it(world: World) -> None:
    await world.cluster.create(CONFIG_MAPS, world.config_map("one"))
    with refused(Refused, "metadata.uid", "immutable"):
        await world.cluster.patch(CONFIG_MAPS, "one", {"metadata": {"uid": "other"}}, namespace=world.namespace)
    with refused(Refused, "does not match the name"):
        await world.cluster.patch(CONFIG_MAPS, "one", {"metadata": {"name": "other"}}, namespace=world.namespace)


@contract
async def test_the_generation_counts_changes_of_what_is_asked_for(world: World) -> None:
    made = await world.cluster.create(NODE_SETS, world.node_set("set", replicas=1))
    assert made.metadata.generation == 1
    labelled = await world.cluster.patch(
        NODE_SETS, "set", {"metadata": {"labels": {"a": "b"}}}, namespace=world.namespace
    )
    assert labelled.metadata.generation == 1
    grown = await world.cluster.patch(NODE_SETS, "set", {"spec": {"replicas": 2}}, namespace=world.namespace)
    assert grown.metadata.generation == 2


@contract
async def test_a_dry_run_answers_and_changes_nothing(world: World) -> None:
    imagined = await world.cluster.create(CONFIG_MAPS, world.config_map("one", {"a": "1"}), dry_run=True)
    assert imagined.data == {"a": "1"}
    assert await world.is_gone(CONFIG_MAPS, "one")
    made = await world.cluster.create(CONFIG_MAPS, world.config_map("one", {"a": "1"}))
    imagined = await world.cluster.apply(CONFIG_MAPS, world.config_map("one", {"a": "2"}), dry_run=True)
    assert imagined.data == {"a": "2"}
    assert await world.get(CONFIG_MAPS, "one") == made
