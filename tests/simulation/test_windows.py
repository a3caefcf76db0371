"""The maintenance window of a NodeSet is kept in Slurm (NS-5): each step of that, on its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

import pytest

from penstock.api.objects import Json
from penstock.cluster.errors import Conflict
from penstock.operator.conditions import Condition
from penstock.operator.finalizer import FINALIZER, RESERVATION
from penstock.operator.nodeset.reservation import CONDITION
from penstock.operator.nodeset.windows import Kept, Windows, remembered
from penstock.operator.status import Statuses

from .desk import Desk, desk
from .loop import clock, now, simulated
from .manifests import NODE_SET
from .slurm_records import Window
from .world import World, cluster

NAME = f"SlurmOperatorMaint-{NODE_SET}"


class Story:
    """A NodeSet with a window, and somebody who keeps it."""

    def __init__(self, at: Desk) -> None:
        self.desk, self.slurm, self.windows = at, at.here.slurm, Windows(at.context)
        self.statuses = Statuses(at.here.store, clock)

    async def asks_for(self, *, starts_in: float, minutes: int = 30, flags: tuple[str, ...] = ()) -> int:
        """Have the NodeSet ask for a window; when it starts, by Slurm's clock."""
        start = (clock() + timedelta(seconds=starts_in)).replace(microsecond=0)
        update = {"startTime": start.isoformat(), "duration": f"{minutes}m", "flags": list(flags)}
        await self.edit(type="ScheduledUpdate", scheduledUpdate=update)
        return int(start.timestamp())

    async def edit(self, **strategy: object) -> None:
        """Change its update strategy."""
        await self.desk.here.edit("NodeSet", NODE_SET, spec={"updateStrategy": strategy})
        await asyncio.sleep(1)

    async def look(self, *nodes: str) -> Kept:
        """Keep the window, write what is to be told, and see it."""
        found = nodes or tuple(sorted(self.slurm.nodes))
        at, item = self.desk, self.desk.item
        kept = await self.windows.keep(item, at.node_set, at.controller, found, int(clock().timestamp()))
        others = [one for one in map(Condition.read, item.status["conditions"]) if one.type != CONDITION]
        fields = {name: value for name, value in item.status.items() if name != "conditions"}
        told = [*others, *([kept.condition] if kept.condition else [])]
        await self.statuses.write("NodeSet", at.item, told, **fields)
        await asyncio.sleep(1)
        return kept

    def window(self) -> Window | None:
        """The reservation that Slurm has."""
        self.slurm.open_windows()
        return self.slurm.windows.get(NAME)

    def nodes(self) -> tuple[str, ...]:
        """Its nodes."""
        found = self.window()
        return found.nodes if found else ()

    @property
    def held(self) -> bool:
        """Whether the finalizer is there."""
        return RESERVATION in self.desk.item.metadata.finalizers

    def asked(self, since: float) -> int:
        """How often Slurm was asked or told something about reservations."""
        return sum("/reservation" in one.path for one in self.desk.here.slurmrestd.asked(since))


@asynccontextmanager
async def story(tell: list[str] | None = None) -> AsyncIterator[Story]:
    async with desk(tell=None if tell is None else tell.append) as at:
        yield Story(at)


@simulated
async def test_a_window_comes_opens_goes_and_does_not_come_back() -> None:
    async with story() as one:
        start = await one.asks_for(starts_in=600)
        kept = await one.look()
        nodes = ("compute-0", "compute-1", "compute-2")
        assert one.window() == Window(NAME, nodes, start, 30, ("MAINT", "IGNORE_JOBS"))
        assert one.held
        assert kept.condition is not None
        assert (kept.condition.status, kept.trouble) == (True, None)
        assert kept.again is not None
        assert NAME in (await one.desk.told())["WindowMade"]
        await asyncio.sleep(kept.again + 1)
        assert all(node.reservation == "" for node in one.slurm.nodes.values())
        one.slurm.open_windows()
        assert all(node.reservation == NAME for node in one.slurm.nodes.values())
        await asyncio.sleep(1800)
        assert one.window() is None
        kept = await one.look()
        assert kept.condition is not None
        assert (kept.condition.reason, one.window()) == ("Over", None)


