"""Dead records of Slurm nodes go in one request, and none goes that changed since we looked (NS-7)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.cluster.virtual_time import run
from tests.played.telling import NAMESPACE

from penstock.cluster.events import EVENTS
from penstock.cluster.resources import Whole
from penstock.operator.nodeset.recording import AT_MOST
from penstock.operator.resources import CUSTOMS

from .test_recording import Scene, scene

DEAD = ("DOWN", "NOT_RESPONDING", "DYNAMIC_NORM")


async def ask_for_pruning(now: Scene, **spec: Any) -> None:
    """Dead records of workers that nobody wants."""
    await now.stage.node_set(pruneSlurmNodeRecords="NodeNotFound", replicas=1, **spec)


def dead(now: Scene, *nodes: str) -> None:
    now.model.add(nodes, state=DEAD, features=("w",), active_features=("w",))


def test_records_that_nobody_misses_go_in_one_request_and_an_event_says_so() -> None:
    async def main() -> None:
        async with scene() as now:
            await ask_for_pruning(now)
            await now.workers("w0", "w5")
            now.model.change("w5", state=DEAD)
            dead(now, "w3", "w4", "w7")
            assert not (await now.stage.look()).more
            assert now.transport.orders() == ["DELETE node/w[3-4,7]"]
            assert {*now.model.nodes} == now.known() == {"w0", "w5"}
            await now.stage.look()
            assert now.transport.orders() == []
            await asyncio.sleep(1)
            events = (await now.stage.store.list(EVENTS.reading(Told))).items
            assert [(one.reason, one.note.partition(":")[0]) for one in events] == [("SlurmNodesPruned", "w[3-4,7]")]

    run(main())


class Told(Whole, frozen=True):
    """An event."""

    reason: str = ""
    note: str = ""


def test_many_records_go_some_at_a_time() -> None:
    async def main() -> None:
        async with scene() as now:
            await ask_for_pruning(now)
            dead(now, *(f"w{number}" for number in range(1, AT_MOST + 2)))
            assert (await now.stage.look()).more
            assert len(now.model.nodes) == 1
            assert not (await now.stage.look()).more
            assert not now.model.nodes
            assert len(now.transport.orders()) == 2

    run(main())


@pytest.mark.parametrize(
    "meanwhile",
    [
        "the node answers",
        "a job is on it",
        "a person drains it",
        "a worker comes",
        "the seat is wanted",
        "others want it",
    ],
)
def test_what_changed_since_we_looked_stays(meanwhile: str) -> None:
    """Slurm is asked once more, and so is all that could miss the record."""

    async def main() -> None:
        async with scene() as now:
            await ask_for_pruning(now)
            dead(now, "w3")
            before = await now.stage.observe()
            await happens(now, meanwhile)
            await now.stage.observe()
            await now.stage.look(before)
            assert now.transport.orders() == []
            assert [*now.model.nodes] == ["w3"]

    run(main())


def test_a_machine_that_came_since_keeps_its_record() -> None:
    async def main() -> None:
        async with scene() as now:
            await ask_for_pruning(now, scalingMode="DaemonSet")
            dead(now, "w3", "w4")
            before = await now.stage.observe()
            await now.stage.machine("w3.site.example")
            await now.stage.observe()
            await now.stage.look(before)
            assert [*now.model.nodes] == ["w3"]

    run(main())


async def happens(now: Scene, what: str) -> None:
    match what:
        case "the node answers":
            now.model.change("w3", state=("IDLE", "DYNAMIC_NORM"))
        case "a job is on it":
            now.model.change("w3", state=("ALLOCATED", "DYNAMIC_NORM", "NOT_RESPONDING"))
        case "a person drains it":
            now.model.change("w3", state=(*DEAD, "DRAIN"), reason="fan", reason_by="ann")
        case "a worker comes":
            await now.stage.worker("w3", "somewhere")
        case "the seat is wanted":
            await now.stage.node_set(pruneSlurmNodeRecords="NodeNotFound", replicas=4)
        case "others want it":
            await now.stage.node_set("other", replicas=4, template={"spec": {"hostname": "w"}})


def test_beside_a_node_set_that_cannot_be_read_nothing_goes() -> None:
    """Nobody knows what it wants."""

    async def main() -> None:
        async with scene() as now:
            await ask_for_pruning(now)
            dead(now, "w3")
            about = {"name": "broken", "namespace": NAMESPACE}
            spec = {"controllerRef": {"name": "slurm"}, "partition": {"enabled": True, "config": "MaxTime=24h"}}
            await now.stage.store.create(CUSTOMS["NodeSet"], {"metadata": about, "spec": spec})
            await now.stage.look()
            assert now.stage.context.caches.invalid(NAMESPACE)
            assert [*now.model.nodes] == ["w3"]

    run(main())


def test_a_record_that_slurm_keeps_for_itself_is_told() -> None:
    """What else could go is gone."""

    async def main() -> None:
        async with scene() as now:
            await ask_for_pruning(now)
            dead(now, "w3", "w4")
            now.model.jobs.clear()
            now.model.start_job(1, "w4")
            now.model.change("w4", state=DEAD)
            assert "busy" in (await now.stage.look()).trouble
            assert [*now.model.nodes] == ["w4"]

    run(main())
