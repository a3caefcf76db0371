"""A partition that goes is closed, and stays as long as a job's record names it (PT-5).

That no job dies of it, and that no record is left without its partition, the model of slurmctld looks after itself.
"""

from __future__ import annotations

import asyncio
import copy
import random
import re
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from penstock.api.objects import Json

from .loop import now, simulate, simulated
from .manifests import Seen, sample
from .port import Behind, Fault, Port
from .story import End, replayable, rest, tell
from .world import World, cluster, world

GPU = "slurm-worker-gpu"
SOON, LATEST = 5.0, 75.0
"""Seconds: until a partition is closed, and until one that nobody names is gone."""
EXTRA = "PartitionName=written Nodes=ALL MaxTime=60"


def documents() -> list[Json]:
    """The sample with a second NodeSet, a partition over both, and one that somebody wrote."""
    made = sample()
    [node_set] = [body for body in made if body["kind"] == "NodeSet"]
    [controller] = [body for body in made if body["kind"] == "Controller"]
    gpu = copy.deepcopy(node_set)
    gpu["metadata"]["name"] = GPU
    gpu["spec"] |= {"template": {"spec": {"hostname": "gpu-"}}, "partition": {"enabled": True, "config": "MaxTime=60"}}
    controller["spec"] |= {"partitions": [{"name": "both", "nodeSets": ["ALL"]}], "extraConf": EXTRA}
    return [*made, gpu]


async def _not_enabled(here: World) -> None:
    await here.edit("NodeSet", GPU, spec={"partition": {"enabled": False}})


async def _renamed(here: World) -> None:
    await here.edit("NodeSet", GPU, spec={"template": {"spec": {"hostname": "big-"}}})


async def _deleted(here: World) -> None:
    await here.delete("NodeSet", GPU)


async def _no_entry(here: World) -> None:
    await here.edit("Controller", "slurm", spec={"partitions": []})


async def _no_line(here: World) -> None:
    await here.edit("Controller", "slurm", spec={"extraConf": ""})


WAYS: list[tuple[str, Callable[[World], Any]]] = [
    ("gpu", _not_enabled), ("gpu", _renamed), ("gpu", _deleted), ("both", _no_entry), ("written", _no_line),
]  # fmt: skip


@pytest.mark.parametrize(("name", "taken_away"), WAYS, ids=lambda one: getattr(one, "__name__", one))
@simulated
async def test_whoever_takes_a_partition_away_closes_it_first(name: str, taken_away: Callable[[World], Any]) -> None:
    """It goes by itself when the last record is gone, and slurmctld's pod is the same all the time."""
    async with cluster(documents()) as (here, _):
        slurmctld = _slurmctld(here)
        here.slurm.submit(1, 120, on="gpu-0", partition="gpu")
        waits = here.slurm.submit(1, 10, on="nowhere", partition=name)
        await taken_away(here)
        await here.until(lambda: here.slurm.partitions[name] == "DRAIN", within=SOON, what="it is closed")
        assert here.slurm.submit(1, 10, partition=name) == []
        assert f'partition "{name}" is not asked for any more' in here.sight.events("PartitionClosed")[0]
        await asyncio.sleep(400)
        told = here.sight.condition("Controller", "slurm", "PartitionsClosing")
        assert (told["status"], told["reason"]) == ("True", "JobsLeft")
        assert f'partition "{name}" is closed and stays until 1 job is gone' in told["message"]
        here.slurm.cancel(waits[0].number)
        last = max(job.ended or 0 for job in here.slurm.jobs if job.partition == name) + here.slurm.kept_for
        await here.until(lambda: name not in here.slurm.partitions, within=last - now() + LATEST, what="it is gone")
        assert now() >= last
        assert here.sight.events("PartitionRemoved") == [f'partition "{name}" is gone: no job names it any more']
        await here.until(lambda: _settled(here), within=SOON, what="there is no more to tell")
        assert _slurmctld(here) == slurmctld
        assert here.slurm.partitions.keys() == {"compute", "gpu", "both", "written"} - {name} | _new(taken_away)


@simulated
async def test_one_that_nobody_names_goes_at_once_but_not_before_it_is_closed() -> None:
    async with cluster(documents()) as (here, _):
        states = _states(here, "both")
        await _no_entry(here)
        await here.until(lambda: "both" not in here.slurm.partitions, within=SOON)
        assert states == ["State=DRAIN", ""]
        await rest(here)