@simulated
async def test_workers_that_come_and_go_are_in_the_window() -> None:
    async with story() as one:
        await one.asks_for(starts_in=600)
        await one.look("compute-0")
        await one.look("compute-0", "compute-2")
        assert one.nodes() == ("compute-0", "compute-2")
        await asyncio.sleep(700)
        await one.look("compute-1")
        assert one.nodes() == ("compute-1",), "also of one that is open"


@simulated
async def test_a_window_that_is_edited_is_made_anew_and_what_is_not_asked_for_goes() -> None:
    async with story() as one:
        await one.asks_for(starts_in=600)
        await one.look()
        start = await one.asks_for(starts_in=6000, flags=("WEEKLY",))
        await one.look()
        made = one.window()
        assert made is not None
        assert (made.start, made.flags[2:]) == (start, ("WEEKLY",))
        await one.edit(type="RollingUpdate", scheduledUpdate=None)
        kept = await one.look()
        # Said, for whoever reads the status: one that only lacked the condition would never be written.
        assert kept == Kept(condition=Condition("ReservationCreated", False, "NotAskedFor", "No window is asked for."))
        assert (one.window(), one.held) == (None, False)
        since = now()
        assert await one.look() == kept
        assert one.asked(since) == 0


@simulated
async def test_nothing_new_costs_one_question_in_half_a_minute() -> None:
    async with story() as one:
        await one.asks_for(starts_in=6000)
        await one.look()
        await one.look()
        since = now()
        for _ in range(60):
            await one.look()
        assert one.asked(since) <= 2
        one.slurm.windows.clear()
        await one.asks_for(starts_in=7000)
        await one.look()
        assert one.window() is not None, "an edit is not made to wait"


@simulated
async def test_a_deleted_node_set_waits_until_its_reservation_is_gone() -> None:
    async with story() as one:
        await one.asks_for(starts_in=600)
        await one.look()
        await one.desk.here.delete("NodeSet", NODE_SET)
        await asyncio.sleep(1)
        one.desk.here.slurmrestd.away = True
        kept = await one.look()
        assert kept.trouble is not None
        assert (kept.trouble.reason, one.held) == ("SlurmUnknown", True)
        one.desk.here.slurmrestd.away = False
        await one.look("compute-0")
        assert (one.window(), one.desk.item.metadata.finalizers) == (None, (FINALIZER,))


@simulated
async def test_without_its_controller_a_node_set_is_simply_let_go() -> None:
    async with story() as one:
        await one.asks_for(starts_in=600)
        await one.look()
        since = now()
        await one.windows.let_go(one.desk.item)
        await asyncio.sleep(1)
        assert (one.held, one.asked(since)) == (False, 0)


@simulated
async def test_the_finalizer_comes_before_the_reservation() -> None:
    """A NodeSet that changed since we saw it is looked at again, and has none until then."""
    async with story() as one:
        await one.asks_for(starts_in=600)
        old = one.desk.item
        await one.desk.here.edit("NodeSet", NODE_SET, metadata={"labels": {"new": "label"}})
        at, moment = one.desk, int(clock().timestamp())
        with pytest.raises(Conflict):
            await one.windows.keep(old, at.node_set, at.controller, ["compute-0"], moment)
        assert one.window() is None


@simulated
async def test_what_slurm_refuses_is_told_and_asked_for_seldom() -> None:
    async with story() as one:
        await one.asks_for(starts_in=600, flags=("NEVER",))
        kept = await one.look()
        assert kept.trouble is not None
        assert '"NEVER" is no flag of a reservation' in kept.trouble.message
        assert remembered(one.desk.item) == kept.condition
        assert (one.window(), kept.again) == (None, 30.0)
        assert "NEVER" in (await one.desk.told())["WindowRefused"]


