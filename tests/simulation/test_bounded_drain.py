"""Jobs that outlast a bounded drain are warned, requeued or cancelled (NS-8): each step of that, on its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from penstock.api.nodeset import Drain, DrainTimeoutAction
from penstock.api.scalars import Duration
from penstock.operator.nodeset.bounded import Bound, Terms, bounded
from penstock.operator.nodeset.drains import MARK, SCALE_IN
from penstock.operator.nodeset.jobs import Carried, Duty, carry_out, commented
from penstock.slurm.rest.messages import NodeReport

from .desk import Desk, desk
from .loop import clock, simulated
from .manifests import NODE_SET
from .slurm_records import Job
from .world import cluster

TIMEOUT = 600
WARNED_AFTER, ENDED_AFTER = TIMEOUT - 60 + 1, TIMEOUT + 2
"""Seconds after the drain; Slurm's clock cuts off parts of seconds."""


class Story:
    """Jobs on draining nodes, what is said to them, and a bounded drain that is carried out by hand."""

    def __init__(self, at: Desk, action: str) -> None:
        self.desk, self.slurm = at, at.here.slurm
        self.policy = Drain(timeout=Duration.parse(f"{TIMEOUT}s"), on_timeout=DrainTimeoutAction(action))
        self.signals: list[tuple[int, str]] = []
        self.slurm.on_order = lambda job, order, _who: self.signals.append((job.number, order))

    def drain(self, *names: str) -> list[Job]:
        """Let a job run on each of these nodes, and drain them as we do it."""
        jobs = [job for name in names for job in self.slurm.submit(1, 100_000, on=name)]
        self.slurm.change([*names], {"state": ["DRAIN"], "reason": SCALE_IN, "extra": MARK})
        return jobs

    def decided(self) -> Bound:
        """What is to be done by what Slurm says now."""
        reports = [msgspec.convert(node.report(), NodeReport) for node in self.slurm.nodes.values()]
        return bounded(Terms(self.policy), reports, int(clock().timestamp()))

    async def carry_out(self, decided: Bound | None = None) -> Carried:
        """Do it, or what was decided before."""
        orders = (decided or self.decided()).orders
        desk, errand = self.desk, await self.desk.errand()
        duty = Duty(desk.context, desk.item, desk.controller, Terms(self.policy), errand.is_still_wished)
        return await carry_out(duty, orders)

    async def to_the_end(self) -> None:
        """Warn in time, and wait until the time is over."""
        await asyncio.sleep(WARNED_AFTER)
        assert await self.carry_out() == Carried()
        await asyncio.sleep(ENDED_AFTER - WARNED_AFTER)
        self.signals.clear()

    def busy(self) -> list[str]:
        """Draining nodes with jobs."""
        return sorted(node.name for node in self.slurm.nodes.values() if node.drain and node.jobs)

    def counted(self, action: str) -> float:
        """What the metric says."""
        registry = self.desk.context.metrics.registry
        return registry.get_sample_value("penstock_drained_jobs_total", {"action": action}) or 0.0


@asynccontextmanager
async def story(action: str, *, tell: list[str] | None = None) -> AsyncIterator[Story]:
    async with desk(tell=None if tell is None else tell.append) as at:
        yield Story(at, action)


@pytest.mark.parametrize(("action", "signals"), [("Requeue", ["CONT"]), ("Cancel", ["CONT", "TERM"])])
@simulated
async def test_a_warning_is_a_comment_and_a_signal_that_ends_nobody_who_shall_be_requeued(
    action: str, signals: list[str]
) -> None:
    async with story(action) as now:
        [job] = now.drain("compute-1")
        await asyncio.sleep(WARNED_AFTER)
        end = int(clock().timestamp()) + 60 + 1
        assert await now.carry_out() == Carried()
        assert now.signals == [(job.number, signal) for signal in signals]
        assert job.comment.startswith("penstock: its node leaves, so it is ")
        assert f"{action.lower()[:6]}" in job.comment
        assert clock().fromtimestamp(end, clock().tzinfo).strftime("%H:%M:%S") in job.comment
        assert now.decided().orders == ()
        assert (await now.desk.told())["JobsWarned"] == f"jobs {job.number}, on compute-1: drain.timeout is nearly over"
        assert now.counted("warn") == 1


