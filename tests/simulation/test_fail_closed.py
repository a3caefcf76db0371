"""What is not known to be safe waits, and what people said counts: the less likely ways to lose a job or a word."""

from __future__ import annotations

import asyncio

import pytest

from penstock.operator.nodeset.snapshot import GIVEN_UP_AFTER, ON_DELETION, REGISTERED
from penstock.operator.resources import PODS

from .loop import simulated
from .manifests import NAMESPACE, NODE_SET, sample
from .test_life import annotate, owners, template, with_claims
from .world import World, cluster, world

CANCEL = {"annotations": {ON_DELETION: "Cancel"}}


@simulated
async def test_a_controller_that_cannot_be_read_is_not_one_that_is_gone() -> None:
    """Its Slurm runs, and jobs with it: a deleted set waits, and says for what (NS-3)."""
    async with cluster(replicas=2) as (here, _):
        jobs = here.slurm.submit(2, 600)
        await asyncio.sleep(2)
        await here.edit("Controller", "slurm", spec={"extraConf": "Prolog=\x00bad"})
        await here.delete("NodeSet", NODE_SET)
        await asyncio.sleep(60)
        assert all(job.runs for job in jobs)
        told = here.sight.condition("NodeSet", NODE_SET, "Degraded")
        assert told["reason"] == "ControllerInvalid"
        assert 'Controller "slurm": ' in told["message"]
        await here.edit("Controller", "slurm", spec={"extraConf": None})
        await here.until(lambda: here.sight.get("NodeSet", NODE_SET) is None, within=700)
        assert [job.end for job in jobs] == ["COMPLETED", "COMPLETED"]


@pytest.mark.parametrize("later", [1, 3, 5, 7])
@simulated
async def test_a_drain_that_a_person_made_a_moment_ago_stays_theirs(later: int) -> None:
    """Who drains in Slurm and then cordons the pod finds their own words after the cordon is over (NS-4)."""
    async with cluster(replicas=2) as (here, _):
        await asyncio.sleep(later)
        here.slurm.change(["compute-1"], {"state": ["DRAIN"], "reason": "bad disk"})
        await asyncio.sleep(2)
        await annotate(here, f"{NODE_SET}-1", "true")
        await asyncio.sleep(15)
        await annotate(here, f"{NODE_SET}-1", None)
        await asyncio.sleep(30)
        node = here.slurm.nodes["compute-1"]
        assert (node.drain, node.reason) == (True, "bad disk")


@simulated
async def test_a_persons_drain_stays_theirs_though_slurms_clock_was_set_back() -> None:
    """Slurm says then that nothing has changed, and is asked for everything before a drain of ours (NS-4)."""
    async with cluster(replicas=2) as (here, _):
        await asyncio.sleep(15)
        here.slurm.change(["compute-1"], {"state": ["DRAIN"], "reason": "bad disk"})
        here.slurm.updated -= 3600
        await annotate(here, f"{NODE_SET}-1", "true")
        await asyncio.sleep(5)
        node = here.slurm.nodes["compute-1"]
        assert (node.drain, node.reason) == (True, "bad disk")


@simulated
async def test_no_worker_goes_on_a_word_of_slurms_that_is_older_than_a_second() -> None:
    """However many go, and however slow the cluster is: the last of them may have got a job since (NS-3)."""
    async with cluster(replicas=100) as (here, operator):
        operator.port.latency = 0.9
        await here.scale(0)
        await here.until(lambda: not here.sight.workers(), within=120)
        told = [one.at for one in here.slurmrestd.asked() if one.path.endswith(("/nodes/", "/jobs/"))]
        gone = [one.at for one in operator.port.writes() if (one.verb, one.resource) == ("delete", "pods")]
        assert len(gone) == 100
        assert all(min(at - heard for heard in told if heard <= at) <= 1.0 for at in gone)


