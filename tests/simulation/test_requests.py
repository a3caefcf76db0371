"""However many workers there are, a look at their NodeSet asks Slurm little: one order for all that change alike.

Counted are the requests that slurmrestd gets while a look is under way, so also those of others who ask meanwhile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from penstock.api.nodeset import NodeSet
from penstock.api.objects import Json
from penstock.operator.context import Context, Outcome
from penstock.operator.nodeset.drains import CORDON_REASON, CORDONS
from penstock.operator.nodeset.marks import TOPOLOGY
from penstock.operator.nodeset.reconcile import NodeSets
from penstock.operator.nodeset.records import FEATURES
from penstock.operator.nodeset.removing import AT_MOST
from penstock.operator.resources import MACHINES, Custom

from .loop import simulated
from .manifests import NODE_SET
from .slurm_records import Node
from .slurmrestd import Request
from .world import Running, World, cluster

FEW, MANY, MACHINES_OF_MANY = 20, 500, 100
QUESTIONS = 4
"""At most, in one look: what has changed, all nodes before an order, who has jobs (planning, and before they go)."""
CHANGE, ASK_JOBS = ("POST", "nodes"), ("DELETE", "jobs")
"""A signal of no number to the jobs of some nodes is how Slurm is asked for them."""


@dataclass(slots=True)
class Looks:
    """What each look at a NodeSet asked of Slurm."""

    here: World
    each: list[Counter[tuple[str, str]]] = field(default_factory=list)

    @property
    def orders(self) -> list[int]:
        """How many orders about nodes each look gave, of those that gave any."""
        return [one[CHANGE] for one in self.each if one[CHANGE]]

    @property
    def questions(self) -> int:
        """Of the look that had most of them."""
        return max(one.total() - one[CHANGE] for one in self.each)


Counting = Callable[[World], Looks]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counting:
    """Count from now on."""

    def begin(here: World) -> Looks:
        looks, reconcile = Looks(here), NodeSets.reconcile

        async def look(self: NodeSets, context: Context, item: Custom, node_set: NodeSet) -> Outcome:
            before = len(here.slurmrestd.requests)
            try:
                return await reconcile(self, context, item, node_set)
            finally:
                looks.each.append(Counter(map(_kind, here.slurmrestd.requests[before:])))

        monkeypatch.setattr(NodeSets, "reconcile", look)
        return looks

    return begin


def _kind(request: Request) -> tuple[str, str]:
    return request.method, request.path.split("/")[3]


@pytest.mark.parametrize("workers", [FEW, MANY])
@simulated
async def test_all_idle_workers_that_leave_are_drained_in_one_request(counted: Counting, workers: int) -> None:
    async with cluster(replicas=workers) as (here, _):
        looks = counted(here)
        await here.scale(0)
        await here.until(lambda: not here.sight.workers())
        assert looks.orders == [1]
        assert looks.questions <= QUESTIONS
        assert sum(bool(one[ASK_JOBS]) for one in looks.each) == -(-workers // AT_MOST)


@simulated
async def test_where_all_nodes_take_long_to_be_told_jobs_are_asked_for_once_more_and_no_node_alone(
    counted: Counting,
) -> None:
    """Thousands of nodes take seconds, and by then what was told of them may be untrue (NS-3)."""
    async with cluster(replicas=MANY) as (here, _):
        here.slurmrestd.transfer = 1.5
        looks = counted(here)
        await here.scale(0)
        await here.until(lambda: not here.sight.workers(), within=120)
        assert looks.orders == [1]
        assert max(one[ASK_JOBS] for one in looks.each) == 3, "planning, before they go, and at last"
        assert not [one for one in here.slurmrestd.requests if "/node/" in one.path]


@simulated
async def test_all_workers_of_an_old_template_that_may_go_are_drained_in_one_request(
    counted: Counting,
) -> None:
    """In each look: the next one may come before Slurm is asked again, and give the same order."""
    async with cluster(replicas=MANY) as (here, _):
        looks = counted(here)
        rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "100%"}}
        await here.edit("NodeSet", NODE_SET, spec={"updateStrategy": rolling, "extraConf": "Weight=2"})
        await here.until(lambda: all(node.drain for node in nodes(here)), within=5)
        assert {*looks.orders} == {1}
        assert looks.questions <= QUESTIONS


@pytest.mark.parametrize("why", ["the cooling of rack 7 is repaired", None])
@simulated
async def test_machines_that_are_cordoned_alike_are_one_request(counted: Counting, why: str | None) -> None:
    """And one more gives them back; also while an operator hears of them one after the other, of some in each look."""
    async with cluster(replicas=MANY, machines=MACHINES_OF_MANY) as (here, operator):
        async with meanwhile(here, operator):
            given = {"metadata": {"annotations": {CORDON_REASON: why}}}
            await every_machine(here, given | {"spec": {"unschedulable": True}})
            looks = counted(here)
        await here.until(lambda: all(node.drain for node in nodes(here)), within=5)
        assert {node.reason for node in nodes(here)} == {f"penstock: {why or 'its machine is cordoned'}"}
        assert looks.orders == [1]
        await every_machine(here, {"spec": {"unschedulable": None}})
        await here.until(lambda: not any(node.drain for node in nodes(here)), within=5)
        assert {*looks.orders} == {1}
        assert looks.questions <= QUESTIONS


@simulated
async def test_pods_that_are_cordoned_are_one_request(counted: Counting) -> None:
    async with cluster(replicas=FEW) as (here, operator):
        async with meanwhile(here, operator):
            for pod in here.sight.workers():
                await here.edit("Pod", pod.metadata.name, metadata={"annotations": {CORDONS[0]: "true"}})
            looks = counted(here)
        await here.until(lambda: all(node.drain for node in nodes(here)), within=5)
        assert looks.orders == [1]


@pytest.mark.parametrize(
    ("annotation", "text", "shown"),
    [(FEATURES, "nvme", lambda node: "k8s/nvme" in node.features), (TOPOLOGY, "t:r7", lambda node: node.topology)],
    ids=["features", "topology"],
)
@simulated
async def test_what_many_machines_say_alike_is_one_request(
    counted: Counting, annotation: str, text: str, shown: Callable[[Node], object]
) -> None:
    async with cluster(replicas=MANY, machines=MACHINES_OF_MANY) as (here, operator):
        async with meanwhile(here, operator):
            await every_machine(here, {"metadata": {"annotations": {annotation: text}}})
            looks = counted(here)
        await here.until(lambda: all(map(shown, nodes(here))), within=5)
        await here.ready()
        assert looks.orders == [1]
        assert looks.questions <= QUESTIONS


@asynccontextmanager
async def meanwhile(here: World, operator: Running) -> AsyncIterator[None]:
    """Have something happen while no operator looks on: the next one finds all of it at once."""
    await operator.stop()
    yield
    here.start()


async def every_machine(here: World, patch: Json) -> None:
    """Change all machines."""
    assert len({pod.spec["nodeName"] for pod in here.sight.workers()}) == MACHINES_OF_MANY
    for one in here.sight.all("Node"):
        await here.store.patch(MACHINES, one.metadata.name, patch, manager="kubectl")


def nodes(here: World) -> list[Node]:
    """Slurm's."""
    return [*here.slurm.nodes.values()]
