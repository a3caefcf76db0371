"""Static nodes stay in slurm.conf as long as their workers are there, for slurmctld ends the jobs of any other (TR-4).

That no job is lost `world` itself sees to.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest

from penstock.api.objects import Json
from penstock.cluster.port import Propagation
from penstock.operator.resources import CUSTOMS
from penstock.slurm import hostlist

from .loop import now, simulated
from .manifests import NAMESPACE, NODE_SET, Seen, sample
from .port import Behind
from .world import World, cluster, world

SOON = 10.0
"""Seconds in which the configuration follows the workers."""


def documents(**spec: Any) -> list[Json]:
    """The sample with static nodes."""
    made = sample()
    [node_set] = [body for body in made if body["kind"] == "NodeSet"]
    node_set["spec"] |= {"registration": "Static", **spec}
    return made


def lines(here: World) -> list[str]:
    """The host lists that slurm.conf names nodes by."""
    return re.findall(r"(?m)^NodeName=(\S+)", here.sight("ConfigMap", "slurm-config").data["slurm.conf"])


def configurations(here: World) -> list[list[str]]:
    """The nodes in the configurations that are applied from now on, when they change."""
    seen = [lines(here)]

    def note(_: Seen | None, new: Seen | None) -> None:
        if new is not None and new.metadata.name == "slurm-config" and lines(here) != seen[-1]:
            seen.append(lines(here))

    here.sight.subscribe("ConfigMap", note)
    return seen


def workers(here: World) -> set[str]:
    """The names of the workers' nodes."""
    return {pod.spec["hostname"] for pod in here.sight.workers()}


def all_known(here: World) -> bool:
    """Whether slurmctld knows every worker."""
    return workers(here) <= here.slurm.nodes.keys()


@simulated
async def test_a_busy_worker_keeps_its_node_until_it_is_gone() -> None:
    """All three are busy, and the last one is the longest: it stays, whatever number it has, and so does the line."""
    async with cluster(documents(), replicas=3) as (here, _):
        jobs = [here.slurm.submit(1, 60 * (number + 1), on=f"compute-{number}")[0] for number in range(3)]
        await here.scale(0)
        await here.until(lambda: workers(here) == {"compute-2"}, within=150)
        assert jobs[2].runs
        assert lines(here) == ["compute-[0-2]"]
        await here.until(lambda: not workers(here), within=90)
        await here.until(lambda: not here.slurm.static, within=SOON, what="slurmctld knows none of them")
        assert [job.end for job in jobs] == ["COMPLETED"] * 3


@simulated
async def test_the_worker_that_stays_is_known_however_high_its_number() -> None:
    """The only busy one is the last: it stays for good, and takes jobs."""
    async with cluster(documents(), replicas=3) as (here, _):
        here.slurm.submit(1, 100, on="compute-2")
        await here.scale(1)
        await here.until(lambda: workers(here) == {"compute-2"}, within=60)
        await asyncio.sleep(600)
        assert lines(here) == ["compute-[0-2]"]
        [job] = here.slurm.submit(1, 10)
        await here.until(lambda: job.ended is not None, within=20)
        assert job.nodes == ("compute-2",)


@simulated
async def test_workers_that_go_together_are_one_configuration_less() -> None:
    """Each alone would have slurmctld read all of it once more."""
    async with cluster(documents(), replicas=20, machines=20) as (here, _):
        seen = configurations(here)
        await here.scale(2)
        await here.until(lambda: lines(here) == ["compute-[0-1]"], within=60)
        assert len(seen) <= 4


@simulated
async def test_what_is_asked_for_is_known_at_once_and_nobody_looks_when_workers_of_it_come_and_go() -> None:
    async with cluster(documents(), replicas=3) as (here, _):
        await here.scale(5)
        await here.until(lambda: lines(here) == ["compute-[0-4]"], within=1)
        await here.ready()
        await asyncio.sleep(35)
        assert all_known(here)
        seen = configurations(here)
        await here.delete("Pod", f"{NODE_SET}-4")
        await asyncio.sleep(60)
        assert len(workers(here)) == 5
        assert len(seen) == 1


async def _renamed(here: World) -> None:
    await here.edit("NodeSet", NODE_SET, spec={"template": {"spec": {"hostname": "big-"}}})


