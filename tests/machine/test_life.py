"""Workers leave and are replaced under running jobs, and none of these dies (NS-3, NS-4, NS-5): with the real Slurm.

Exit codes are asked of the accounting at the end; a job that was requeued, or ended otherwise than it meant to, is one
too many.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import msgspec
import pytest

from penstock.api.objects import Json
from penstock.engine import processes
from penstock.engine.processes import Identity

from .jobs import Patient, all_completed, held, idle, stream
from .site import WORKERS, Site, condition, eventually, is_ready
from .test_deaths import SLURMCTLD, again, init, kill, served_again
from .test_scaling import scale, workers
from .traces import containers, process_of

CORDON = "nodeset.slinky.slurm.net/pod-cordon"
SOURCE = "slinky.slurm.net/drained-by"
CLUSTER = ("controllers", "accountings", "restapis", "nodesets")
_IN_THE_DARK = 90.0
"""Seconds until a NodeSet says that Slurm is silent: each answer is waited for 20, and several may be in a row."""


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
    """A rolling update: jobs come until it is done, some end on workers that drain, some begin on new ones."""
    scale(cluster, WORKERS, 3)
    before = uids(cluster)
    longer = Patient(cluster, 2)
    with stream(cluster) as jobs:
        edit(cluster)
        eventually(lambda: draining(cluster), lambda found: "compute-2" in found)
        assert longer.state() == "RUNNING"
        longer.end()
        updated(cluster, 3)
        assert before.isdisjoint(uids(cluster))
        cluster.says("rollout", "status", f"nodeset/{WORKERS}", "--timeout=60s")
    born = {f"compute-{ordinal(pod)}": moment(pod["metadata"]["creationTimestamp"]) for pod in workers(cluster)}
    assert any(job.start > born[job.node] for job in all_completed(cluster, jobs).values())


@pytest.mark.parametrize("course", ["shrinks", "is updated"])
@pytest.mark.parametrize("victim", ["penstock", "slurmctld"])
def test_who_is_killed_while_workers_leave_costs_no_job(cluster: Site, victim: str, course: str) -> None:
    scale(cluster, WORKERS, 3)
    jobs, before = [Patient(cluster, number) for number in range(3)], uids(cluster)
    if course == "shrinks":
        cluster.says("scale", f"nodeset/{WORKERS}", "--replicas=0")
    else:
        edit(cluster)
    eventually(lambda: draining(cluster), lambda found: len(found) == (3 if course == "shrinks" else 1))
    if victim == "penstock":
        killed_operator(cluster)
    else:
        kill(forgets_nothing(cluster))
    assert uids(cluster) == before
    for job in jobs:
        job.end()
    if course == "shrinks":
        cluster.until("nodesets", WORKERS, lambda one: one["status"]["replicas"] == 0)
    else:
        updated(cluster, 3)
        assert before.isdisjoint(uids(cluster))


def test_while_slurmrestd_is_frozen_nobody_goes(cluster: Site) -> None:
    """What Slurm does not say is not known, and it is said that it is not: not even who has become idle goes."""
    scale(cluster, WORKERS, 3)
    jobs, before = [Patient(cluster, number) for number in range(3)], uids(cluster)
    with stopped(init(containers(cluster)[slurmrestd(cluster)])):
        cluster.says("scale", f"nodeset/{WORKERS}", "--replicas=1")
        jobs.pop().end()
        cluster.until("nodesets", WORKERS, is_in_the_dark, patience=_IN_THE_DARK)
        assert uids(cluster) == before
    cluster.until("pods", f"{WORKERS}-2", lambda pod: not pod)
    [leaves] = eventually(lambda: draining(cluster), bool)
    assert [job.state() for job in jobs] == ["RUNNING", "RUNNING"]
    jobs.pop(int(leaves.rpartition("-")[2])).end()
    cluster.until("nodesets", WORKERS, lambda one: one["status"]["replicas"] == 1)
    [stays] = jobs
    assert stays.state() == "RUNNING"
    stays.end()


def test_a_whole_cluster_that_is_deleted_waits_for_its_jobs(cluster: Site) -> None:
    """All at once, as `kubectl delete -f cluster.yaml` does: Slurm stays for them, and for their records."""
    job = Patient(cluster, 0)
    cluster.says("delete", ",".join(CLUSTER), "--all", "--wait=false")
    cluster.until("pods", f"{WORKERS}-1", lambda pod: not pod)
    assert job.state() == "RUNNING"
    left = [(kind, one["metadata"]["name"]) for kind in CLUSTER for one in cluster.all(kind)]
    assert {kind for kind, _ in left} == {*CLUSTER}
    job.let_end()
    for kind, name in left:
        cluster.until(kind, name, lambda one: not one)
    cluster.says("delete", "loginsets", "--all")  # a new Controller fills the shared root while nobody uses it
    cluster.up()
    all_completed(cluster, [job.number])


def test_a_persons_drain_shows_on_the_pod_and_stays(cluster: Site) -> None:
    """NS-4: whoever restarts, the drain and its reason are still there."""
    pod = f"{WORKERS}-1"
    cluster.slurm("scontrol", "update", "NodeName=compute-1", "State=DRAIN", "Reason=bad disk")
    try:
        see_drain(cluster)
        first = cluster.get("pods", pod)["metadata"]["uid"]
        cluster.says("delete", "pod", pod, "--timeout=60s")
        cluster.until("pods", pod, lambda one: one and one["metadata"]["uid"] != first and is_ready(one))
        see_drain(cluster)
        forgets_nothing(cluster)
        for name in (slurmrestd(cluster), SLURMCTLD):
            before = containers(cluster)[name]
            kill(init(before))
            again(cluster, name.partition("/")[0], before)
        killed_operator(cluster)
        # That somebody else is drained and given back shows that all of them work, and what they think of drains.
        cordon_and_uncordon(cluster, 0)
        see_drain(cluster)
    finally:
        cluster.slurm("scontrol", "update", "NodeName=compute-1", "State=UNDRAIN")


def test_who_cordons_a_pod_drains_its_node(cluster: Site) -> None:
    """NS-4: and who uncordons it gives it back."""
    cordon_and_uncordon(cluster, 1)


def is_in_the_dark(node_set: Json) -> bool:
    """Whether a NodeSet says that Slurm does not."""
    return condition(node_set, "Degraded").get("reason") == "SlurmUnknown"


def cordon_and_uncordon(cluster: Site, worker: int) -> None:
    """Have a worker take no jobs, and take some again."""
    pod, node = f"{WORKERS}-{worker}", f"compute-{worker}"
    cluster.says("annotate", f"pod/{pod}", f"{CORDON}=true")
    eventually(lambda: reason(cluster, node), lambda text: text == "penstock: its pod is cordoned")
    cluster.says("annotate", f"pod/{pod}", f"{CORDON}-")
    eventually(lambda: idle(cluster), lambda found: node in found)


def see_drain(cluster: Site) -> None:
    """A person's, of the second worker: in Slurm, and on its pod."""
    pod = f"{WORKERS}-1"
    eventually(lambda: reason(cluster, "compute-1"), lambda text: text == "bad disk")
    cluster.until("pods", pod, lambda one: annotated(one).get(SOURCE, "").startswith("slurm: "))
    cluster.until("pods", pod, lambda one: condition(one, "SlurmNodeStateDrain").get("message") == "bad disk")


