"""Playing a schedule: each act to its rest, and what came of it."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field

from penstock.operator.slurm import AT_REST
from tests.simulation.loop import now

from . import people, weather
from .books import Promise
from .judges.calm import RESTS
from .resting import Unmet, at_work, unmet
from .schedule import Act, Step
from .stage import Stage

_REST_WITHIN = 400.0
"""Seconds after the last trouble in which the cluster must have come to rest: running jobs, and the longest pauses."""
_LOOK_EVERY = 2.0
_SETTLING, _RESTING = 3.0, RESTS * AT_REST + 1
"""Seconds: what is left to tell is told, and then nothing happens."""


@dataclass(slots=True)
class Outcome:
    """What came of a schedule."""

    acts: int = 0
    """Those that were played to their end."""
    broken: list[str] = field(default_factory=list)
    counted: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    """Virtual time."""


async def play_act(stage: Stage, hosting: asyncio.Task[None], act: Act) -> Outcome:
    """Play one act until the cluster rests, or a promise is broken."""
    books, began = stage.books, now()
    books.counted.clear()
    random.seed(act.seed)
    script = asyncio.create_task(_script(stage, act))
    stop = asyncio.create_task(books.stop.wait())
    await asyncio.wait([script, stop, hosting], return_when=asyncio.FIRST_COMPLETED)
    for task in (stop, script):
        task.cancel()
    if hosting.done():
        books.breaks(Promise.ALIVE, f"the world ended: {hosting.exception()!r}")
    if script.done() and not script.cancelled() and (error := script.exception()) is not None:
        raise error
    return Outcome(int(not books.broken), books.broken[:3], dict(books.counted), now() - began)


async def _script(stage: Stage, act: Act) -> None:
    began = now()
    stage.bench.calm.begins()
    for step in act.steps:
        await asyncio.sleep(max(began + step.at - now(), 0.0))
        await _perform(stage, step)
    await stage.quiet()
    weather.clear(stage)
    stage.quiet_at = now()
    await _room(stage)
    await _rest(stage)
    stage.bench.calm.over()
    await asyncio.sleep(_SETTLING)
    stage.bench.calm.begins()
    await asyncio.sleep(_RESTING)
    stage.bench.calm.rested()
    if (found := unmet(stage)) is not None:
        stage.books.breaks(found[0], f"after it had come to rest, {found[1]}")


async def _perform(stage: Stage, step: Step) -> None:
    if step.what in people.DEEDS:
        await people.act(stage, step.what, step.about)
    else:
        await weather.change(stage, step.what, step.about)


async def _room(stage: Stage) -> None:
    """Somebody sees to it that not all machines are cordoned, or nothing would ever come up."""
    machines = stage.here.sight.all("Node")
    if all(one.spec.get("unschedulable") for one in machines):
        await people.act(stage, "uncordon a machine", {"machine": 0})


async def _rest(stage: Stage) -> None:
    """Wait until all is as it should be. People give up jobs that wait, for else there would always be some."""
    began, slurm = now(), stage.here.slurm
    while (found := unmet(stage) or _idle(stage)) is not None:
        for job in list(slurm.waiting):
            slurm.cancel(job.number)
        if now() > began + _REST_WITHIN:
            stage.books.breaks(found[0], f"{_REST_WITHIN:.0f} s after the last trouble {found[1]}")
            await asyncio.Event().wait()
        await asyncio.sleep(_LOOK_EVERY)


def _idle(stage: Stage) -> Unmet | None:
    """Nobody is at work: who begins to lead, or was cut off, first has to find out how things are."""
    return None if at_work(stage) else (Promise.REST, "no operator is at work")
