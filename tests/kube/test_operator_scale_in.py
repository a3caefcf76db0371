"""Workers go when Slurm says that they may: the real operator and API server, a played slurmrestd (NS-2, NS-3)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from penstock.slurm import hostlist
from tests.played.slurmrestd import Fault, Slurmrestd, playing

from .control_plane import ControlPlane
from .operator_process import operating
from .operator_stage import Stage, stage
from .operator_stories import CONTROLLER, KEY, KEYS, Place, Told, cpu, telling
from .operator_world import Json, Objects, World, conditions
from .specs import an_object

pytestmark = pytest.mark.usefixtures("fake_nodes")
POOL = "example.org/pool"
EDGE = {"scalingMode": "DaemonSet", "oversubscribeNode": True, "template": {"spec": {"nodeSelector": {POOL: "edge"}}}}
SLURMCTLD = "slurm-controller"
SOON = 10
"""Seconds, on a machine with other work."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A namespace with an operator of its own, and the Slurm that it asks."""

    world: World
    stage: Stage
    slurm: Slurmrestd

    def registers(self, *nodes: str) -> None:
        """Let slurmds report to Slurm."""
        self.stage.call(lambda: self.slurm.model.add(nodes))

    def starts(self, job: int, *nodes: str) -> None:
        """Run a job."""
        self.stage.call(lambda: self.slurm.model.start_job(job, *nodes))

    def ends(self, job: int) -> None:
        """End a job."""
        self.stage.call(lambda: self.slurm.model.end_job(job))

    def is_drained(self, node: str) -> bool:
        """Whether Slurm gives no more jobs to a node."""
        return self.stage.call(lambda: "DRAIN" in self.slurm.model.nodes[node].state)

    def asked(self, times: int) -> None:
        """Wait until the operator has asked so many times more."""
        before = self.stage.call(lambda: len(self.slurm.asked))
        self.stage.wait(self.slurm.until(lambda one: len(one.asked) >= before + times, seconds=30))


@contextmanager
def slurm_of(place: Place) -> Iterator[Cluster]:
    """Run an operator that asks a slurmrestd which wants the right key."""
    world = place.world
    with stage() as here:
        slurm = here.enter(playing(key=KEY.encode()))
        options = ("--namespaces", world.namespace, "--slurmrestd", slurm.url)
        with operating(world.plane.kubeconfig, place.directory, *options):
            world.applies(KEYS, CONTROLLER, an_object("RestApi", "slurm"))
            yield Cluster(world, here, slurm)


def workers(pods: Objects) -> set[str]:
    """Those that nobody has told to go."""
    ours = {name: pod for name, pod in pods.items() if pod["metadata"]["labels"]["app.kubernetes.io/name"] == "slurmd"}
    return {name for name, pod in ours.items() if "deletionTimestamp" not in pod["metadata"]}


@contextmanager
def with_workers(place: Place, count: int) -> Iterator[Cluster]:
    with slurm_of(place) as cluster:
        place.world.applies(cpu(count))
        place.world.waits("condition=Ready", "nodeset/cpu")
        cluster.registers(*(f"cpu-{number}" for number in range(count)))
        yield cluster


def busy_and_idle_workers(place: Place) -> None:
    with with_workers(place, 4) as cluster:
        world = place.world
        cluster.starts(41, "cpu-1")
        cluster.starts(43, "cpu-3")
        world.says("scale", "nss/cpu", "--replicas=1")
        world.until("pods", lambda pods: workers(pods) == {"cpu-1", "cpu-3"})
        world.until("nodesets", lambda sets: "cpu-3: jobs still run on it" in progress(sets["cpu"]))
        assert cluster.is_drained("cpu-3")
        assert not cluster.is_drained("cpu-1")
        cluster.asked(2)
        assert workers(world.objects("pods")) == {"cpu-1", "cpu-3"}
        cluster.ends(43)
        world.until("pods", lambda pods: workers(pods) == {"cpu-1"})
        world.waits("condition=Progressing=False", "nodeset/cpu")
        assert world.reads("nodesets", "cpu")["status"]["slurmAllocated"] == 1
        told = world.until("events", lambda events: len(removed(events)) == 3)
        assert removed(told) == {"cpu-0", "cpu-2", "cpu-3"}


