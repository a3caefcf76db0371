"""Two operators, one leader: only one writes, and the other takes over whatever happens to the first."""

from __future__ import annotations

import asyncio

import pytest

from tests.cluster.virtual_time import pause

from .leaders import elected
from .loop import now, simulated
from .manifests import NODE_SET, sample
from .port import LEASE, Port
from .world import Running, World, world

LEASE_SECONDS = 15.0


class Pair:
    """Two operators over one store."""

    def __init__(self, here: World) -> None:
        self.here = here
        self.unlawful: list[str] = []
        """Writes that took effect while somebody else held the lease."""
        self.one, self.two = self._operator("one"), self._operator("two")

    def _operator(self, who: str) -> Running:
        port = Port(self.here.store, who=who)
        port.after_write = lambda verb, resource: self._noted(who, verb, resource)
        return self.here.start(port, election=elected(port, who))

    def _noted(self, who: str, verb: str, resource: str) -> None:
        holder = self.here.sight("Lease", "penstock").spec.get("holderIdentity")
        if resource != LEASE and holder != who:
            self.unlawful.append(f"{who}: {verb} {resource} at {now():.2f} s; {holder} held the lease")

    def leader(self) -> Running | None:
        """The one that may write; never two."""
        leading = [one for one in (self.one, self.two) if one.operator.leads and not one.task.done()]
        assert len(leading) <= 1
        return leading[0] if leading else None


async def _led(here: World) -> tuple[Pair, Running, Running]:
    pair = Pair(here)
    await here.ready()
    await asyncio.sleep(35)
    first = pair.leader()
    assert first is not None
    return pair, first, pair.two if first is pair.one else pair.one


@simulated
async def test_only_the_leader_writes() -> None:
    async with world() as here:
        await here.apply(sample())
        pair, _, second = await _led(here)
        await here.scale(6)
        await here.ready()
        assert second.port.writes() == []
        assert second.operator.trouble == ""
        assert pair.unlawful == []


@pytest.mark.parametrize("end", ["stopped", "crashed", "cut off", "paused"])
@simulated
async def test_the_other_takes_over_and_finishes(end: str) -> None:
    async with world() as here:
        await here.apply(sample())
        pair, first, second = await _led(here)
        here.slurm.submit(2, 40)
        await here.scale(8)
        await here.until(lambda: len(here.sight.workers()) > 2, within=5)
        since = now()
        await _end(end, first)
        await here.scale(5)
        took = await here.until(lambda: pair.leader() is second, within=2 * LEASE_SECONDS)
        await here.ready()
        assert len(here.sight.workers()) == 5
        assert took < (3 if end == "stopped" else 2 * LEASE_SECONDS)
        assert pair.unlawful == []
        if end != "stopped":
            late = [call for call in first.port.writes(since + LEASE_SECONDS) if call.done]
            assert late == []


async def _end(how: str, first: Running) -> None:
    if how == "stopped":
        await first.stop()
    elif how == "crashed":
        await first.crash()
    else:
        first.port.down = True
        if how == "paused":
            pause(4 * LEASE_SECONDS)


@simulated
async def test_a_leader_that_sleeps_through_its_lease_wakes_up_in_the_middle_of_a_write_and_does_not_write() -> None:
    """Stopped right before a write leaves, it wakes up when the lease is over: the write must not happen."""
    async with world() as here:
        await here.apply(sample())
        pair, first, second = await _led(here)
        slept: list[float] = []

        def sleep_once(_verb: str, resource: str) -> None:
            if resource == "pods" and not slept:
                slept.append(now())
                first.port.latency = 0.0
                pause(4 * LEASE_SECONDS)

        first.port.before_write = sleep_once
        await here.scale(4)
        await here.until(lambda: bool(slept), within=5)
        woke = now()
        created = [call for call in first.port.writes() if call.at <= woke and call.resource == "pods"]
        assert created
        await asyncio.sleep(1)
        assert not any(call.done for call in created if call.at >= slept[0])
        await here.ready()
        assert len(here.sight.workers()) == 4
        assert pair.unlawful == []
        assert pair.leader() in {first, second}


@simulated
async def test_what_happened_while_nobody_led_is_made_up_for() -> None:
    async with world() as here:
        await here.apply(sample())
        pair, first, second = await _led(here)
        first.port.down = True
        await here.until(lambda: pair.leader() is second, within=2 * LEASE_SECONDS)
        first.port.down = False
        await second.crash()
        await here.scale(5)
        await asyncio.sleep(5)
        assert pair.leader() is None
        await here.until(lambda: pair.leader() is first, within=2 * LEASE_SECONDS)
        await here.until(lambda: len(here.sight.workers()) == 5, within=5)
        assert pair.unlawful == []


@simulated
async def test_leadership_that_goes_to_and_fro_changes_nothing() -> None:
    async with world() as here:
        await here.apply(sample())
        pair, first, second = await _led(here)
        places, pods = here.sight.places("Event"), {pod.metadata.uid for pod in here.sight.all("Pod")}
        for _ in range(4):
            first.port.down = True
            await here.until(lambda: pair.leader() is second, within=2 * LEASE_SECONDS)  # noqa: B023
            first.port.down = False
            await asyncio.sleep(60)
            first, second = second, first
        assert here.sight.places("Event") == places
        assert {pod.metadata.uid for pod in here.sight.all("Pod")} == pods
        assert pair.unlawful == []
        status = here.sight("NodeSet", NODE_SET).status
        assert status["readyReplicas"] == 2


@simulated
async def test_who_leads_again_does_not_believe_what_slurm_said_in_its_last_term() -> None:
    """It may have been away for hours. Until Slurm has answered, what the other leader has told stays."""
    async with world() as here:
        await here.apply(sample())
        pair, first, second = await _led(here)
        first.port.down = True
        await here.until(lambda: pair.leader() is second, within=2 * LEASE_SECONDS)
        first.port.down = False
        here.slurm.change(["compute-0"], {"state": ["DRAIN"], "reason": "admin: bad disk"})

        def told() -> int:
            return int(here.sight("NodeSet", NODE_SET).status["slurmDrain"])

        await here.until(lambda: told() == 1, within=40)
        await asyncio.sleep(90)
        here.slurmrestd.away = True
        await second.crash()
        await here.until(lambda: pair.leader() is first, within=2 * LEASE_SECONDS)
        await asyncio.sleep(1)
        assert told() == 1