def killed_operator(cluster: Site) -> None:
    """Kill whoever looks after the cluster, and wait until somebody else does."""
    served = process_of(cluster, "serve")
    kill(served)
    served_again(cluster, served)


def forgets_nothing(cluster: Site) -> Identity:
    """Wait until slurmctld has written down all that is, which it would forget if it was killed before; slurmctld."""
    cluster.slurm("scancel", str(held(cluster)))
    return init(containers(cluster)[SLURMCTLD])


def slurmrestd(cluster: Site) -> str:
    """Its pod and container."""
    return next(one for one in containers(cluster) if one.endswith("/slurmrestd"))


def uids(cluster: Site) -> set[str]:
    """Of workers that nobody has deleted."""
    return {pod["metadata"]["uid"] for pod in workers(cluster) if not pod["metadata"].get("deletionTimestamp")}


def ordinal(pod: Json) -> int:
    """The number of a worker."""
    return int(pod["metadata"]["name"].rpartition("-")[2])


def moment(text: str) -> float:
    """A time as Kubernetes writes it, in Unix seconds."""
    return datetime.fromisoformat(text).timestamp()


def edit(cluster: Site) -> None:
    """Give the workers another template."""
    annotations = {"penstock.example/test": str(time.time_ns())}
    patch = {"spec": {"template": {"metadata": {"annotations": annotations}}}}
    cluster.says("patch", "nodeset", WORKERS, "--type=merge", "-p", msgspec.json.encode(patch).decode())


def updated(cluster: Site, count: int) -> None:
    """Wait until so many workers are of the newest template, and ready."""
    cluster.until("nodesets", WORKERS, lambda one: is_ready(one) and one["status"].get("updatedReplicas") == count)


def draining(cluster: Site) -> set[str]:
    """Nodes that take no jobs and have some."""
    said = cluster.slurm("sinfo", "--noheader", "--Node", "--format=%N %T").splitlines()
    return {line.split()[0] for line in said if line.split()[1] == "draining"}


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