def progress(node_set: Json) -> str:
    return str(conditions(node_set)["Progressing"]["message"])


def removed(events: Objects) -> set[str]:
    """Workers of which an event tells that they went."""
    told = [one["note"].partition(": ")[0] for one in events.values() if one["reason"] == "WorkersRemoved"]
    return {name for names in told for name in hostlist.expand(names)}


def a_slurm_that_is_away(place: Place) -> None:
    with with_workers(place, 2) as cluster:
        world = place.world
        cluster.stage.call(lambda: cluster.slurm.fail(Fault.AWAY))
        world.says("scale", "nss/cpu", "--replicas=0")
        world.waits("condition=Degraded", "nodeset/cpu")
        assert conditions(world.reads("nodesets", "cpu"))["Degraded"]["reason"] == "SlurmUnknown"
        cluster.asked(1)
        assert workers(world.objects("pods")) == {"cpu-0", "cpu-1"}
        cluster.stage.call(cluster.slurm.heal)
        world.until("pods", lambda pods: not workers(pods))
        world.waits("condition=Degraded=False", "nodeset/cpu")


def a_slurm_that_takes_no_orders(place: Place) -> None:
    with with_workers(place, 2) as cluster:
        world = place.world
        cluster.stage.call(lambda: cluster.slurm.fail(Fault.ERROR, method="POST"))
        world.says("scale", "nss/cpu", "--replicas=0")
        world.waits("condition=Degraded", "nodeset/cpu")
        assert workers(world.objects("pods")) == {"cpu-0", "cpu-1"}
        cluster.stage.call(cluster.slurm.heal)
        cluster.stage.call(lambda: cluster.slurm.fail(Fault.CLOSE, times=1, method="POST"))
        world.until("pods", lambda pods: not workers(pods))


def one_worker_per_machine(place: Place) -> None:
    with slurm_of(place) as cluster:
        world, plane = place.world, place.world.plane
        plane.kubectl_says("label", "nodes", "fake-0", "fake-1", f"{POOL}=edge", "--overwrite")
        world.applies(an_object("NodeSet", "edge", EDGE))
        world.until("pods", lambda pods: machines(pods) == {"fake-0", "fake-1"})
        cluster.registers("fake-0", "fake-1")
        world.waits("condition=Ready", "nodeset/edge")
        plane.kubectl_says("label", "node", "fake-2", f"{POOL}=edge")
        world.until("pods", lambda pods: machines(pods) == {"fake-0", "fake-1", "fake-2"}, seconds=SOON)
        cluster.registers("fake-2")
        plane.kubectl_says("label", "node", "fake-0", f"{POOL}-")
        world.until("pods", lambda pods: machines(pods) == {"fake-1", "fake-2"}, seconds=SOON)
        assert cluster.is_drained("fake-0")
        try:
            arrives(plane, "newcomer")
            world.until("pods", lambda pods: machines(pods) == {"fake-1", "fake-2", "newcomer"}, seconds=SOON)
        finally:
            plane.kubectl_says("delete", "node", "newcomer")


def a_cluster_that_is_deleted(place: Place) -> None:
    with with_workers(place, 2) as cluster:
        before = place.world.reads("statefulsets", SLURMCTLD)["metadata"]["uid"]
        cluster.starts(41, "cpu-0")
        place.world.says("delete", f"secret/{KEYS['metadata']['name']}")
        delete_whole(cluster, "background")
        assert place.world.reads("statefulsets", SLURMCTLD)["metadata"]["uid"] == before
        end_whole(cluster)


