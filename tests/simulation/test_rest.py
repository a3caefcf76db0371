"""At rest nothing is written, nothing is listed, and Slurm is hardly asked."""

from __future__ import annotations

import asyncio

import pytest

from penstock.cluster.wrapper import WRITES

from .leaders import elected
from .loop import now, simulated
from .manifests import NODE_SET, sample, token
from .port import LEASE, Port
from .world import cluster, world


@pytest.mark.parametrize("minutes", [10, 60])
@simulated
async def test_at_rest_nothing_but_the_lease_is_written(minutes: int) -> None:
    async with world() as here:
        await here.apply([*sample(), token(lifetime="24h")])
        port = Port(here.store)
        here.start(port, election=elected(port, "one"))
        await here.ready()
        await asyncio.sleep(90)
        since = now()
        await asyncio.sleep(minutes * 60)
        used = port.counted(since)
        assert {call for call in used if call[0] in WRITES} == {("patch", LEASE)}
        assert {call for call in used if call[0] not in WRITES} == {("get", LEASE)}
        assert len(here.slurmrestd.asked(since)) <= minutes * 6


@simulated
async def test_two_changes_within_one_of_slurms_seconds_are_both_heard_of() -> None:
    """Slurm counts time in seconds: an answer between the two has the same time as the later one."""
    async with cluster() as (here, _):
        server, node_set = here.slurmrestd, here.sight("NodeSet", NODE_SET).metadata.name

        def drain_one() -> None:
            here.slurm.change(["compute-0"], {"state": ["DRAIN"], "reason": "admin: look at it"})
            server.before, server.after = lambda: None, drain_other

        def drain_other() -> None:
            here.slurm.change(["compute-1"], {"state": ["DRAIN"], "reason": "admin: and at this one"})
            server.after = lambda: None

        server.before = drain_one
        await here.until(lambda: here.sight("NodeSet", node_set).status["slurmDrain"] == 2, within=100)


@simulated
async def test_at_rest_slurm_says_only_that_nothing_has_changed() -> None:
    """A list of 5,000 nodes is 13 MB; "not modified" is nothing."""
    async with world() as here:
        await here.apply(sample())
        here.start()
        await here.ready()
        await asyncio.sleep(120)
        since = now()
        await asyncio.sleep(600)
        answers = [one.status for one in here.slurmrestd.asked(since)]
        assert answers.count(200) <= 2  # all nodes every five minutes, should Slurm's clock be set back
        assert answers.count(304) >= 18


@simulated
async def test_nobody_waits_any_more_for_the_workers_of_a_node_set_that_is_gone() -> None:
    """It went while its workers drained, and with it the one who would have said that the hurry is over."""
    async with cluster() as (here, _):
        here.slurm.submit(2, 30)
        await here.scale(0)
        await here.until(lambda: all(node.drain for node in here.slurm.nodes.values()), within=5)
        here.slurm.lost.clear()
        await here.delete("NodeSet", NODE_SET)
        await here.until(lambda: not here.sight.workers(), within=60)
        await asyncio.sleep(10)
        here.slurm.lost.clear()  # without a drain of its own, deletion is the person's deed
        since = now()
        await asyncio.sleep(120)
        assert sum("/nodes/" in one.path for one in here.slurmrestd.asked(since)) <= 13