@simulated
async def test_one_that_slurmctld_is_just_being_given_is_closed_too() -> None:
    """That it does not run it yet says nothing: in a moment somebody may name it."""
    async with cluster(documents()) as (here, _):
        states = _states(here, "brief")
        entries = [{"name": name, "nodeSets": ["ALL"]} for name in ("both", "brief")]
        await here.edit("Controller", "slurm", spec={"partitions": entries})
        await here.until(lambda: states, within=1)
        await here.edit("Controller", "slurm", spec={"partitions": entries[:1]})
        await here.until(lambda: states[-1] == "", within=SOON)
        assert states == ["open", "State=DRAIN", ""]


@simulated
async def test_each_is_closed_at_once_and_goes_by_itself_whatever_others_wait_for() -> None:
    async with cluster(documents()) as (here, _):
        here.slurm.submit(1, 10, on="nowhere", partition="both")
        await _no_entry(here)
        await asyncio.sleep(200)
        await _not_enabled(here)
        await here.until(lambda: here.slurm.partitions["gpu"] == "DRAIN", within=SOON)
        await here.until(lambda: "gpu" not in here.slurm.partitions, within=SOON)
        assert here.slurm.partitions["both"] == "DRAIN"


@simulated
async def test_while_slurm_does_not_say_who_names_it_it_stays() -> None:
    async with cluster(documents()) as (here, _):
        here.slurmrestd.away = True
        await _no_entry(here)
        await asyncio.sleep(600)
        assert here.slurm.partitions["both"] == "DRAIN"
        told = here.sight.condition("Controller", "slurm", "PartitionsClosing")["message"]
        assert "stays until Slurm says that no job names it (slurmrestd: simulated: no answer)" in told
        here.slurmrestd.away = False
        await here.until(lambda: "both" not in here.slurm.partitions, within=LATEST)


@simulated
async def test_one_that_is_asked_for_again_is_open_again() -> None:
    async with cluster(documents()) as (here, _):
        jobs = here.slurm.submit(1, 1000, partition="gpu")
        await _not_enabled(here)
        await here.until(lambda: here.slurm.partitions["gpu"] == "DRAIN", within=SOON)
        await here.edit("NodeSet", GPU, spec={"partition": {"enabled": True}})
        await here.until(lambda: here.slurm.partitions["gpu"] == "UP", within=SOON)
        await here.until(lambda: _settled(here), within=SOON)
        assert jobs[0].runs


@simulated
async def test_a_partition_that_slurm_never_took_does_not_stay() -> None:
    """Else nobody could get rid of a mistake: closed, its line would be refused as well."""
    async with cluster(documents()) as (here, _):
        here.guards.refuses = "AllowGroups=nobody"
        wrong = {"name": "wrong", "nodeSets": ["ALL"], "config": "AllowGroups=nobody"}
        await here.edit("Controller", "slurm", spec={"partitions": [wrong]})
        await here.until(lambda: _told(here, "ConfigurationValid") == "False", within=SOON)
        await _no_entry(here)
        await here.until(lambda: _told(here, "ConfigurationLive") == "True" and _settled(here), within=2 * SOON)
        assert here.slurm.partitions.keys() == {"compute", "gpu", "written"}


@simulated
async def test_who_deletes_or_spoils_the_configuration_takes_no_partition_with_it() -> None:
    """What slurmctld is given comes back as it was before kubelet has looked."""
    async with cluster(documents()) as (here, _):
        here.slurm.submit(1, 1000, partition="gpu")
        await _not_enabled(here)
        await here.until(lambda: here.slurm.partitions["gpu"] == "DRAIN", within=SOON)
        before = here.sight("ConfigMap", "slurm-config").data
        await here.delete("ConfigMap", "slurm-config")
        await asyncio.sleep(SOON)
        assert here.sight("ConfigMap", "slurm-config").data == before
        await here.edit("ConfigMap", "slurm-config", data={"slurm.conf": "ClusterName=mine\n"})
        await asyncio.sleep(SOON)
        assert here.sight("ConfigMap", "slurm-config").data == before


