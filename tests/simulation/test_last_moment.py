"""The last moment before a worker goes: what was true a second ago may not be, and one refusal stops nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

import pytest

from penstock.operator.nodeset.removing import WITH_CLAIMS
from penstock.operator.slurm_links import SLURM
from penstock.render.labels import PIN

from .desk import desk
from .loop import now, simulated
from .manifests import NAMESPACE, NODE_SET
from .slurm_records import Job
from .test_life import template, with_claims
from .world import World, cluster


@simulated
async def test_all_nodes_at_this_moment_are_just_that_whoever_asked_meanwhile() -> None:
    """A Slurm whose clock was set back says to who asks for changes that there are none, and sooner."""
    async with desk(replicas=2) as at:
        slurm, rest = at.context.slurm, at.here.slurmrestd
        await slurm.ask(at.controller)
        await asyncio.sleep(2)
        at.here.slurm.change(["compute-1"], {"state": ["DRAIN"], "reason": "bad disk"})
        at.here.slurm.updated -= 3600
        rest.slow = 2.0
        asked = asyncio.create_task(slurm.nodes_now(at.controller))
        await asyncio.sleep(0.5)
        rest.slow = 0.0
        await slurm.ask(at.controller)
        assert (await asked).nodes["compute-1"].reason == "bad disk"


@simulated
async def test_a_worker_that_registers_right_after_slurm_did_not_know_it_keeps_its_first_job() -> None:
    """Who scales out and in again takes nobody away that may register in that moment (NS-3)."""
    async with cluster(replicas=1) as (here, _):
        await here.scale(2)
        await here.until(lambda: _begins(here, f"{NODE_SET}-1"), within=30)
        registered = list[int]()

        def register() -> None:
            if not registered and _begins(here, f"{NODE_SET}-1"):
                here.slurm.register(here.sight("Pod", f"{NODE_SET}-1"))
                registered.append(here.slurm.submit(1, 60, on="compute-1")[0].number)

        here.slurmrestd.after = register
        await here.scale(1)
        await here.until(lambda: len(here.sight.workers()) == 1, within=200)
        assert [here.slurm.jobs[number].end for number in registered] == ["COMPLETED"]


def _begins(here: World, name: str) -> bool:
    pod = here.sight.get("Pod", name)
    return pod is not None and pod.status.get("phase") == "Running"


@simulated
async def test_after_a_slow_word_about_all_nodes_it_is_asked_who_has_jobs() -> None:
    """It is as old as the question, not as its arrival: a node may have been given back since (NS-3)."""
    async with cluster(replicas=2) as (here, _):
        rest, slurm = here.slurmrestd, here.slurm
        told = list[float]()

        def back() -> None:
            node = slurm.nodes["compute-1"]
            if node.drain and node.pod:
                slurm.change(["compute-1"], {"state": ["UNDRAIN"]})
                slurm.submit(1, 60, on="compute-1")

        def given_back() -> None:
            if slurm.nodes["compute-1"].drain and rest.asking and rest.asking.path.endswith("/nodes/") and not told:
                told.append(now())
                asyncio.get_running_loop().call_later(4, back)

        rest.after, rest.transfer = given_back, 8.0
        await here.scale(1)
        await here.until(lambda: len(here.sight.workers()) == 1, within=300)
        assert told
        assert not slurm.lost


Deed = Callable[[World], Coroutine[object, object, None]]


async def _fewer(here: World) -> None:
    await here.scale(1)


async def _as_many(here: World) -> None:
    await here.scale(2)


async def _another_template(here: World) -> None:
    await here.edit("NodeSet", NODE_SET, spec=template("new"))


async def _the_old_template(here: World) -> None:
    await here.edit("NodeSet", NODE_SET, spec=template(None))


async def _the_old_revision(here: World) -> None:
    await here.edit("NodeSet", NODE_SET, metadata={"annotations": {PIN: "1"}})


@pytest.mark.parametrize(
    ("wish", "other"),
    [(_fewer, _as_many), (_another_template, _the_old_template), (_another_template, _the_old_revision)],
)
@simulated
async def test_who_wishes_otherwise_while_slurm_is_asked_keeps_the_worker(wish: Deed, other: Deed) -> None:
    """Slurm's word is good, and nobody wants the worker to go any more (NS-3)."""
    async with cluster(replicas=2) as (here, operator):
        before = {pod.metadata.uid for pod in here.sight.workers()}
        moments = _at_the_last_question(here, lambda: here.spawn(other(here)))
        await wish(here)
        await here.until(lambda: moments, within=10)
        await here.until(lambda: not here.slurm.nodes["compute-1"].drain, within=5, what="the node is given back")
        await asyncio.sleep(60)
        assert {pod.metadata.uid for pod in here.sight.workers()} == before
        assert ("delete", "pods") not in operator.port.counted()


@simulated
async def test_who_wishes_otherwise_while_slurm_is_asked_keeps_the_claims_too() -> None:
    """They are not even given away: who dies in that moment could not take them back (ST-3)."""
    async with cluster(with_claims("Retain", "Delete"), replicas=2) as (here, operator):
        moments = _at_the_last_question(here, lambda: here.spawn(_as_many(here)))
        await here.scale(1)
        await here.until(lambda: moments, within=10)
        await asyncio.sleep(60)
        assert operator.port.counted()["patch", "persistentvolumeclaims"] == 0
        assert ("delete", "pods") not in operator.port.counted()