def a_cluster_that_is_taken_apart(place: Place) -> None:
    with with_workers(place, 2) as cluster:
        before = place.world.reads("statefulsets", SLURMCTLD)["metadata"]["uid"]
        cluster.starts(41, "cpu-0")
        delete_whole(cluster, "foreground")
        place.world.until("statefulsets", lambda sets: uid(sets.get(SLURMCTLD)) not in {before, None})
        end_whole(cluster)


def delete_whole(cluster: Cluster, cascade: str) -> None:
    """Delete all of a cluster, and see it wait for the job of one worker."""
    world = cluster.world
    world.says("delete", "controller/slurm", "restapi/slurm", f"--cascade={cascade}", "--wait=false")
    world.says("delete", "nss/cpu", "--wait=false")
    world.until("pods", lambda pods: workers(pods) == {"cpu-0"})
    world.until("controllers", lambda found: conditions(found["slurm"])["Progressing"]["reason"] == "NodeSetsLeft")
    cluster.asked(2)
    assert workers(world.objects("pods")) == {"cpu-0"}


def end_whole(cluster: Cluster) -> None:
    """End the job, and see all of it go."""
    cluster.ends(41)
    for kind in ("nodesets", "controllers", "restapis", "statefulsets"):
        cluster.world.until(kind, lambda found: not found)


def uid(item: Json | None) -> str | None:
    return item["metadata"]["uid"] if item else None


def machines(pods: Objects) -> set[str]:
    """Where workers are."""
    return {str(pods[name]["spec"].get("nodeName")) for name in workers(pods)}


def arrives(plane: ControlPlane, name: str) -> None:
    """Register a machine as a kubelet does: it is born with a taint, which goes when it is ready."""
    node: Json = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {POOL: "edge"}}}
    plane.kubectl_says("create", "-f", "-", stdin=json.dumps(node))
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}], "allocatable": {"pods": "10"}}}
    plane.kubectl_says("patch", "node", name, "--subresource=status", "--type=merge", "-p", json.dumps(ready))
    plane.kubectl_says("patch", "node", name, "--type=merge", "-p", '{"spec":{"taints":null}}')


@pytest.fixture(scope="module")
def told(control_plane: ControlPlane, crds: list[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    """Begin all stories."""
    assert crds
    stories = (
        busy_and_idle_workers, a_slurm_that_is_away, a_slurm_that_takes_no_orders, one_worker_per_machine,
        a_cluster_that_is_deleted, a_cluster_that_is_taken_apart,
    )  # fmt: skip
    with telling(control_plane, tmp_path_factory.mktemp("scale-in"), *stories) as begun:
        yield begun


def test_idle_workers_are_drained_and_go_and_a_busy_one_ends_its_job_first(told: Told) -> None:
    told(busy_and_idle_workers)


def test_nothing_goes_while_slurm_cannot_be_asked(told: Told) -> None:
    told(a_slurm_that_is_away)


def test_nothing_goes_while_slurm_takes_no_orders(told: Told) -> None:
    """A worker that is not drained could get a job at any moment; an order whose answer was lost counts."""
    told(a_slurm_that_takes_no_orders)


def test_one_worker_per_machine_follows_labels_and_machines(told: Told) -> None:
    """DaemonSet mode: a machine's label decides, and a machine that comes gets its worker (NS-1)."""
    told(one_worker_per_machine)


def test_who_deletes_a_whole_cluster_has_its_jobs_waited_for(told: Told) -> None:
    """`kubectl delete -f cluster.yaml`: Slurm stays until it has said that the last worker may go."""
    told(a_cluster_that_is_deleted)


def test_a_cluster_that_is_deleted_in_the_foreground_waits_for_its_jobs_as_well(told: Told) -> None:
    """Kubernetes deletes slurmctld first; who waits for jobs has it again."""
    told(a_cluster_that_is_taken_apart)