async def _widened(here: World) -> None:
    await here.edit("NodeSet", NODE_SET, spec={"ordinalPadding": 3})


async def _dynamic(here: World) -> None:
    await here.edit("NodeSet", NODE_SET, spec={"registration": "Dynamic"})


async def _dynamic_and_wider(here: World) -> None:
    await here.edit("NodeSet", NODE_SET, spec={"registration": "Dynamic", "ordinalPadding": 3})


async def _deleted(here: World) -> None:
    await here.delete("NodeSet", NODE_SET)


WAYS: list[Callable[[World], Any]] = [_renamed, _widened, _dynamic, _dynamic_and_wider, _deleted]


@pytest.mark.parametrize("changed", WAYS)
@simulated
async def test_whatever_becomes_of_the_set_busy_workers_keep_their_nodes(changed: Callable[[World], Any]) -> None:
    """Under another name, with wider ordinals, without static nodes, deleted: each line outlives its workers only."""
    async with cluster(documents(), replicas=3) as (here, _):
        jobs = here.slurm.submit(3, 200)
        await changed(here)
        await here.scale(1)
        await asyncio.sleep(100)
        assert all(job.runs for job in jobs)
        assert workers(here) >= {"compute-0", "compute-1", "compute-2"}
        await here.until(lambda: all(job.ended for job in jobs), within=150)
        await asyncio.sleep(120)
        asked = {} if changed in {_deleted, _dynamic, _dynamic_and_wider} else {workers(here).pop()}
        assert {name for nodes in lines(here) for name in hostlist.expand(nodes)} == {*asked}
        assert len(workers(here)) == (changed is not _deleted)
        assert all_known(here)


@simulated
async def test_a_set_that_becomes_static_names_nodes_as_their_workers_go() -> None:
    """A slurmd that registers by itself ends when slurm.conf names its node, and all of its jobs with it."""
    async with cluster(replicas=4) as (here, _):
        for number in range(3):
            here.slurm.submit(1, 100 * (3 - number), on=f"compute-{number}")
        seen = configurations(here)
        await here.edit("NodeSet", NODE_SET, spec={"registration": "Static"})
        await here.until(lambda: lines(here) == ["compute-[0-3]"], within=400)
        assert seen == [[], ["compute-3"], ["compute-[2-3]"], ["compute-[1-3]"], ["compute-[0-3]"]]
        await here.ready()
        await here.until(lambda: all_known(here) and all(one.static for one in here.slurm.nodes.values()), within=60)


@simulated
async def test_workers_that_outlive_their_set_keep_their_nodes() -> None:
    """`kubectl delete --cascade=orphan`: another set of that name may take them over."""
    async with cluster(documents(), replicas=3) as (here, operator):
        jobs = here.slurm.submit(3, 900)
        before = lines(here)
        await operator.crash()
        await here.store.delete(CUSTOMS["NodeSet"], NODE_SET, namespace=NAMESPACE, propagation=Propagation.ORPHAN)
        await here.edit("NodeSet", NODE_SET, metadata={"finalizers": None})
        here.start()
        await asyncio.sleep(200)
        assert here.sight.get("NodeSet", NODE_SET) is None
        assert lines(here) == before
        assert all(job.runs for job in jobs)
        await here.delete("Pod", f"{NODE_SET}-0")
        here.slurm.lost.clear()
        await here.until(lambda: lines(here) == ["compute-[1-2]"], within=2 * SOON)


@simulated
async def test_a_watch_that_is_behind_takes_no_node_away() -> None:
    """Workers came that it has not shown, and they are busy by now."""
    async with world() as here:
        await here.apply(documents())
        port = Behind(here.store, "Pod")
        here.start(port)
        await here.ready()
        await asyncio.sleep(35)
        port.shows.clear()
        await here.scale(3)
        await here.until(lambda: here.slurm.nodes.keys() >= {"compute-0", "compute-1", "compute-2"}, within=30)
        jobs = here.slurm.submit(3, 300)
        began = now()
        await here.scale(1)
        await asyncio.sleep(60)
        assert all(job.runs for job in jobs)
        port.shows.set()
        await here.until(lambda: lines(here) in (["compute-0"], ["compute-[0-1]"], ["compute-[0-2]"]), within=60)
        await here.until(lambda: all(job.ended for job in jobs), within=400)
        assert now() - began > 250
