"""A daemon dies right after the start of a job, or right before it has saved a job's end: Slurm counts what is over.

The operator is whole, over a store in place of Kubernetes, and Slurm is real, of both releases. What Slurm itself would
do within half an hour, for it asks for jobs that seldom, happens as soon as its doubt has run out.
"""

import asyncio
import base64
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from penstock.cluster.store import Store
from penstock.operator.resources import PODS
from penstock.operator.runtime import Operator, Settings
from penstock.render import labels
from tests.simulation.manifests import JWT_KEY, NAMESPACE, NODE_SET, RESOURCES, sample

from .crashing import CrashingCluster, crashing_cluster, until
from .guarded import STATE
from .mini_cluster import worker
from .slurm_parser import SlurmParser

DOUBT = "BatchStartTimeout=1\nMessageTimeout=2\n"
"""In place of 20 seconds: the rule is the same."""
PATIENCE = 30.0


@pytest.fixture
def cluster(slurm: SlurmParser) -> Iterator[CrashingCluster]:
    with crashing_cluster(slurm.root, nodes=2, conf=DOUBT) as running:
        yield running


@asynccontextmanager
async def operated(cluster: CrashingCluster) -> AsyncIterator[Store]:
    """An operator that looks after this Slurm, whose nodes are w1 and w2; the store in which pods are told to it."""
    store = Store()
    for body in _objects(cluster):
        await store.apply(RESOURCES[body["kind"]], body, manager="test")
    operator = Operator(store, Settings(), locate=lambda _: f"unix://{cluster.mini.socket}")
    running = asyncio.create_task(operator.run())
    try:
        yield store
    finally:
        operator.stop()
        await running
        await store.close()


def _objects(cluster: CrashingCluster) -> Iterator[dict[str, Any]]:
    for body in sample():
        if body["kind"] == "Controller":
            body["spec"]["extraConf"] = DOUBT
        if body["kind"] == "NodeSet":
            body["spec"] |= {"replicas": 3, "template": {"spec": {"hostname": "w"}}}
        yield body
    key = {"jwt.key": base64.b64encode(cluster.mini.jwt_key).decode()}
    yield {"apiVersion": "v1", "kind": "Secret", "metadata": _about(JWT_KEY), "data": key}
    about = _about("slurm-controller-0", {labels.NAME: "slurmctld", labels.INSTANCE: "slurm"})
    yield {"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": {"containers": []}}


def _about(name: str, its: dict[str, str] | None = None) -> dict[str, Any]:
    return {"name": name, "namespace": NAMESPACE, "labels": its or {}}


async def died(store: Store, pod: str, container: str) -> None:
    """Tell that the container of a pod has been started again, once there is such a pod."""
    status = {"containerStatuses": [{"name": container, "restartCount": 1}]}
    async with asyncio.timeout(PATIENCE):
        while pod not in {one.metadata.name for one in (await store.list(PODS)).items}:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    await store.patch(PODS, pod, {"status": status}, namespace=NAMESPACE, subresource="status", manager="kubelet")


def begin(cluster: CrashingCluster, node: str, seconds: int) -> int:
    """Start a job that sleeps for so long; its number."""
    number = cluster.submit("--no-requeue", "--mem=1", "-w", node, script=f"exec sleep {seconds}")
    until(lambda: sleeping(cluster, seconds), "the job runs")
    return number


def sleeping(cluster: CrashingCluster, seconds: int) -> list[str]:
    """The process of a job."""
    return cluster.slurm("pgrep", "-xf", f"sleep {seconds}").split()


def state(cluster: CrashingCluster, number: int) -> str:
    """What Slurm says of a job."""
    said = cluster.slurm("scontrol", "-o", "show", "job", str(number))
    return dict(word.split("=", 1) for word in said.split() if "=" in word)["JobState"]


async def ends(cluster: CrashingCluster, number: int) -> str:
    """Wait for the end of a job; how Slurm calls it."""
    async with asyncio.timeout(PATIENCE):
        while (found := await asyncio.to_thread(state, cluster, number)) in {"RUNNING", "COMPLETING"}:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    return found


def test_a_job_that_died_with_its_slurmd_is_over_for_slurm_and_the_others_run_on(cluster: CrashingCluster) -> None:
    lost, elsewhere = begin(cluster, "w1", 611), begin(cluster, "w2", 612)
    slurmd = cluster.slurm("pgrep", "-f", "slurmd .*-N w1 ").split()
    steps = cluster.slurm("pgrep", "-f", rf"slurmstepd: \[{lost}\.").split()
    cluster.root("kill", "-KILL", *slurmd, *steps, *sleeping(cluster, 611))
    again = worker("w1", 7000)["command"]
    cluster.root("setsid", "--fork", "sh", "-c", 'exec "$@" >/dev/null 2>&1 </dev/null', "sh", *again)
    later = begin(cluster, "w1", 613)

    async def healed() -> str:
        async with operated(cluster) as store:
            assert state(cluster, lost) == "RUNNING"
            await died(store, f"{NODE_SET}-1", "slurmd")
            return await ends(cluster, lost)

    assert asyncio.run(healed()) == "NODE_FAIL"
    assert [state(cluster, number) for number in (elsewhere, later)] == ["RUNNING", "RUNNING"]
    until(lambda: cluster.nodes() == {"w1=mix", "w2=mix"}, "both nodes respond")


def test_a_job_whose_end_slurmctld_had_not_saved_is_over_for_it_and_the_others_run_on(cluster: CrashingCluster) -> None:
    lost, elsewhere = begin(cluster, "w1", 611), begin(cluster, "w2", 612)
    cluster.save()
    cluster.root("chown", "root:root", STATE)
    cluster.root("kill", *sleeping(cluster, 611))
    until(lambda: state(cluster, lost) != "RUNNING", "it is over")
    cluster.crash()
    until(lambda: state(cluster, lost) == "RUNNING", "its end is forgotten")

    async def healed() -> str:
        async with operated(cluster) as store:
            await died(store, "slurm-controller-0", "slurmctld")
            return await ends(cluster, lost)

    assert asyncio.run(healed()) == "NODE_FAIL"
    assert state(cluster, elsewhere) == "RUNNING"