@simulated
async def test_jobs_are_requeued_at_the_end_and_only_once() -> None:
    async with story("Requeue") as now:
        jobs = now.drain("compute-0", "compute-1")
        await now.to_the_end()
        assert await now.carry_out() == Carried()
        assert now.signals == [(job.number, "requeue") for job in jobs]
        assert now.busy() == []
        assert await now.carry_out() == Carried()
        assert len(now.signals) == 2
        assert (await now.desk.told())["JobsRequeued"].endswith("on compute-[0-1]: drain.timeout is over")
        assert (now.counted("requeue"), now.counted("cancel")) == (2, 0)


@simulated
async def test_jobs_are_cancelled_at_the_end_and_only_those_of_the_nodes_that_leave() -> None:
    async with story("Cancel") as now:
        [other] = now.slurm.submit(1, 100_000, on="compute-2")
        [job] = now.drain("compute-0")
        await now.to_the_end()
        assert await now.carry_out() == Carried()
        assert (job.end, job.ended is not None, other.runs) == ("CANCELLED", True, True)
        assert now.counted("cancel") == 1


@pytest.mark.parametrize("action", ["Requeue", "Cancel"])
@simulated
async def test_a_job_that_came_while_slurm_told_of_its_nodes_is_left_alone(action: str) -> None:
    """With thousands of nodes that takes a while; whoever comes to one of them meanwhile was never warned."""
    async with story(action) as now:
        [job] = now.drain("compute-0")
        await now.to_the_end()
        came = list[Job]()

        def given_back() -> None:
            if not came:
                now.slurm.cancel(job.number)
                now.slurm.change(["compute-0"], {"state": ["UNDRAIN"], "extra": ""})
                came.extend(now.slurm.submit(1, 100_000, on="compute-0"))

        now.desk.here.slurmrestd.after, now.desk.here.slurmrestd.transfer = given_back, 1.5
        await now.carry_out()
        assert [one.runs for one in came] == [True]
        assert now.signals == []


@simulated
async def test_a_job_that_cannot_be_requeued_goes_on_running_and_is_told() -> None:
    """It is waited for: who says Requeue did not say Cancel."""
    async with story("Requeue") as now:
        stays, _ = now.drain("compute-0", "compute-1")
        stays.requeues = False
        await now.to_the_end()
        carried = await now.carry_out()
        words = f"job {stays.number} cannot be requeued and is waited for: Requested operation is presently disabled"
        assert (carried.troubles, carried.refusals) == ([], [words])
        assert (stays.runs, now.busy()) == (True, ["compute-0"])
        assert words in (await now.desk.told())["JobsNotRequeued"]
        assert now.counted("requeue") == 1
        assert now.decided().orders == (), "nor is it asked for again"


@simulated
async def test_nothing_is_done_on_old_news() -> None:
    """Between deciding and doing, one node was given back, one was drained by a person, and of one the drain is new."""
    async with story("Cancel") as now:
        jobs = now.drain("compute-0", "compute-1", "compute-2")
        await now.to_the_end()
        decided = now.decided()
        assert [sorted(one.nodes) for one in decided.orders] == [["compute-0", "compute-1", "compute-2"]]
        now.slurm.change(["compute-0"], {"state": ["UNDRAIN"], "extra": ""})
        now.slurm.change(["compute-1"], {"state": ["DRAIN"], "reason": "bad memory, Ann"})
        now.slurm.change(["compute-2"], {"state": ["DRAIN"], "reason": SCALE_IN, "extra": MARK})
        assert await now.carry_out(decided) == Carried()
        assert now.signals == []
        assert all(job.runs for job in jobs)


@simulated
async def test_what_slurm_did_not_hear_is_said_again() -> None:
    async with story("Requeue") as now:
        now.drain("compute-0")
        await now.to_the_end()
        now.desk.here.slurmrestd.away = True
        assert len((await now.carry_out()).troubles) == 1
        assert now.busy() == ["compute-0"]
        now.desk.here.slurmrestd.away = False
        assert await now.carry_out() == Carried()
        assert now.busy() == []