@simulated
async def test_a_worker_that_was_ready_once_waits_for_slurm_to_know_it_again() -> None:
    """Though it is not ready now, and whoever led before is gone (NS-3)."""
    async with cluster(replicas=2) as (here, operator):
        jobs = here.slurm.submit(2, 9000)
        await asyncio.sleep(15)
        here.slurmrestd.untold = frozenset({"compute-1"})
        here.slurm.touch()
        worker = next(pod for pod in here.sight.workers() if pod.metadata.name.endswith("-1"))
        assert REGISTERED in {one["type"] for one in worker.status["conditions"]}
        flapping = asyncio.create_task(here.kubernetes.flap(worker, 60))
        await asyncio.sleep(2)
        await operator.crash()
        here.start()
        await here.scale(1)
        await asyncio.sleep(40)
        assert [job.runs for job in jobs] == [True, True]
        told = here.sight.condition("NodeSet", NODE_SET, "Degraded")
        assert "it was ready, but Slurm does not know its node" in told["message"]
        here.slurmrestd.untold = frozenset()
        await flapping


@pytest.mark.parametrize("silent", [False, True])
@simulated
async def test_jobs_that_are_to_be_cancelled_are_cancelled_by_slurm(silent: bool) -> None:
    """Warned first: though nobody has asked Slurm since the operator began, or one question was lost."""
    async with cluster(replicas=2) as (here, operator):
        jobs = here.slurm.submit(2, 9000)
        await asyncio.sleep(2)
        operator.end()
        await here.edit("NodeSet", NODE_SET, metadata=CANCEL)
        await here.delete("NodeSet", NODE_SET)
        here.slurmrestd.away = silent
        here.start()
        await asyncio.sleep(GIVEN_UP_AFTER / 2)
        here.slurmrestd.away = False
        await here.until(lambda: here.sight.get("NodeSet", NODE_SET) is None, within=120)
        for reason in ("JobsWarned", "JobsCancelled"):
            [note] = {one.partition(": ")[2] for one in here.sight.events(reason)}
            assert note == "the NodeSet is deleted with its jobs (nodeset.slinky.slurm.net/on-deletion: Cancel)"
        assert {job.end for job in jobs} == {"CANCELLED"}


@simulated
async def test_a_slurm_that_stays_silent_does_not_keep_a_set_whose_jobs_may_be_cancelled() -> None:
    async with cluster(replicas=2) as (here, _):
        here.slurmrestd.away = True
        await asyncio.sleep(15)
        await here.edit("NodeSet", NODE_SET, metadata=CANCEL)
        await here.delete("NodeSet", NODE_SET)
        await asyncio.sleep(GIVEN_UP_AFTER / 2)
        assert len(here.sight.workers()) == 2
        await here.until(lambda: here.sight.get("NodeSet", NODE_SET) is None, within=GIVEN_UP_AFTER)


@simulated
async def test_a_set_that_is_deleted_with_its_jobs_minds_no_drain_of_a_person() -> None:
    async with cluster(replicas=2) as (here, _):
        jobs = here.slurm.submit(2, 9000)
        await asyncio.sleep(2)
        here.slurm.change(["compute-1"], {"state": ["DRAIN"], "reason": "bad disk"})
        await asyncio.sleep(12)
        await here.edit("NodeSet", NODE_SET, metadata=CANCEL)
        await here.delete("NodeSet", NODE_SET)
        await here.until(lambda: here.sight.get("NodeSet", NODE_SET) is None, within=60)
        assert {job.end for job in jobs} == {"CANCELLED"}