@simulated
async def test_a_watch_that_is_behind_takes_no_partition_away() -> None:
    """Who led for a moment made one that this operator has never heard of."""
    async with world() as here:
        await here.apply(documents())
        port = Behind(here.store, "ConfigMap")
        here.start(port)
        await rest(here)
        port.shows.clear()
        config = here.sight("ConfigMap", "slurm-config").data["slurm.conf"]
        await here.edit("ConfigMap", "slurm-config", data={"slurm.conf": f"{config}PartitionName=more Nodes=ALL\n"})
        await here.until(lambda: "more" in here.slurm.partitions, within=90)
        here.slurm.submit(1, 1000, on="nowhere", partition="more")
        await _no_entry(here)
        await here.until(lambda: here.slurm.partitions.get("more") == "DRAIN", within=SOON)
        port.shows.set()
        await asyncio.sleep(600)
        assert here.slurm.partitions["more"] == "DRAIN"


@simulated
async def test_slurm_is_asked_more_and_more_seldom_and_only_while_something_is_closed() -> None:
    async with cluster(documents()) as (here, _):
        began = now()
        await asyncio.sleep(600)
        assert _questions(here, began) == []
        waits = here.slurm.submit(1, 10, on="nowhere", partition="gpu")
        await _not_enabled(here)
        await asyncio.sleep(1200)
        asked = _questions(here, began)
        pauses = [later - one for one, later in pairwise(asked)]
        assert 20 <= len(asked) <= 25
        assert min(pauses) >= 3
        assert 59 <= max(pauses) <= 61
        here.slurm.cancel(waits[0].number)
        await here.until(lambda: "gpu" not in here.slurm.partitions, within=here.slurm.kept_for + LATEST)
        since = now()
        await asyncio.sleep(600)
        assert _questions(here, since) == []


async def goings(here: World) -> None:
    """Partitions go in all ways at once, while jobs name them."""
    await here.apply(documents())
    await rest(here)
    here.slurm.submit(1, 60, on="gpu-0", partition="gpu")
    waiting = [here.slurm.submit(1, 10, on="nowhere", partition=name)[0] for name in ("both", "written", "gpu")]
    await _no_entry(here)
    await _deleted(here)
    await asyncio.sleep(3)
    await _no_line(here)
    await asyncio.sleep(90)
    for job in waiting:
        here.slurm.cancel(job.number)
    await here.until(lambda: here.slurm.partitions.keys() == {"compute"}, within=900, what="all are gone")
    await rest(here)


@cache
def undisturbed() -> tuple[End, int]:
    """How that ends when nothing happens, and how many calls it takes."""
    ports: list[Port] = []

    def port(here: World, _: int) -> Port:
        ports.append(Port(here.store))
        return ports[-1]

    return simulate(tell(port, goings)), len(ports[0].calls)


@pytest.mark.parametrize("pick", range(3))
@pytest.mark.parametrize("fault", Fault)
def test_an_operator_that_dies_or_fails_on_the_way_comes_to_the_same_end(fault: Fault, pick: int) -> None:
    """In the second half of all calls, when everything was up."""
    end, calls = undisturbed()
    number = random.Random(f"{fault.name} {pick}").randrange(calls // 2, calls)  # noqa: S311 - chance, not secrecy

    def port(here: World, life: int) -> Port:
        made = Port(here.store)
        made.faults = {number: fault} if life == 0 else {}
        return made

    with replayable(f"call {number} of {calls}, {fault.name}"):
        assert simulate(tell(port, goings), seed=pick) == end


def _slurmctld(here: World) -> list[str]:
    return [pod.metadata.uid for pod in here.sight.all("Pod") if pod.metadata.name == "slurm-controller-0"]


def _new(taken_away: Callable[[World], Any]) -> set[str]:
    return {"big"} if taken_away is _renamed else set()


def _told(here: World, condition: str) -> str:
    return str(here.sight.condition("Controller", "slurm", condition).get("status"))


def _settled(here: World) -> bool:
    return _told(here, "PartitionsClosing") == "False"


def _questions(here: World, since: float) -> list[float]:
    """When Slurm was asked who names a partition."""
    return [one.at for one in here.slurmrestd.asked(since, method="DELETE")]


def _states(here: World, name: str) -> list[str]:
    """How a partition stands in the configurations that are applied from now on; nothing when it does not."""
    seen: list[str] = []

    def note(_: Seen | None, new: Seen | None) -> None:
        if new is not None and new.metadata.name == "slurm-config":
            found = re.search(rf"(?m)^PartitionName={name}\b.*?(State=\S+)?$", new.data["slurm.conf"])
            seen.append((found[1] or "open") if found else "")

    here.sight.subscribe("ConfigMap", note)
    return seen
