"""Orders about jobs, and questions: what the played slurmrestd and the real ones of both releases answer alike."""

from __future__ import annotations

import pytest

from penstock.slurm.rest.errors import SlurmNotFound, SlurmRefused
from penstock.slurm.rest.jobs import KILL

from .site import Asking, Site


def test_slurm_tells_which_jobs_are_on_nodes_and_leaves_them_alone(site: Site) -> None:
    async def asked(asking: Asking) -> tuple[object, ...]:
        first, second = await asking.submit("w1"), await asking.submit("w3")
        try:
            on_two, on_all = await asking.rest.jobs_on(["w1", "w2"]), await asking.rest.jobs_on(["w1", "w2", "w3"])
            run = [(await asking.rest.job(number)).condition.running for number in (first, second)]
        finally:
            await asking.cancel("w1", "w3")
        names = [one.step_id for one in on_two], sorted(one.job_id.number for one in on_all)
        return names == ([str(first)], sorted([first, second])), run, [one.trouble for one in on_all]

    assert site.ask(asked) == (True, [True, True], ["", ""])


def test_nodes_without_jobs_and_nodes_that_are_not_there_have_none(site: Site) -> None:
    """And no node at all is not taken for all nodes."""

    async def asked(asking: Asking) -> list[int]:
        await asking.submit("w2")
        try:
            return [len(await asking.rest.jobs_on(nodes)) for nodes in (["w1"], ["nobody"], [], ["w2", "nobody"])]
        finally:
            await asking.cancel("w2")

    assert site.ask(asked) == [0, 0, 0, 1]


def test_jobs_of_a_node_are_cancelled_and_no_others(site: Site) -> None:
    async def cancelled(asking: Asking) -> tuple[object, ...]:
        first, second = await asking.submit("w1"), await asking.submit("w2")
        reached = await asking.rest.signal_jobs(["w1"], KILL)

        async def over() -> bool:
            return (await asking.rest.job(first)).condition.finished

        try:
            await asking.until(over)
            one, other = await asking.rest.job(first), await asking.rest.job(second)
        finally:
            await asking.cancel("w1", "w2")
        return [job.step_id for job in reached] == [str(first)], one.job_state, other.job_state

    assert site.ask(cancelled) == (True, ("CANCELLED",), ("RUNNING",))


def test_of_the_jobs_of_nodes_only_those_are_cancelled_that_are_named(site: Site) -> None:
    """Who came since they were asked for, or is named and elsewhere, is left alone."""

    async def cancelled(asking: Asking) -> tuple[object, ...]:
        first, second, third = [await asking.submit(node) for node in ("w1", "w2", "w3")]
        reached = await asking.rest.signal_jobs(["w1", "w2"], KILL, only=[str(first), str(third)])
        nobody = await asking.rest.signal_jobs(["w1", "w2", "w3"], KILL, only=[])

        async def over() -> bool:
            return (await asking.rest.job(first)).condition.finished

        try:
            await asking.until(over)
            states = [(await asking.rest.job(number)).job_state for number in (first, second, third)]
        finally:
            await asking.cancel("w1", "w2", "w3")
        return [job.step_id for job in reached] == [str(first)], nobody, states

    assert site.ask(cancelled) == (True, [], [("CANCELLED",), ("RUNNING",), ("RUNNING",)])


def test_a_job_that_minds_no_signals_fails_of_the_first(site: Site) -> None:
    """So what shall be requeued must not be told SIGTERM before."""

    async def told(asking: Asking) -> tuple[str, ...]:
        number = await asking.submit("w1")
        await asking.rest.signal_jobs(["w1"], "TERM")

        async def over() -> bool:
            return (await asking.rest.job(number)).condition.finished

        await asking.until(over)
        return (await asking.rest.job(number)).job_state

    assert site.ask(told) == ("FAILED",)


def test_jobs_are_requeued_where_slurm_can(site: Site) -> None:
    """One that has --no-requeue goes on running, and is told; one that is gone or waits needs nothing."""

    async def requeued(asking: Asking) -> object:
        first, second = await asking.submit("w1"), await asking.submit("w2", requeue=False)
        held = await asking.submit("w3", hold=True)
        try:
            if not await asking.rest.can_requeue():
                with pytest.raises(SlurmRefused, match=r"26\.05 can; use"):
                    await asking.rest.requeue_jobs([str(first)])
                return "cannot"
            refused = await asking.rest.requeue_jobs(map(str, (first, second, 4321, held)))
            states = [(await asking.rest.job(number)).condition for number in (first, second)]
            assert await asking.rest.requeue_jobs([]) == {}
            return refused == {str(second): "Requested operation is presently disabled"}, [
                (state.pending, state.running) for state in states
            ]
        finally:
            await asking.cancel("w1", "w2")
            await asking.rest.release_job(held)
            await asking.runs(held)
            await asking.cancel("w3")

    expected = (True, [(True, False), (False, True)]) if site.version == "v0.0.45" else "cannot"
    assert site.ask(requeued) == expected


def test_a_comment_is_written_on_a_job_and_stays_the_users(site: Site) -> None:
    async def commented(asking: Asking) -> str:
        number = await asking.submit("w1")
        try:
            await asking.rest.comment_job(number, 'penstock: "hello", again')
            with pytest.raises(SlurmNotFound, match="Invalid job id"):
                await asking.rest.comment_job(4321, "nobody")
            return (await asking.rest.job(number)).admin_comment
        finally:
            await asking.cancel("w1")

    assert site.ask(commented) == 'penstock: "hello", again'


def test_a_partition_is_named_by_jobs_that_wait_run_or_are_over(site: Site) -> None:
    async def counted(asking: Asking) -> list[object]:
        before = await asking.rest.partition_jobs("compute")
        await asking.submit("w1")
        number = await asking.submit("w2", hold=True)
        live = await asking.rest.partition_jobs("compute")
        await asking.rest.release_job(number)
        await asking.runs(number)
        await asking.cancel("w1", "w2")
        over = await asking.rest.partition_jobs("compute")
        return [live, over - before, await asking.rest.partition_jobs("nobody's")]

    assert site.ask(counted) == [2, 2, 0]