@simulated
async def test_what_the_cluster_refuses_keeps_nothing_else_from_being_done() -> None:
    """A pod of somebody else's has the name of one worker: the others are made, replaced, cordoned, told about."""
    async with cluster(replicas=3) as (here, _):
        spec = {"containers": [{"name": "x", "image": "x"}]}
        foreign = {"metadata": {"name": f"{NODE_SET}-3", "namespace": NAMESPACE}, "spec": spec}
        await here.store.create(PODS, foreign, manager="kubectl")
        before = {pod.metadata.uid for pod in here.sight.workers()}
        await here.edit("NodeSet", NODE_SET, spec={"replicas": 5, **template("new")})
        await here.until(lambda: not {pod.metadata.uid for pod in here.sight.workers()} & before, within=120)
        await here.until(lambda: len(here.sight.workers()) == 4, within=60)
        told = here.sight.condition("NodeSet", NODE_SET, "Degraded")
        assert (told["reason"], NODE_SET in told["message"]) == ("NameTaken", True)
        await annotate(here, f"{NODE_SET}-0", "true")
        await here.until(lambda: here.slurm.nodes["compute-0"].drain, within=30)
        await here.until(lambda: _drained_by(here, f"{NODE_SET}-0") == "pod", within=30)


def _drained_by(here: World, name: str) -> str | None:
    [pod] = [one for one in here.sight.workers() if one.metadata.name == name]
    return pod.metadata.annotations.get("slinky.slurm.net/drained-by")


@simulated
async def test_suspended_jobs_have_the_same_bound_as_others() -> None:
    """NS-8: and as long as they are there, the worker's claim is nobody else's (ST-3)."""
    async with cluster(with_claims("Retain", "Delete"), replicas=2) as (here, operator):
        [job] = here.slurm.submit(1, 9000, on="compute-1")
        here.slurm.suspend(job)
        await asyncio.sleep(15)
        kept = owners(here)
        await here.edit("NodeSet", NODE_SET, spec={"drain": {"timeout": "100s", "onTimeout": "Cancel"}})
        await here.scale(1)
        await asyncio.sleep(45)
        before = operator.port.counted()
        await asyncio.sleep(40)
        assert job.runs
        assert owners(here) == kept
        told = here.sight.condition("NodeSet", NODE_SET, "Degraded")
        assert told["reason"] == "JobsSuspended"
        asked = {what: count - before.get(what, 0) for what, count in operator.port.counted().items()}
        assert not asked.get(("list", "pods"), 0)
        assert not asked.get(("patch", "persistentvolumeclaims"), 0)
        await here.until(lambda: len(here.sight.workers()) == 1, within=60)
        assert job.end == "CANCELLED"
        assert here.sight.events("JobsWarned")


@simulated
async def test_few_suspended_jobs_among_many_idle_nodes_cost_few_questions() -> None:
    async with cluster(replicas=64) as (here, _):
        [job] = here.slurm.submit(1, 9000, on="compute-40")
        here.slurm.suspend(job)
        await asyncio.sleep(15)
        asked = len(here.slurmrestd.requests)
        await here.scale(0)
        await here.until(lambda: len(here.sight.workers()) == 1, within=30)
        assert len(here.slurmrestd.requests) - asked < 64
        here.slurm.cancel(job.number)
        await here.until(lambda: not here.sight.workers(), within=30)


@simulated
async def test_an_answer_that_comes_late_is_news_all_the_same() -> None:
    """What it says was known when it was asked for, and something else since: two who ask at once (seed 9230)."""
    async with cluster(replicas=1) as (here, _):
        here.slurmrestd.slow = 25
        await here.edit("NodeSet", NODE_SET, spec=template("new"))
        await asyncio.sleep(7)
        await here.delete("Pod", f"{NODE_SET}-0")
        await asyncio.sleep(5)
        here.slurmrestd.slow = 0
        await here.until(lambda: here.sight("NodeSet", NODE_SET).status.get("slurmIdle") == 1, within=60)
        await here.until(lambda: here.slurm.nodes["compute-0"].report()["state"][0] == "IDLE", within=60)
        await asyncio.sleep(60)
        assert here.sight("NodeSet", NODE_SET).status["slurmIdle"] == 1


