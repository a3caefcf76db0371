"""An eviction asks the budgets first.

In a real cluster a controller keeps each budget's status; where none runs, the tests say it for that controller.
"""

from __future__ import annotations

from typing import Any

from penstock.cluster.errors import Conflict, NotFound, Overloaded
from penstock.cluster.port import Preconditions

from .world import BUDGETS, PODS, World, contract, eventually, refused


async def running(world: World, *names: str, ready: str = "True") -> None:
    """Pods that run on a machine and are ready."""
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}
    for name in names:
        await world.cluster.create(PODS, world.pod(name, node="machine", labels={"app": "x"}))
        await world.cluster.patch(PODS, name, {"status": status}, namespace=world.namespace, subresource="status")


async def budget(world: World, allowed: int, **spec: Any) -> None:
    """A budget over those pods, and how many of them may go now."""
    body = {"metadata": world.named("budget"), "spec": {"selector": {"matchLabels": {"app": "x"}}, **spec}}
    made = await world.cluster.create(BUDGETS, body)
    counts = {"disruptionsAllowed": allowed, "currentHealthy": 2, "desiredHealthy": 2 - allowed, "expectedPods": 2}
    status = {"status": {"observedGeneration": made.metadata.generation, **counts}}
    await world.cluster.patch(BUDGETS, "budget", status, namespace=world.namespace, subresource="status")


async def is_ending(world: World, name: str) -> bool:
    """Whether a pod is being deleted."""
    return (await world.get(PODS, name)).metadata.deletion_timestamp is not None


async def is_evicted(world: World, name: str) -> bool:
    """Whether an eviction is let through; the controller may yet have to see the pods."""
    try:
        await world.cluster.evict(name, namespace=world.namespace)
    except Overloaded:
        return False
    return True


async def end(world: World, *names: str) -> None:
    """What the machine does at last."""
    for name in names:
        await world.cluster.delete(PODS, name, namespace=world.namespace, grace_seconds=0)


@contract
async def test_without_a_budget_a_pod_goes_with_its_grace(world: World) -> None:
    await running(world, "one")
    await world.cluster.evict("one", namespace=world.namespace)
    assert await is_ending(world, "one")
    await end(world, "one")


@contract
async def test_a_budget_that_is_used_up_says_not_now(world: World) -> None:
    await running(world, "one", "two")
    await budget(world, 0, minAvailable=2)
    with refused(Overloaded, "Cannot evict pod as it would violate the pod's disruption budget."):
        await world.cluster.evict("one", namespace=world.namespace)
    assert not await is_ending(world, "one")
    await end(world, "one", "two")


@contract
async def test_a_budget_with_room_lets_one_go_and_then_says_not_now(world: World) -> None:
    await running(world, "one", "two")
    await budget(world, 1, minAvailable=1)
    await eventually(lambda: is_evicted(world, "one"))
    assert await is_ending(world, "one")
    with refused(Overloaded):
        await world.cluster.evict("two", namespace=world.namespace)
    await end(world, "one", "two")


@contract
async def test_a_pod_that_does_not_run_yet_is_no_loss(world: World) -> None:
    await world.cluster.create(PODS, world.pod("one", node="machine", labels={"app": "x"}))
    await budget(world, 0, maxUnavailable=0)
    await world.cluster.evict("one", namespace=world.namespace)
    await eventually(lambda: is_ending(world, "one"))
    await end(world, "one")


@contract
async def test_a_budget_speaks_only_for_the_pods_it_selects(world: World) -> None:
    await running(world, "one")
    selector = {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["x"]}]}
    await budget(world, 0, minAvailable=5, selector=selector)
    await world.cluster.evict("one", namespace=world.namespace)
    assert await is_ending(world, "one")
    await end(world, "one")


@contract
async def test_an_eviction_may_insist_on_the_pod_it_means(world: World) -> None:
    await running(world, "one")
    with refused(Conflict):
        await world.cluster.evict("one", namespace=world.namespace, only_if=Preconditions(uid="other"))
    assert not await is_ending(world, "one")
    await end(world, "one")


@contract
async def test_what_is_not_there_cannot_be_evicted(world: World) -> None:
    with refused(NotFound):
        await world.cluster.evict("none", namespace=world.namespace)