@simulated
async def test_24_11_makes_no_window_uses_one_that_a_person_made_and_holds_nobody() -> None:
    async with story() as one:
        one.desk.here.slurmrestd.version = "v0.0.42"
        start = await one.asks_for(starts_in=600)
        kept = await one.look()
        assert kept.trouble is not None
        assert "use scontrol create reservation" in kept.trouble.message
        nodes = tuple(sorted(one.slurm.nodes))
        one.slurm.windows[NAME] = Window(NAME, nodes, start, 30, ("MAINT", "IGNORE_JOBS"))
        await asyncio.sleep(31)
        kept = await one.look()
        assert kept.condition is not None
        assert (kept.condition.status, kept.trouble) == (True, None)
        await one.desk.here.delete("NodeSet", NODE_SET)
        await asyncio.sleep(1)
        await one.look("compute-0")
        assert not one.held
        assert one.window() is not None


@simulated
async def test_while_slurm_is_silent_what_was_told_stays() -> None:
    async with story() as one:
        await one.asks_for(starts_in=600)
        kept = await one.look()
        at = one.desk
        silent = await one.windows.keep(at.item, at.node_set, at.controller, ["compute-0"], None)
        assert silent == Kept(condition=kept.condition)


@simulated
async def test_in_a_rehearsal_it_is_only_told() -> None:
    told: list[str] = []
    async with story(told) as one:
        await one.asks_for(starts_in=600)
        await one.look()
        assert one.window() is None
        assert told[0].startswith(f"put Slurm reservation {NAME} of compute-[0-2], from ")
        assert "WindowMade" not in await one.desk.told()


def ages(here: World, template: str) -> list[bool]:
    """Of each worker, whether it is of a template."""
    return [pod.metadata.labels.get("is") == template for pod in here.sight.workers()]


def asking_for(start: datetime, *flags: str) -> Json:
    """A strategy with a window of half an hour."""
    update = {"startTime": start.replace(microsecond=0).isoformat(), "duration": "30m", "flags": list(flags)}
    return {"updateStrategy": {"type": "ScheduledUpdate", "scheduledUpdate": update}}


@simulated
async def test_workers_get_a_new_template_while_the_window_is_open_and_jobs_run_to_their_end() -> None:
    async with cluster(replicas=3) as (here, _):
        await here.edit("NodeSet", NODE_SET, spec=asking_for(clock() + timedelta(seconds=1000)))
        [job] = here.slurm.submit(1, 5000, on="compute-1")
        await here.edit("NodeSet", NODE_SET, spec={"template": {"metadata": {"labels": {"is": "new"}}}})
        await here.until(lambda: NAME in here.slurm.windows, within=30)
        await asyncio.sleep(900)
        assert ages(here, "new") == [False] * 3
        await here.until(lambda: ages(here, "new").count(True) == 2, within=300)
        await asyncio.sleep(1900)
        assert NAME not in here.slurm.windows
        assert (job.runs, sorted(ages(here, "new"))) == (True, [False, True, True])
        assert here.sight.condition("NodeSet", NODE_SET, CONDITION)["reason"] == "Over"


@simulated
async def test_a_window_that_somebody_deleted_is_not_made_again_because_workers_come() -> None:
    async with cluster(replicas=2) as (here, operator):
        await here.edit("NodeSet", NODE_SET, spec=asking_for(clock() + timedelta(seconds=5000)))
        await here.until(lambda: NAME in here.slurm.windows, within=30)
        await asyncio.sleep(60)
        here.slurm.windows.clear()
        await here.scale(4)
        await asyncio.sleep(120)
        await operator.crash()
        here.start()
        await asyncio.sleep(120)
        assert len(here.sight.workers()) == 4
        assert here.slurm.windows == {}


@simulated
async def test_a_node_set_with_a_window_goes_and_takes_it_along() -> None:
    async with cluster(replicas=2) as (here, _):
        await here.edit("NodeSet", NODE_SET, spec=asking_for(clock() + timedelta(seconds=5000), "DAILY"))
        await here.until(lambda: NAME in here.slurm.windows, within=30)
        await here.delete("NodeSet", NODE_SET)
        await here.until(lambda: here.sight.get("NodeSet", NODE_SET) is None, within=60)
        assert here.slurm.windows == {}
