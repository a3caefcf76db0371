"""Workers leave and are replaced under running jobs, and none of these dies (NS-3, NS-4, NS-5): with the real Slurm.

Exit codes are asked of the accounting at the end; a job that was requeued, or ended otherwise than it meant to, is one
too many.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from penstock.engine import processes
from penstock.engine.processes import Identity

from .jobs import Patient, accounted, held, idle
from .site import WORKERS, Site, condition, eventually, is_ready
from .test_deaths import SLURMCTLD, init, kill, served_again
from .test_scaling import scale, workers
from .traces import containers, process_of

CORDON = "nodeset.slinky.slurm.net/pod-cordon"
SOURCE = "slinky.slurm.net/drained-by"


def test_a_set_shrinks_under_running_jobs(cluster: Site) -> None:
    """2 -> 5 -> 1: each worker goes when its job is over, the one that stays keeps its own."""
    scale(cluster, WORKERS, 5)
    jobs = [Patient(cluster, number) for number in range(5)]
    cluster.says("scale", f"nodeset/{WORKERS}", "--replicas=1")
    eventually(lambda: draining(cluster), lambda found: len(found) == 4)
    leave = sorted(int(name.rpartition("-")[2]) for name in draining(cluster))
    for number in leave:
        jobs[number].end()
        cluster.until("pods", f"{WORKERS}-{number}", lambda pod: not pod)
    [stays] = {*range(5)} - {*leave}
    assert jobs[stays].state() == "RUNNING"
    jobs[stays].end()
    assert len(workers(cluster)) == 1


def test_every_worker_is_replaced_under_a_stream_of_jobs(cluster: Site) -> None:
    """A rolling update: all workers are new ones, and every job ran once and ended well."""
    scale(cluster, WORKERS, 3)
    before = {pod["metadata"]["uid"] for pod in workers(cluster)}
    jobs = [submitted(cluster, seconds) for seconds in (1, 2, 3) * 6]
    with edited(cluster):
        cluster.until("nodesets", WORKERS, lambda one: one["status"].get("updatedReplicas") == 3 and is_ready(one))
        assert before.isdisjoint(pod["metadata"]["uid"] for pod in workers(cluster))
        for job in jobs:
            ended_well(cluster, job)
        cluster.says("rollout", "status", f"nodeset/{WORKERS}", "--timeout=60s")


@pytest.mark.parametrize("victim", ["penstock", "slurmctld"])
def test_who_is_killed_while_a_set_shrinks_costs_no_job(cluster: Site, victim: str) -> None:
    scale(cluster, WORKERS, 3)
    jobs = [Patient(cluster, number) for number in range(3)]
    cluster.says("scale", f"nodeset/{WORKERS}", "--replicas=0")
    eventually(lambda: draining(cluster), lambda found: len(found) == 3)
    if victim == "penstock":
        served = process_of(cluster, "serve")
        kill(served)
        served_again(cluster, served)
    else:
        # What slurmctld has not written down is forgotten when it is killed.
        cluster.slurm("scancel", str(held(cluster)))
        kill(init(containers(cluster)[SLURMCTLD]))
    assert len(workers(cluster)) == 3
    for job in jobs:
        job.end()
    cluster.until("nodesets", WORKERS, lambda one: one["status"]["replicas"] == 0)


def test_while_slurmrestd_is_frozen_nobody_goes(cluster: Site) -> None:
    """What Slurm does not say is not known; and it is said that it is not. A job that runs meanwhile ends well."""
    scale(cluster, WORKERS, 3)
    job = Patient(cluster, 0)
    name = next(one for one in containers(cluster) if one.endswith("/slurmrestd"))
    frozen = init(containers(cluster)[name])
    with stopped(frozen):
        cluster.says("scale", f"nodeset/{WORKERS}", "--replicas=1")
        cluster.until("nodesets", WORKERS, lambda one: condition(one, "Degraded").get("reason") == "SlurmUnknown")
        assert len(workers(cluster)) == 3
    job.end()
    cluster.until("nodesets", WORKERS, lambda one: one["status"]["replicas"] == 1)


def test_a_persons_drain_shows_on_the_pod_and_stays(cluster: Site) -> None:
    """NS-4: whoever restarts, the drain and its reason are still there."""
    pod = f"{WORKERS}-1"
    cluster.slurm("scontrol", "update", "NodeName=compute-1", "State=DRAIN", "Reason=bad disk")
    try:
        cluster.until("pods", pod, lambda one: annotated(one).get(SOURCE, "").startswith("slurm: "))
        cluster.until("pods", pod, lambda one: condition(one, "SlurmNodeStateDrain").get("message") == "bad disk")
        first = cluster.get("pods", pod)["metadata"]["uid"]
        cluster.says("delete", "pod", pod, "--timeout=60s")
        cluster.until("pods", pod, lambda one: one and one["metadata"]["uid"] != first and is_ready(one))
        eventually(lambda: reason(cluster, "compute-1"), lambda text: text == "bad disk")
    finally:
        cluster.slurm("scontrol", "update", "NodeName=compute-1", "State=UNDRAIN")


def test_who_cordons_a_pod_drains_its_node(cluster: Site) -> None:
    """NS-4: and who uncordons it gives it back."""
    pod = f"{WORKERS}-1"
    cluster.says("annotate", f"pod/{pod}", f"{CORDON}=true")
    eventually(lambda: reason(cluster, "compute-1"), lambda text: text == "penstock: its pod is cordoned")
    cluster.says("annotate", f"pod/{pod}", f"{CORDON}-")
    eventually(lambda: idle(cluster), lambda found: "compute-1" in found)


def draining(cluster: Site) -> set[str]:
    """Nodes that take no jobs and have some."""
    said = cluster.slurm("sinfo", "--noheader", "--Node", "--format=%N %T").splitlines()
    return {line.split()[0] for line in said if line.split()[1] == "draining"}


def submitted(cluster: Site, seconds: int) -> int:
    """A job that takes a while and ends with a number of its own."""
    return int(cluster.slurm("sbatch", "--parsable", "--output=/dev/null", f"--wrap=sleep {seconds}; exit {seconds}"))


def ended_well(cluster: Site, job: int) -> None:
    """It ended as it meant to, in its first run."""
    record = accounted(cluster, job)
    assert record["exit_code"]["return_code"]["number"] in {1, 2, 3}, record
    assert record["restart_cnt"] == 0
    assert record["state"]["current"] == ["FAILED"], "any number but 0 is called so"


@contextmanager
def edited(cluster: Site) -> Iterator[None]:
    """Give the workers another template, and the old one back."""
    key = "penstock.example/test"
    for value in ("yes", None):
        patch = {"spec": {"template": {"metadata": {"annotations": {key: value}}}}}
        cluster.says("patch", "nodeset", WORKERS, "--type=merge", "-p", msgspec.json.encode(patch).decode())
        if value:
            yield


@contextmanager
def stopped(process: Identity) -> Iterator[None]:
    """Freeze a process, and whatever it has started, for a while."""
    frozen = processes.family(process)
    for one in frozen:
        processes.send(one, signal.SIGSTOP)
    try:
        yield
    finally:
        for one in frozen:
            processes.send(one, signal.SIGCONT)


def reason(cluster: Site, node: str) -> str:
    """Why a node drains."""
    found: Any = msgspec.json.decode(cluster.slurm("scontrol", "show", "node", node, "--json"))["nodes"]
    return str(found[0]["reason"]) if "DRAIN" in found[0]["state"] else ""


def annotated(pod: dict[str, Any]) -> dict[str, str]:
    """Of a pod."""
    return dict((pod.get("metadata") or {}).get("annotations") or {})
