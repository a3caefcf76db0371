"""The API server itself is restarted, and the operator is not: it finds back by itself and goes on with its work.

`test_operator_faults` plays such an absence; here the real server goes, with its connections, its watches and all that
it remembered of the past. The control plane is one of its own: nobody else shall notice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from .api_server import without_api_server
from .conftest import install_crds
from .control_plane import started
from .kubelet import playing_kubelet
from .operator_process import OperatorProcess, operating
from .operator_stories import CONTROLLER, KEYS, cpu
from .operator_world import OWNED, World

Uids = dict[tuple[str, str], str]
"""Who is who, by resource and name."""
MANY = 100
"""Workers: enough for the API server to die while they are made."""


@dataclass(frozen=True, slots=True)
class Site:
    """A control plane, and an operator that leads there."""

    world: World
    operator: OperatorProcess

    def uids(self) -> Uids:
        """Everything that the operator made, or had made."""
        return {
            (resource, name): item["metadata"]["uid"]
            for resource in OWNED
            for name, item in self.world.objects(resource).items()
        }

    def workers(self) -> dict[str, str]:
        """The uids of the workers."""
        return {name: uid for (resource, name), uid in self.uids().items() if resource == "pods" and "cpu-" in name}

    def lease(self) -> tuple[str, int]:
        """Who leads, and how many did before."""
        spec = self.world.reads("leases", "penstock-operator")["spec"]
        return spec["holderIdentity"], spec["leaseTransitions"]

    def grows(self, wanted: int) -> None:
        """Ask for more workers, and wait until they are ready."""
        self.world.says("scale", "nss/cpu", f"--replicas={wanted}")
        self.world.waits(f"jsonpath={{.status.readyReplicas}}={wanted}", "nss/cpu")

    def loses_its_service(self) -> None:
        """Delete an object of the operator's, and wait until it is there again."""
        before = self.world.reads("services", "slurm-controller")["metadata"]["uid"]
        self.world.says("delete", "service/slurm-controller")
        self.world.until(
            "services", lambda found: found.get("slurm-controller", {}).get("metadata", {}).get("uid", before) != before
        )

    def is_misconfigured(self) -> None:
        """Spoil an object of the operator's, and wait until it is as it was."""
        good = self.world.reads("configmaps", "slurm-config")["data"]["slurm.conf"]
        self.world.patches("configmap/slurm-config", {"data": {"slurm.conf": "ClusterName=stolen\n"}})
        self.world.until("configmaps", lambda found: found["slurm-config"]["data"]["slurm.conf"] == good)

    def is_as_before(self, lease: tuple[str, int]) -> None:
        """See that the same operator leads, is well, and has deleted nothing."""
        self.operator.until(lambda one: one.get("/readyz")[0] == 200 and one.leads)
        assert self.lease() == lease
        assert not [call for call in self.operator.writes() if call[0] == "delete"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Have two workers, ready, on a control plane that may be disturbed."""
    directory = tmp_path_factory.mktemp("api-server")
    ours = ("--namespaces", "default", "--leader-elect", "--leader-elect-namespace", "default")
    with started(directory / "instance") as plane, playing_kubelet(plane):
        install_crds(plane)
        with operating(plane.kubeconfig, directory, *ours) as operator:
            world = World(plane, "default")
            world.applies(KEYS, CONTROLLER, cpu(2))
            world.waits("condition=Ready", "controller/slurm", "nodeset/cpu")
            yield Site(world, operator)


def test_an_operator_outlives_the_api_server(site: Site) -> None:
    """Drift that comes right after its return is repaired, nothing went or was made twice, the leader is the same."""
    before, lease, workers = site.uids(), site.lease(), len(site.workers())
    said = len(site.operator.words)
    with without_api_server(site.world.plane):
        site.operator.until(lambda one: "Cannot connect" in one.words[said:])
    site.loses_its_service()
    site.is_misconfigured()
    site.grows(workers + 2)
    after = site.uids()
    assert after.keys() == before.keys() | {("pods", f"cpu-{number}") for number in range(workers, workers + 2)}
    assert {place for place in before if after[place] != before[place]} == {("services", "slurm-controller")}
    site.is_as_before(lease)


def test_workers_that_were_being_made_when_the_api_server_died_are_made_once(site: Site) -> None:
    """Nobody knows of the last ones whether they exist."""
    before, lease, wanted = site.workers(), site.lease(), len(site.workers()) + MANY
    site.world.says("scale", "nss/cpu", f"--replicas={wanted}")
    seen = site.world.until("pods", lambda pods: len(pods) > len(before) + 5)
    with without_api_server(site.world.plane):
        site.operator.until(lambda one: one.calls()["create", "pods", "Unreachable"])
    site.world.waits(f"jsonpath={{.status.readyReplicas}}={wanted}", "nss/cpu")
    after = site.workers()
    assert after.keys() == {f"cpu-{number}" for number in range(wanted)}
    assert before.items() <= after.items()
    assert {name: pod["metadata"]["uid"] for name, pod in seen.items() if name in after}.items() <= after.items()
    site.is_as_before(lease)