@pytest.mark.parametrize(("before", "after"), [("v0.0.45", "v0.0.42"), ("v0.0.42", "v0.0.45")])
@simulated
async def test_another_slurmrestd_is_spoken_to_in_its_own_version(before: str, after: str) -> None:
    """Its image may go back as well as on, while the operator runs."""
    async with cluster(replicas=2) as (here, _):
        here.slurmrestd.version = before
        await asyncio.sleep(30)
        here.slurmrestd.away = True
        await asyncio.sleep(15)
        here.slurmrestd.away, here.slurmrestd.version = False, after
        await here.scale(1)
        await here.until(lambda: len(here.sight.workers()) == 1, within=30)
        assert f"/{after}/" in here.slurmrestd.requests[-1].path


@simulated
async def test_a_slurm_that_runs_elsewhere_outlives_its_controller_and_keeps_its_workers() -> None:
    """Who deletes both at once still has the jobs waited for (NS-3)."""
    documents = sample()
    spec = next(one["spec"] for one in documents if one["kind"] == "Controller")
    spec |= {"external": True, "externalConfig": {"host": "slurmctld.example.com", "port": 6817}}
    async with world() as here:
        here.slurmrestd.up = lambda: True
        await here.apply(documents)
        here.start()
        await here.until(lambda: len(here.slurm.nodes) >= 2, within=60)
        jobs = here.slurm.submit(1, 300)
        await asyncio.sleep(2)
        await here.delete("Controller", "slurm")
        await here.delete("NodeSet", NODE_SET)
        await asyncio.sleep(60)
        assert len(here.sight.workers()) == 1
        told = here.sight.condition("Controller", "slurm", "Progressing")
        assert (told["reason"], NODE_SET in told["message"]) == ("NodeSetsLeft", True)
        await here.until(lambda: here.sight.get("Controller", "slurm") is None, within=400)
        assert [job.end for job in jobs] == ["COMPLETED"]
        assert here.sight.get("NodeSet", NODE_SET) is None


@simulated
async def test_workers_that_lost_their_set_are_taken_over_as_they_run() -> None:
    """`kubectl delete nodeset --cascade=orphan`, and made again: no job dies, and who is too many leaves drained."""
    async with cluster(replicas=3) as (here, operator):
        jobs = here.slurm.submit(3, 100)
        await asyncio.sleep(2)
        before = {pod.metadata.name: pod.metadata.uid for pod in here.sight.workers()}
        await operator.stop()
        await _orphaned(here)
        await here.apply([one for one in sample() if one["kind"] == "NodeSet"])
        await here.scale(2)
        here.start()
        await here.until(lambda: len(here.sight.workers()) == 2, within=200)
        after = {pod.metadata.name: pod.metadata.uid for pod in here.sight.workers()}
        assert after.items() <= before.items()
        assert [job.end for job in jobs] == ["COMPLETED"] * 3


async def _orphaned(here: World) -> None:
    """What Kubernetes leaves of a NodeSet that is deleted without its workers."""
    for pod in here.sight.workers():
        await here.edit("Pod", pod.metadata.name, metadata={"ownerReferences": []})
    await here.edit("NodeSet", NODE_SET, metadata={"finalizers": []})
    await here.delete("NodeSet", NODE_SET)


@simulated
async def test_a_plan_that_people_ask_for_is_the_one_that_is_carried_out() -> None:
    """With all that keeps the operator from it: a worker with a suspended job is not said to go (NS-3)."""
    async with cluster(replicas=2) as (here, operator):
        jobs = here.slurm.submit(2, 600)
        await asyncio.sleep(2)
        for job in jobs:
            here.slurm.suspend(job)
        await here.scale(1)
        await asyncio.sleep(10)
        found = await operator.operator.preview(("NodeSet", NAMESPACE, NODE_SET))
        assert not found.plan.remove
        assert found.trouble is not None
        assert found.trouble.reason == "JobsSuspended"
        for job in jobs:
            here.slurm.cancel(job.number)
        await here.edit("Controller", "slurm", spec={"extraConf": "Prolog=\x00bad"})
        await here.scale(5)
        await asyncio.sleep(5)
        found = await operator.operator.preview(("NodeSet", NAMESPACE, NODE_SET))
        assert not found.plan.create
        assert found.trouble is not None
        assert found.trouble.reason == "ControllerInvalid"
