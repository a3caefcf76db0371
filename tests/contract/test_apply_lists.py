"""Lists under server-side apply: merged by their keys, as sets, or replaced whole, as each field has it."""

from __future__ import annotations

from typing import Any

from .world import CONFIG_MAPS, DEPLOYMENTS, SERVICES, Object, World, container, contract


def containers(deployment: Object) -> dict[str, Any]:
    """The containers of a Deployment by name."""
    return {item["name"]: item for item in deployment.spec["template"]["spec"]["containers"]}


def pairs(items: list[dict[str, Any]], key: str, value: str) -> list[tuple[Any, Any]]:
    """Two fields of each item."""
    return [(item[key], item.get(value)) for item in items]


@contract
async def test_containers_are_merged_by_name(world: World) -> None:
    await world.cluster.apply(DEPLOYMENTS, world.deployment("d", container("a"), container("b", workingDir="/b")))
    body = world.deployment("d", container("b", args=["x"]), container("c"))
    both = await world.cluster.apply(DEPLOYMENTS, body, manager="other")
    assert list(containers(both)) == ["a", "b", "c"]
    assert containers(both)["b"]["workingDir"] == "/b"
    assert containers(both)["b"]["args"] == ["x"]
    left = await world.cluster.apply(DEPLOYMENTS, world.deployment("d", container("a")))
    assert list(containers(left)) == ["a", "b", "c"]
    assert "workingDir" not in containers(left)["b"]
    alone = await world.cluster.apply(DEPLOYMENTS, world.deployment("d", container("a")), manager="other")
    assert list(containers(alone)) == ["a"]


@contract
async def test_ownership_of_a_container_is_told_by_its_key(world: World) -> None:
    made = await world.cluster.apply(DEPLOYMENTS, world.deployment("d", container("a")))
    pod = made.owned_by("penstock")["f:spec"]["f:template"]["f:spec"]
    assert pod == {"f:containers": {'k:{"name":"a"}': {".": {}, "f:image": {}, "f:name": {}}}}


@contract
async def test_variables_are_merged_by_name_and_ports_by_number_and_protocol(world: World) -> None:
    ours = container("a", env=[{"name": "A", "value": "1"}, {"name": "B", "value": "1"}], ports=[{"containerPort": 80}])
    await world.cluster.apply(DEPLOYMENTS, world.deployment("d", ours))
    theirs = container(
        "a",
        env=[{"name": "B", "value": "1"}, {"name": "C", "value": "1"}],
        ports=[{"containerPort": 80, "protocol": "UDP"}, {"containerPort": 80, "protocol": "TCP", "name": "web"}],
    )
    both = await world.cluster.apply(DEPLOYMENTS, world.deployment("d", theirs), manager="other")
    merged = containers(both)["a"]
    assert pairs(merged["env"], "name", "value") == [("A", "1"), ("B", "1"), ("C", "1")]
    assert sorted(pairs(merged["ports"], "protocol", "name"), key=str) == [("TCP", "web"), ("UDP", None)]
    left = await world.cluster.apply(DEPLOYMENTS, world.deployment("d", container("a")))
    assert pairs(containers(left)["a"]["env"], "name", "value") == [("B", "1"), ("C", "1")]


@contract
async def test_mounts_and_volumes_are_merged_by_path_and_name(world: World) -> None:
    def body(name: str) -> dict[str, Any]:
        mount = {"name": name, "mountPath": f"/{name}"}
        deployment = world.deployment("d", container("a", volumeMounts=[mount]))
        deployment["spec"]["template"]["spec"]["volumes"] = [{"name": name, "emptyDir": {}}]
        return deployment

    await world.cluster.apply(DEPLOYMENTS, body("x"))
    both = await world.cluster.apply(DEPLOYMENTS, body("y"), manager="other")
    assert [item["name"] for item in both.spec["template"]["spec"]["volumes"]] == ["x", "y"]
    assert [item["mountPath"] for item in containers(both)["a"]["volumeMounts"]] == ["/x", "/y"]


@contract
async def test_arguments_tolerations_and_node_selectors_are_replaced_whole(world: World) -> None:
    def body(text: str) -> dict[str, Any]:
        deployment = world.deployment("d", container("a", args=[text]))
        toleration = {"key": text, "operator": "Exists"}
        deployment["spec"]["template"]["spec"] |= {"tolerations": [toleration], "nodeSelector": {text: text}}
        return deployment

    await world.cluster.apply(DEPLOYMENTS, body("x"))
    taken = await world.cluster.apply(DEPLOYMENTS, body("y"), manager="other")
    pod = taken.spec["template"]["spec"]
    assert pod["containers"][0]["args"] == ["y"]
    assert pod["tolerations"] == [{"key": "y", "operator": "Exists"}]
    assert pod["nodeSelector"] == {"y": "y"}


@contract
async def test_the_order_of_what_is_applied_is_kept(world: World) -> None:
    await world.cluster.apply(DEPLOYMENTS, world.deployment("d", container("a"), container("b"), container("c")))
    turned = await world.cluster.apply(
        DEPLOYMENTS, world.deployment("d", container("c"), container("b"), container("a"))
    )
    assert list(containers(turned)) == ["c", "b", "a"]


@contract
async def test_ports_of_a_service_are_merged_by_number_and_protocol(world: World) -> None:
    def body(*ports: dict[str, Any]) -> dict[str, Any]:
        return {"metadata": world.named("s"), "spec": {"clusterIP": "None", "ports": list(ports)}}

    await world.cluster.apply(SERVICES, body({"port": 80, "name": "a"}))
    both = await world.cluster.apply(SERVICES, body({"port": 81, "name": "b"}), manager="other")
    assert pairs(both.spec["ports"], "port", "name") == [(80, "a"), (81, "b")]
    left = await world.cluster.apply(SERVICES, body({"port": 82, "name": "c"}))
    assert pairs(left.spec["ports"], "port", "name") == [(81, "b"), (82, "c")]


@contract
async def test_finalizers_are_a_set_and_owners_are_merged_by_uid(world: World) -> None:
    owners = [await world.cluster.create(CONFIG_MAPS, world.config_map(name)) for name in ("first", "second")]
    references = [world.owner(owner) for owner in owners]
    await world.cluster.apply(
        CONFIG_MAPS, world.config_map("one", finalizers=["example.com/x"], ownerReferences=references[:1])
    )
    theirs = world.config_map("one", finalizers=["example.com/y"], ownerReferences=references[1:])
    both = await world.cluster.apply(CONFIG_MAPS, theirs, manager="other")
    assert both.metadata.finalizers == ("example.com/x", "example.com/y")
    assert [owner.name for owner in both.metadata.owner_references] == ["first", "second"]
    left = await world.cluster.apply(CONFIG_MAPS, world.config_map("one"))
    assert left.metadata.finalizers == ("example.com/y",)
    assert [owner.name for owner in left.metadata.owner_references] == ["second"]
    free = await world.cluster.apply(
        CONFIG_MAPS, world.config_map("one", ownerReferences=references[1:]), manager="other"
    )
    assert free.metadata.finalizers == ()
