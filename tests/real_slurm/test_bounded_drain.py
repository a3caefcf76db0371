"""A bounded drain on real Slurm of both releases (NS-8): warned, then requeued or cancelled, by Slurm's own clock.

What the operator does about it is done here step by step, over a store in place of Kubernetes.
"""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest

from penstock.api.controller import Controller
from penstock.api.nodeset import Drain, DrainTimeoutAction
from penstock.api.scalars import Duration
from penstock.cluster.events import Recorder
from penstock.cluster.store import Store
from penstock.operator.caches import Caches
from penstock.operator.contents import Contents
from penstock.operator.context import Context
from penstock.operator.metrics import Metrics
from penstock.operator.nodeset.bounded import Act, Terms, bounded
from penstock.operator.nodeset.drains import MARK, SCALE_IN
from penstock.operator.nodeset.jobs import Carried, Duty, carry_out
from penstock.operator.owned import Owned
from penstock.operator.reports import Reports
from penstock.operator.slurm import Slurm
from penstock.operator.slurm_links import Links
from penstock.render.names import Domain
from tests.simulation.manifests import JWT_KEY, NAMESPACE, NODE_SET, RESOURCES, sample

from .mini_cluster import MiniCluster, mini_cluster
from .slurm_parser import SlurmParser
from .test_rest_client import PATIENCE
from .test_rest_jobs import LISTENS, Shop, ask, spread


@pytest.fixture
def mini(slurm: SlurmParser) -> Iterator[MiniCluster]:
    with mini_cluster(slurm.root, nodes=3) as cluster:
        yield cluster


@asynccontextmanager
async def context(mini: MiniCluster) -> AsyncIterator[Context]:
    """What reconcilers work with, for the Controller of this Slurm."""
    store = Store(clock=lambda: datetime.now(UTC))
    key = {"jwt.key": base64.b64encode(mini.jwt_key).decode()}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": JWT_KEY, "namespace": NAMESPACE}, "data": key}
    for body in [*sample(), secret]:
        await store.apply(RESOURCES[body["kind"]], body, manager="test")
    caches, now = Caches.over(store, ()), lambda: datetime.now(UTC)
    contents = Contents(store, caches.config_maps, caches.secrets)
    slurm = Slurm(
        caches, look=_ignore, links=Links(caches, contents, locate=lambda _: f"unix://{mini.socket}", now=now)
    )
    tasks = [asyncio.create_task(informer.run()) for view in caches.views for informer in view.informers]
    await caches.synced()
    try:
        yield Context(
            cluster=store, caches=caches, contents=contents, owned=Owned(store, []), slurm=slurm,
            events=Recorder(store, instance="test"), reports=Reports(store, caches, _ignore), metrics=Metrics(),
            domain=Domain(), now=now, look=_ignore,
        )  # fmt: skip
    finally:
        for task in tasks:
            task.cancel()
        await slurm.close()
        await store.close()


async def _wished() -> bool:
    """Nobody takes anything back here."""
    return True


def _ignore(_key: object, _seconds: float) -> None:
    """Nobody looks again."""


class Errand:
    """A drain of one node, and what is done about it as soon as it is due."""

    def __init__(self, shop: Shop, at: Context, node: str, action: DrainTimeoutAction) -> None:
        self._shop, self._context, self._node = shop, at, node
        self._policy = Drain(timeout=Duration.parse("2s"), on_timeout=action)

    async def drain(self) -> int:
        """Drain the node as we do it; when that was, by Slurm's clock."""
        await self._shop.rest.update_nodes([self._node], state=["DRAIN"], reason=SCALE_IN, extra=MARK)
        return (await self._shop.rest.node(self._node)).reason_changed_at.number

    async def next(self) -> tuple[Act, int, Carried]:
        """Wait until something is due, and do it; tells what, when by Slurm's clock, and what came of it."""
        async with asyncio.timeout(PATIENCE):
            while True:
                answer = await self._shop.rest.nodes()
                assert answer is not None
                decided = bounded(Terms(self._policy), [answer.nodes[self._node]], answer.updated)
                if decided.orders:
                    break
                await asyncio.sleep(0.1)
        controller = self._context.caches.decoded(("Controller", NAMESPACE, "slurm"))
        item = self._context.caches.find(("NodeSet", NAMESPACE, NODE_SET))
        assert isinstance(controller, Controller)
        assert item is not None
        duty = Duty(self._context, item, controller, Terms(self._policy), _wished)
        carried = await carry_out(duty, decided.orders)
        return decided.orders[0].act, answer.updated, carried


def story(mini: MiniCluster, told: Callable[[Shop, Context], Awaitable[None]]) -> None:
    async def telling(shop: Shop) -> None:
        async with context(mini) as at:
            await told(shop, at)

    ask(mini, telling)


def test_tasks_of_an_array_are_cancelled_in_time_and_each_alone(mini: MiniCluster) -> None:
    """Node by node: one of the tasks has the number of the whole array."""

    async def told(shop: Shop, at: Context) -> None:
        on = await _all_draining(shop)
        left = set(on.values())
        for node, task in on.items():
            errand = Errand(shop, at, node, DrainTimeoutAction.CANCEL)
            await _in_time(errand, Act.CANCEL)
            left.remove(task)
            await shop.until(lambda: _running(shop) == left)
        await shop.until(lambda: all("CANCELLED" in shop.states()[task] for task in on.values()))

    story(mini, told)


def test_tasks_of_an_array_are_requeued_in_time_and_each_alone(mini: MiniCluster, slurm: SlurmParser) -> None:
    """24.11 cannot, says so, and leaves them alone."""

    async def told(shop: Shop, at: Context) -> None:
        on = await _all_draining(shop)
        left = set(on.values())
        for node, task in on.items():
            errand = Errand(shop, at, node, DrainTimeoutAction.REQUEUE)
            if not slurm.version.startswith("26.05"):
                await errand.drain()
                _, _, carried = await errand.next()
                assert "Slurm 26.05 has" in carried.refusals[0]
                continue
            await _in_time(errand, Act.REQUEUE)
            left.remove(task)
            await shop.until(lambda: _running(shop) == left)
            await shop.until(lambda task=task: "PENDING" in shop.states()[task])  # type: ignore[misc]
        assert _running(shop) == left

    story(mini, told)


async def _all_draining(shop: Shop) -> dict[str, str]:
    """An array over all nodes, whose tasks mind no SIGTERM; no node takes another, for a person drained them all."""
    on = await spread(shop, script=LISTENS)
    await shop.rest.update_nodes(on, state=["DRAIN"], reason="a person's")
    for task in on.values():
        number = next(one.job_id.number for one in await shop.rest.jobs_on(on) if one.step_id == task)
        await shop.until(lambda number=number: "begun" in shop.heard(number))  # type: ignore[misc]
    return on


async def _in_time(errand: Errand, at_the_end: Act) -> None:
    """Timeout 2 s, warned 1 s ahead; a second more, for Slurm's clock cuts off parts of seconds."""
    since = await errand.drain()
    act, when, carried = await errand.next()
    assert (act, carried) == (Act.WARN, Carried())
    assert when - since >= 1 + 1
    act, when, carried = await errand.next()
    assert (act, carried) == (at_the_end, Carried())
    assert when - since >= 2 + 1


def _running(shop: Shop) -> set[str]:
    return {name for name, state in shop.states().items() if "RUNNING" in state}
