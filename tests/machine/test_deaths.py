"""Whatever is killed comes back, and jobs go on: the processes of the cluster one by one, and all at once."""

from __future__ import annotations

import signal

import pytest

from penstock.api.objects import Json
from penstock.engine import processes
from penstock.engine.processes import Identity
from penstock.engine.record import Record

from .jobs import Patient, accounted, held, idle
from .site import WORKERS, Site, eventually, is_ready
from .traces import containers, process_of

SLURMCTLD = "slurm-controller-0/slurmctld"


def test_slurmctld_is_killed_and_running_jobs_go_on(cluster: Site) -> None:
    """Its container is started again with its state; workers and jobs do not notice."""
    job, before = Patient(cluster), containers(cluster)
    waiting = held(cluster)
    kill(init(before[SLURMCTLD]))
    again(cluster, "slurm-controller-0", before[SLURMCTLD])
    assert without(containers(cluster), SLURMCTLD) == without(before, SLURMCTLD)
    eventually(lambda: answers(cluster), bool)
    assert job.state() == "RUNNING"
    job.end()
    cluster.slurm("scontrol", "release", str(waiting))
    assert accounted(cluster, waiting)["state"]["current"] == ["COMPLETED"]


def test_penstock_is_killed_and_nobody_notices(cluster: Site) -> None:
    """The supervisor starts it again; it finds every container as it was, and every job runs on (ONE-2)."""
    job, before = Patient(cluster), containers(cluster)
    served, supervised = process_of(cluster, "serve"), process_of(cluster, "supervise")
    kill(served)
    served_again(cluster, served)
    for pod in cluster.all("pods"):
        if pod["status"]["phase"] != "Succeeded":  # whoever filled the shared root
            cluster.until("pods", pod["metadata"]["name"], is_ready)
    assert containers(cluster) == before
    assert process_of(cluster, "supervise") == supervised
    cluster.says("slurm", "--", "srun", "--nodelist=compute-1", "true")
    job.end()
    assert containers(cluster) == before


def test_penstock_is_killed_while_a_worker_is_being_made(cluster: Site) -> None:
    """Whoever dies in the middle is followed by somebody who goes on."""
    served = process_of(cluster, "serve")
    cluster.says("scale", f"nodeset/{WORKERS}", "--replicas=4")
    cluster.until("pods", f"{WORKERS}-3", lambda pod: pod.get("spec", {}).get("nodeName"))
    kill(served)
    served_again(cluster, served)
    cluster.says("wait", f"nodeset/{WORKERS}", "--for=jsonpath={.status.readyReplicas}=4", "--timeout=60s")
    assert sorted(cluster.slurm("srun", "--nodes=4", "--ntasks-per-node=1", "hostname").split()) == [
        f"compute-{number}" for number in range(4)
    ]


def test_a_monitor_is_killed_and_its_container_is_started_again(cluster: Site) -> None:
    """Without conmon a container's output goes nowhere, so it is ended and begun anew, alone."""
    before = containers(cluster)
    name = next(one for one in before if one.endswith("/slurmrestd"))
    monitor = before[name].conmon
    assert monitor is not None
    kill(monitor)
    again(cluster, name.partition("/")[0], before[name])
    assert without(containers(cluster), name) == without(before, name)
    assert not processes.is_alive(init(before[name]))


def test_slurmd_is_killed_and_its_node_takes_jobs_again(cluster: Site) -> None:
    """Its container is started again in the same pod; Slurm is not told of a new node."""
    before, name = containers(cluster), f"{WORKERS}-0/slurmd"
    kill(init(before[name]))
    again(cluster, f"{WORKERS}-0", before[name])
    assert without(containers(cluster), name) == without(before, name)
    eventually(lambda: idle(cluster), lambda found: "compute-0" in found)
    assert cluster.slurm("srun", "--nodelist=compute-0", "hostname") == "compute-0\n"


def test_a_job_that_dies_with_its_worker_right_after_its_start_is_over_for_slurm(cluster: Site) -> None:
    """Slurm doubts it for 20 seconds and then asks nobody for half an hour; the operator has it ask."""
    if cluster.suite != "forky":
        pytest.skip("half a minute; Slurm's part in it is shown of both releases in tests/real_slurm/test_doubts.py")
    name = f"{WORKERS}-0/slurmd"
    job, before = Patient(cluster, more=("--no-requeue",)), containers(cluster)[name]
    kill(init(before))
    again(cluster, f"{WORKERS}-0", before)
    assert job.state() == "RUNNING"
    eventually(job.state, lambda state: state == "NODE_FAIL")
    eventually(lambda: idle(cluster), lambda found: "compute-0" in found)


def test_the_supervisor_is_killed_and_up_mends_it(cluster: Site) -> None:
    """Somebody looks after the cluster all the same; `penstock up` gives it a supervisor again."""
    job, before = Patient(cluster, worker=1), containers(cluster)
    supervised, served = process_of(cluster, "supervise"), process_of(cluster, "serve")
    kill(supervised)
    assert processes.is_alive(served)
    cluster.inside(f"{WORKERS}-0", "true")
    job.end()
    cluster.up()
    eventually(lambda: process_of(cluster, "supervise"), processes.is_alive)
    served = process_of(cluster, "serve")
    kill(served)
    served_again(cluster, served)
    assert containers(cluster) == before


def kill(process: Identity | None) -> None:
    """As the kernel does, without a word; one that is gone already is dead enough."""
    assert process is not None
    processes.send(process, signal.SIGKILL)


def init(record: Record) -> Identity:
    """The first process of a container."""
    assert record.init is not None
    return record.init


def again(cluster: Site, pod: str, before: Record) -> None:
    """Wait until the container of a pod runs anew and the pod is ready."""
    name = before.container_id.rpartition("-")[0]

    def is_back(body: Json) -> bool:
        shown = body["status"]["containerStatuses"]
        anew = [one for one in shown if name in one["containerID"] and before.container_id not in one["containerID"]]
        return bool(anew) and is_ready(body)

    cluster.until("pods", pod, is_back)


def served_again(cluster: Site, before: Identity) -> None:
    """Wait until somebody else looks after the cluster, and answers."""
    eventually(lambda: process_of(cluster, "serve"), lambda now: now != before)
    cluster.until("controllers", "slurm", is_ready)


def answers(cluster: Site) -> bool:
    """Whether slurmctld does."""
    return "is UP" in cluster.slurm("bash", "-c", "scontrol ping || true")


def without(these: dict[str, Record], name: str) -> dict[str, Record]:
    """All but one."""
    return {key: one for key, one in these.items() if key != name}
