"""A log is there when its container is, and has begun. What it says needs a kubelet, or whoever runs a store's pods."""

from __future__ import annotations

from penstock.cluster.errors import NotFound, NotYet

from .world import PODS, World, contract, refused


@contract
async def test_without_the_pod_or_the_container_there_is_no_log(world: World) -> None:
    with refused(NotFound, 'pods "none" not found'):
        await anext(world.cluster.logs("none", namespace=world.namespace, container="main"))
    await world.cluster.create(PODS, unscheduled(world, "pod"))
    with refused(NotFound, "container other is not valid for pod pod"):
        await anext(world.cluster.logs("pod", namespace=world.namespace, container="other"))


@contract
async def test_a_pod_on_no_machine_has_no_log_yet(world: World) -> None:
    await world.cluster.create(PODS, unscheduled(world, "pod"))
    with refused(NotYet):
        await anext(world.cluster.logs("pod", namespace=world.namespace, container="main", tail=10))


def unscheduled(world: World, name: str) -> dict[str, object]:
    """A pod that no scheduler takes."""
    pod = world.pod(name)
    return pod | {"spec": pod["spec"] | {"schedulerName": "nobody"}}