@simulated
async def test_what_another_question_hears_after_ours_keeps_the_worker() -> None:
    """Ours is not a second old, and says that it is drained; since then it was given back and got a job (NS-3)."""
    async with cluster(replicas=2) as (here, operator):
        jobs = list[Job]()

        def given_back() -> None:
            asyncio.get_running_loop().call_soon(another_asks)

        def another_asks() -> None:
            here.slurm.change(["compute-1"], {"state": ["UNDRAIN"], "extra": ""})
            jobs.extend(here.slurm.submit(1, 60, on="compute-1"))
            operator.operator.queue.add((SLURM, NAMESPACE, "slurm"))

        moments = _at_the_last_question(here, given_back)
        await here.scale(1)
        await here.until(lambda: moments, within=10)
        await here.until(lambda: len(here.sight.workers()) == 1, within=60, what="the other one goes, which is idle")
        assert [job.runs for job in jobs] == [True]
        assert [pod.metadata.name for pod in here.sight.workers()] == [f"{NODE_SET}-1"]


def _at_the_last_question(here: World, deed: Callable[[], None]) -> list[float]:
    """Have something happen right after Slurm has answered who is about to delete `compute-1`; when that was."""
    moments = list[float]()

    def answered() -> None:
        asking, before = here.slurmrestd.asking, here.slurmrestd.requests[-1]
        # Who is about to act asks for all nodes, changed or not; who deletes has asked for their jobs right before.
        if asking and asking.path.endswith("/nodes/") and "/jobs/" in before.path and not moments:
            assert here.slurm.nodes["compute-1"].drain
            moments.append(now())
            deed()

    here.slurmrestd.after = answered
    return moments


@simulated
async def test_thousands_of_claims_are_given_away_once_each() -> None:
    """With the workers that go next, not again and again with all that are left (ST-3)."""
    async with cluster(with_claims("Retain", "Delete"), replicas=300) as (here, operator):
        operator.port.latency = 0.2
        began = now()
        await here.scale(0)
        await here.until(lambda: not here.sight.workers(), within=300)
        counted = operator.port.counted(began)
        assert counted["patch", "persistentvolumeclaims"] <= 300 + WITH_CLAIMS
        assert counted["delete", "pods"] == 300


@simulated
async def test_what_cannot_be_deleted_is_tried_later_and_later_though_slurm_has_news_all_the_time() -> None:
    """Its last look before a deletion is no news to the one who looks."""
    async with cluster(replicas=3) as (here, operator):
        operator.port.undeletable = frozenset(pod.metadata.name for pod in here.sight.workers())
        await here.scale(2)
        for _ in range(6000):
            here.slurm.nodes["compute-0"].at += 1
            here.slurm.touch()
            await asyncio.sleep(0.1)
        assert len(here.slurmrestd.asked(now() - 60)) <= 60
        operator.port.undeletable = frozenset()
        await here.until(lambda: len(here.sight.workers()) == 2, within=400)


@simulated
async def test_one_worker_that_cannot_be_deleted_keeps_no_other() -> None:
    async with cluster(replicas=4) as (here, operator):
        operator.port.undeletable = frozenset({f"{NODE_SET}-3"})
        await here.scale(0)
        await here.until(lambda: [one.metadata.name for one in here.sight.workers()] == [f"{NODE_SET}-3"], within=60)
        told = here.sight.condition("NodeSet", NODE_SET, "Degraded")
        assert "does not let it go" in told["message"]
        operator.port.undeletable = frozenset()
        await here.until(lambda: not here.sight.workers(), within=400)


@simulated
async def test_jobs_are_ended_only_if_that_is_still_wished_when_slurm_has_taken_its_time() -> None:
    """Who scales out again a moment before the end of drain.timeout keeps the jobs (NS-8)."""
    async with cluster(replicas=2) as (here, _):
        await here.edit("NodeSet", NODE_SET, spec={"drain": {"timeout": "20s", "onTimeout": "Cancel"}})
        jobs = here.slurm.submit(2, 600)
        await asyncio.sleep(5)
        await here.scale(1)
        began = now()
        await asyncio.sleep(15)
        here.slurmrestd.slow = 2.0

        def again() -> None:
            if now() > began + 21:
                here.slurmrestd.after = lambda: None
                here.spawn(here.scale(2))

        here.slurmrestd.after = again
        await asyncio.sleep(60)
        assert all(job.runs for job in jobs)


@simulated
async def test_what_the_server_fails_at_is_told_and_keeps_nothing_else_from_being_done() -> None:
    """Somebody's webhook is away, and every pod that is to be made meets it (NS-6)."""
    async with cluster(replicas=3) as (here, operator):
        operator.port.failing["create", "pods"] = 'Internal error occurred: failed calling webhook "policy.example.org"'
        await here.delete("Pod", f"{NODE_SET}-0")
        await here.until(lambda: "webhook" in here.sight.condition("NodeSet", NODE_SET, "Degraded")["message"])
        assert here.sight.condition("NodeSet", NODE_SET, "Ready")["status"] == "False"
        await here.scale(1)
        await here.until(lambda: [one.metadata.name for one in here.sight.workers()] == [f"{NODE_SET}-1"], within=30)
        await here.scale(2)
        operator.port.failing.clear()
        await here.until(lambda: len(here.sight.workers()) == 2, within=400)
        await here.ready()
