"""The operator may die at any call, and any call may fail: the end is the same, and no job is lost.

`PENSTOCK_SIMULATIONS` is how many calls are tried per fault, `PENSTOCK_SEED` begins the choice of them.
"""

from __future__ import annotations

import asyncio
import os
import random
from functools import cache

import pytest

from .loop import simulate
from .machines import on_machines
from .manifests import NODE_SET
from .port import Fault, Port
from .story import End, Story, in_numbers, replayable, tell
from .world import World, cluster

TRIES = int(os.environ.get("PENSTOCK_SIMULATIONS", "3"))
SEED = int(os.environ.get("PENSTOCK_SEED", "1"))
told = pytest.mark.parametrize("story", [in_numbers, on_machines], ids=["in numbers", "on machines"])


@cache
def undisturbed(story: Story) -> tuple[End, int]:
    """How the story ends when nothing happens, and how many calls that takes."""
    ports: list[Port] = []

    def port(here: World, _: int) -> Port:
        ports.append(Port(here.store))
        return ports[-1]

    return simulate(tell(port, story)), len(ports[0].calls)


def choice(fault: Fault) -> list[int]:
    """Numbers to pick calls by: which call, of how many there are, is known only when the story was told once."""
    return [random.Random(f"{SEED} {fault.name} {number}").randrange(10**6) for number in range(TRIES)]  # noqa: S311


@told
@pytest.mark.parametrize(("fault", "pick"), [(fault, pick) for fault in Fault for pick in choice(fault)])
def test_one_call_goes_wrong(story: Story, fault: Fault, pick: int) -> None:
    end, calls = undisturbed(story)
    number = pick % calls

    def port(here: World, life: int) -> Port:
        made = Port(here.store)
        made.faults = {number: fault} if life == 0 else {}
        return made

    with replayable(f"call {number} of {calls}, {fault.name}, seed {pick}"):
        assert simulate(tell(port, story), seed=pick) == end


@told
@pytest.mark.parametrize("seed", [SEED * 1000 + number for number in range(TRIES)])
def test_a_storm_of_faults(story: Story, seed: int) -> None:
    """Three calls of a hundred fail, in one way or another; who is started after a crash meets the same weather."""
    end, _ = undisturbed(story)
    weather = random.Random(seed)  # noqa: S311 - chance, not secrecy

    def port(here: World, _: int) -> Port:
        made = Port(here.store)
        made.faults = {number: weather.choice(list(Fault)) for number in range(5000) if weather.random() < 0.03}
        return made

    with replayable(f"storm, seed {seed}"):
        assert simulate(tell(port, story), seed=seed) == end


def test_a_status_that_meets_a_conflict_is_told_all_the_same() -> None:
    async def main() -> None:
        async with cluster() as (here, operator):
            await here.scale(3)
            await here.until(lambda: len(here.slurm.nodes) == 3)
            operator.port.next_of["apply_status"] = Fault.CONFLICT
            await asyncio.sleep(60)
            assert here.sight("NodeSet", NODE_SET).status["slurmIdle"] == 3

    simulate(main())