@simulated
async def test_an_answer_that_is_lost_does_no_harm_and_keeps_nobody_from_the_rest() -> None:
    """Jobs that were requeued are not found on the node any more, so they are not requeued again."""
    async with story("Requeue") as now:
        jobs = now.drain("compute-0")
        await asyncio.sleep(2)
        jobs += now.drain("compute-1")
        await now.to_the_end()

        def heard(job: Job, order: str, _who: str) -> None:
            now.desk.here.slurmrestd.lost_replies = 0 if now.signals else 1
            now.signals.append((job.number, order))

        now.slurm.on_order = heard
        assert len((await now.carry_out()).troubles) == 1
        assert (now.busy(), len(now.decided().orders)) == ([], 0)
        assert await now.carry_out() == Carried()
        assert sorted(now.signals) == [(job.number, "requeue") for job in jobs]


@simulated
async def test_a_slurm_that_cannot_requeue_is_not_made_to_promise_it() -> None:
    """24.11: nobody is warned, nobody is ended, and it is told what to do."""
    async with story("Requeue") as now:
        [job] = now.drain("compute-0")
        now.desk.here.slurmrestd.version = "v0.0.42"
        await asyncio.sleep(ENDED_AFTER)
        carried = await now.carry_out()
        assert carried.troubles == []
        assert "or say drain.onTimeout: Cancel" in carried.refusals[0]
        assert (now.signals, job.comment, job.runs) == ([], "", True)


@simulated
async def test_in_a_rehearsal_it_is_only_told() -> None:
    told: list[str] = []
    async with story("Cancel", tell=told) as now:
        [job] = now.drain("compute-0")
        await asyncio.sleep(ENDED_AFTER)
        assert await now.carry_out() == Carried()
        assert (now.signals, job.comment) == ([], "")
        assert told[0] == "warn the jobs on Slurm nodes compute-0"
        assert told[1].startswith("update Slurm nodes compute-0: {'extra': 'penstock: drained warned=")
        assert "JobsWarned" not in await now.desk.told()


@simulated
async def test_slurms_clock_is_never_taken_to_be_ahead_of_where_it_is() -> None:
    """However long its answer takes: else jobs would be warned too early."""
    async with desk() as at:
        slurm, server = at.context.slurm, at.here.slurmrestd
        for slow in (0.0, 15.0, 0.3):
            server.slow = slow
            at.here.slurm.change(["compute-0"], {"extra": str(slow)})
            await slurm.ask(at.controller)
            for _ in range(3):
                await asyncio.sleep(0.7)
                found, really = slurm.time(at.controller), clock().timestamp()
                assert found is not None
                assert really - 2 < found <= really


@simulated
async def test_whoever_waits_for_a_suspended_job_is_not_forgotten_for_another_trouble() -> None:
    """Slurm says nothing when such a job ends, so somebody looks again and again, whatever else is told (NS-3)."""
    async with cluster(replicas=2) as (here, _):
        here.slurmrestd.version = "v0.0.42"
        await here.edit("NodeSet", NODE_SET, spec={"drain": {"timeout": "60s", "onTimeout": "Requeue"}})
        [held], _ = here.slurm.submit(1, 100_000, on="compute-1"), here.slurm.submit(1, 100_000, on="compute-0")
        here.slurm.suspend(held)
        await asyncio.sleep(20)
        await here.scale(1)
        await asyncio.sleep(300)
        assert here.sight.condition("NodeSet", NODE_SET, "Degraded")["reason"] == "SlurmRefuses"
        here.slurm.cancel(held.number)
        await here.until(lambda: len(here.sight.workers()) == 1, within=10)


@pytest.mark.parametrize(
    ("present", "after"),
    [
        ("", "penstock: b"),
        ("penstock: a", "penstock: b"),
        ("cost centre 7", "cost centre 7 | penstock: b"),
        ("cost centre 7 | penstock: a", "cost centre 7 | penstock: b"),
    ],
)
def test_comments_of_others_stay(present: str, after: str) -> None:
    assert commented(present, "penstock: b") == after
