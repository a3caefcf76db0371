"""Workers come and go; their claims stay or go as the NodeSet says."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from penstock.api.objects import Json

from .jobs import idle
from .site import NAMESPACE, WORKERS, Site, eventually, is_ready


def test_scale_out_and_in(cluster: Site) -> None:
    """2 -> 5 -> 1: idle workers go, the highest first; those that stay are not touched (NS-2)."""
    before = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in workers(cluster)}
    scale(cluster, WORKERS, 5)
    eventually(lambda: idle(cluster), lambda found: found >= {f"compute-{number}" for number in range(5)})
    said = cluster.slurm("srun", "--nodes=5", "--ntasks-per-node=1", "hostname")
    assert sorted(said.split()) == [f"compute-{number}" for number in range(5)]
    scale(cluster, WORKERS, 1)
    cluster.says("wait", "--for=delete", *(f"pod/{WORKERS}-{number}" for number in range(1, 5)), "--timeout=60s")
    assert {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in workers(cluster)} == {
        f"{WORKERS}-0": before[f"{WORKERS}-0"]
    }
    assert idle(cluster) == {"compute-0"}


@dataclass(frozen=True)
class Case:
    """What a NodeSet says of the claims of workers that leave."""

    deleted: str
    scaled: str

    @property
    def name(self) -> str:
        """Of the NodeSet."""
        return f"{self.deleted}-{self.scaled}".lower()

    def keeps(self, number: int) -> bool:
        """Whether the claim of a worker outlives it: 1 leaves by scale-in, 0 with the NodeSet."""
        return (self.scaled if number else self.deleted) == "Retain"


@pytest.mark.parametrize("scaled", ["Retain", "Delete"])
def test_claims_are_kept_and_removed_as_nodesets_say(cluster: Site, scaled: str) -> None:
    """One worker leaves by scale-in, the other one with its NodeSet (ST-1, ST-3)."""
    cases = [Case("Retain", scaled), Case("Delete", scaled)]
    cluster.apply(*(node_set(cluster, case) for case in cases))
    for case in cases:
        cluster.until("nodesets", case.name, is_ready)
        for number in range(2):
            cluster.inside(f"{case.name}-{number}", "sh", "-c", "hostname > /scratch/owner")
    cluster.says("scale", "--replicas=1", *(f"nodeset/{case.name}" for case in cases))
    for case in cases:
        cluster.until("pods", f"{case.name}-1", lambda pod: not pod)
        see_claim(cluster, case, leaving=1)
    cluster.says("delete", "nodeset", *(case.name for case in cases), "--timeout=60s")
    for case in cases:
        cluster.until("pods", f"{case.name}-0", lambda pod: not pod)
        see_claim(cluster, case, leaving=0)


def test_a_worker_that_comes_back_finds_its_claim(cluster: Site) -> None:
    """Scaled in and out again, the same name has the same data (ST-1)."""
    case = Case("Delete", "Retain")
    cluster.apply(node_set(cluster, case))
    cluster.until("nodesets", case.name, is_ready)
    cluster.inside(f"{case.name}-1", "sh", "-c", "hostname > /scratch/owner")
    first = cluster.get("pods", f"{case.name}-1")["metadata"]["uid"]
    cluster.says("scale", "--replicas=1", f"nodeset/{case.name}")
    cluster.until("pods", f"{case.name}-1", lambda pod: not pod)
    scale(cluster, case.name, 2)
    assert cluster.get("pods", f"{case.name}-1")["metadata"]["uid"] != first
    assert cluster.inside(f"{case.name}-1", "cat", "/scratch/owner") == f"{case.name}-1\n"
    cluster.says("delete", "nodeset", case.name, "--timeout=60s")
    for number in range(2):
        cluster.until("pvc", f"scratch-{case.name}-{number}", lambda claim: not claim)


def see_claim(cluster: Site, case: Case, *, leaving: int) -> None:
    """The claim of a worker that left is there, or gone with all that was in it; one that is kept goes by hand."""
    name, owner = f"scratch-{case.name}-{leaving}", f"{case.name}-{leaving}\n"
    if case.keeps(leaving):
        assert cluster.get("pvc", name)["status"]["phase"] == "Bound"
        assert owner in written(cluster)
        cluster.says("delete", "pvc", name)
    cluster.until("pvc", name, lambda claim: not claim)
    eventually(lambda: written(cluster), lambda owners: owner not in owners)


def written(cluster: Site) -> list[str]:
    """What workers wrote into claims, as it is on this machine's disk. One may go while we look."""
    found = []
    for directory, _, names in os.walk(cluster.layout.claims):
        with suppress(FileNotFoundError):
            found += [Path(directory, "owner").read_text()] if "owner" in names else []
    return found


def node_set(cluster: Site, case: Case) -> Json:
    """Workers with a claim each."""
    slurmd = cluster.get("nodesets", WORKERS)["spec"]["slurmd"]
    claim = {
        "metadata": {"name": "scratch"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}},
    }
    return {
        "apiVersion": "slinky.slurm.net/v1beta1",
        "kind": "NodeSet",
        "metadata": {"name": case.name, "namespace": NAMESPACE},
        "spec": {
            "controllerRef": {"name": "slurm"},
            "replicas": 2,
            "oversubscribeNode": True,
            "slurmd": slurmd | {"volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}]},
            "partition": {"enabled": False},
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": case.deleted, "whenScaled": case.scaled},
            "volumeClaimTemplates": [claim],
        },
    }


def scale(cluster: Site, name: str, replicas: int) -> None:
    """Change a NodeSet's size and wait until it has it."""
    cluster.says("scale", f"nodeset/{name}", f"--replicas={replicas}")
    done = f"--for=jsonpath={{.status.readyReplicas}}={replicas}"
    cluster.says("wait", f"nodeset/{name}", done, "--timeout=60s")


def workers(cluster: Site) -> list[Json]:
    """The pods of the default NodeSet."""
    return cluster.all("pods", f"app.kubernetes.io/instance={WORKERS}")
