"""Our own kinds are defaulted, pruned and held to their schema and rules on the way in."""

from __future__ import annotations

from penstock.cluster.errors import Refused

from .world import NODE_SETS, World, contract, refused


@contract
async def test_what_is_left_out_gets_its_default(world: World) -> None:
    made = await world.cluster.create(NODE_SETS, world.node_set("set", replicas=None, updateStrategy={}))
    assert (made.spec["replicas"], made.spec["scalingMode"]) == (1, "StatefulSet")
    assert made.spec["updateStrategy"]["type"] == "RollingUpdate"
    assert "rollingUpdate" not in made.spec["updateStrategy"]


@contract
async def test_what_nobody_knows_is_dropped_except_where_pods_are_described(world: World) -> None:
    template = {"unknown": 1, "spec": {"unknown": 1, "hostname": "set-"}}
    made = await world.cluster.create(NODE_SETS, world.node_set("set", unknown=1, template=template))
    assert "unknown" not in made.spec
    assert made.spec["template"] == {"spec": {"unknown": 1, "hostname": "set-"}}


@contract
async def test_a_value_of_the_wrong_type_is_refused(world: World) -> None:
    with refused(Refused, 'NodeSet.slinky.slurm.net "set" is invalid', "spec.replicas"):
        await world.cluster.create(NODE_SETS, world.node_set("set", replicas="many"))
    with refused(Refused, "spec.scalingMode", "StatefulSet"):
        await world.cluster.create(NODE_SETS, world.node_set("set", scalingMode="Other"))
    with refused(Refused, "spec.replicas"):
        await world.cluster.apply(NODE_SETS, world.node_set("set", replicas=-1))


@contract
async def test_what_is_required_is_required(world: World) -> None:
    with refused(Refused, "spec.controllerRef"):
        await world.cluster.create(NODE_SETS, {"metadata": world.named("set"), "spec": {}})
    with refused(Refused, "spec"):
        await world.cluster.create(NODE_SETS, {"metadata": world.named("set")})


@contract
async def test_a_broken_rule_is_told_in_its_own_words(world: World) -> None:
    with refused(Refused, "name the Controller of the cluster"):
        await world.cluster.create(NODE_SETS, world.node_set("set") | {"spec": {"controllerRef": {"name": ""}}})


@contract
async def test_what_cannot_change_does_not(world: World) -> None:
    made = await world.cluster.create(NODE_SETS, world.node_set("set"))
    with refused(Refused, "make a new object for the other cluster"):
        patch = {"spec": {"controllerRef": {"name": "other"}}}
        await world.cluster.patch(NODE_SETS, "set", patch, namespace=world.namespace)
    with refused(Refused, "make a new object for the other cluster"):
        await world.cluster.apply(NODE_SETS, world.node_set("set") | {"spec": {"controllerRef": {"name": "other"}}})
    assert await world.get(NODE_SETS, "set") == made


@contract
async def test_what_only_slurm_could_know_is_let_through(world: World) -> None:
    """Reconcilers meet such objects in a real cluster and tell the person in a condition."""
    partition = {"enabled": True, "config": "MaxTime=never-heard-of"}
    made = await world.cluster.create(NODE_SETS, world.node_set("set", partition=partition))
    assert made.spec["partition"] == partition
