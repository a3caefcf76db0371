"""`penstock plan`: what the operator would do next, from what the cluster and Slurm say at this moment."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from tests.kube.control_plane import ROOT

from penstock.api.objects import Json
from penstock.cluster.errors import Forbidden
from penstock.cluster.streams import SocketWire, Wire
from penstock.render import labels

from .world import World, thing

GROUP = "slinky.slurm.net/v1beta1"
KEYS = {"slurmKeyRef": {"name": "keys", "key": "slurm.key"}, "jwtKeyRef": {"name": "keys", "key": "jwt.key"}}


@pytest.fixture(scope="module")
def slurmrestd() -> Iterator[int]:
    """A slurmrestd with three idle nodes; its port."""
    command = [sys.executable, "-m", "tests.played.slurmrestd", "--nodes", "compute-[0-2]"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as program:  # noqa: S603 - ours
        assert program.stdout is not None
        yield urlsplit(program.stdout.readline().strip()).port or 0
        program.terminate()
        program.communicate()


def cluster_of(world: World, *, replicas: int, port: int = 6820) -> None:
    """A cluster with a slurmrestd and three workers."""
    world.put(
        thing("v1", "Secret", "keys", data=dict.fromkeys(("slurm.key", "jwt.key"), "YWJjZGVm" * 8)),
        thing(GROUP, "Controller", "slurm", spec=KEYS),
        thing(GROUP, "RestApi", "rest", spec={"controllerRef": {"name": "slurm"}}),
        thing(GROUP, "NodeSet", "compute", spec={"controllerRef": {"name": "slurm"}, "replicas": replicas}),
    )
    chosen = {"app": "rest"}
    container = {"name": "slurmrestd", "image": "x", "ports": [{"name": "slurmrestd", "containerPort": port}]}
    template = {"metadata": {"labels": chosen}, "spec": {"containers": [container]}}
    deployed = {"selector": {"matchLabels": chosen}, "template": template}
    world.put(
        thing(
            "apps/v1", "Deployment", "rest", spec=deployed, ownerReferences=owned(world, "restapi", "RestApi", "rest")
        ),
        thing("v1", "Pod", "rest-0", labels=chosen, spec={"containers": [container]}),
    )
    for number in range(3):
        world.put(worker(world, number))


def worker(world: World, number: int) -> Json:
    """A worker that is ready."""
    place = {labels.CLUSTER: "slurm", labels.POD_INDEX: str(number), labels.MANAGED_BY: "penstock"}
    mine = {labels.NAME: "slurmd", labels.INSTANCE: "compute", **place}
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-16T08:00:00Z"}
    return thing(
        "v1", "Pod", f"compute-{number}", labels=mine, ownerReferences=owned(world, "nss", "NodeSet", "compute"),
        spec={"nodeName": "m", "containers": [{"name": "slurmd", "image": "x"}]},
        status={"phase": "Running", "conditions": [ready]},
    )  # fmt: skip


def owned(world: World, word: str, kind: str, name: str) -> list[Json]:
    """A reference to an owner that is there."""
    uid = world.have(word, name)["metadata"]["uid"]
    return [{"apiVersion": GROUP, "kind": kind, "name": name, "uid": uid, "controller": True}]


def reaching(world: World, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ports of pods lead to this machine; the pods that were reached."""
    reached: list[str] = []

    async def forward(name: str, *, namespace: str, port: int) -> Wire:
        reached.append(f"{namespace}/{name}")
        return SocketWire(*await asyncio.open_connection("127.0.0.1", port))

    monkeypatch.setattr(world.cluster, "forward", forward)
    return reached


def test_a_plan_is_told_in_words(world: World, slurmrestd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slurm is asked through the cluster, so it works from wherever objects can be read."""
    cluster_of(world, replicas=2, port=slurmrestd)
    reached = reaching(world, monkeypatch)
    before = everything(world)
    said = world.says("plan", "nodeset/compute")
    assert said.splitlines()[0].startswith(
        "nodeset.slinky.slurm.net/compute: 2 workers are wanted, 3 are there, 3 are ready; the newest template is "
    )
    assert "let no more jobs come to compute-2" in said
    assert {*reached} == {"slurm/rest-0"}
    assert everything(world) == before, "nothing is done"


def test_programs_get_the_steps(world: World, slurmrestd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster_of(world, replicas=5, port=slurmrestd)
    reaching(world, monkeypatch)
    told = json.loads(world.says("plan", "nss/compute", "-o", "json"))
    assert told["workers"] == {"wanted": 5, "there": 3, "ready": 3, "old": 0}
    assert told["slurm"] == {"answers": True, "trouble": None}
    assert {"do": "create", "about": ["compute-3", "compute-4"], "why": "5 workers are wanted"} in told["steps"]
    assert yaml.safe_load(world.says("plan", "compute", "-o", "yaml")) == told


def test_while_slurm_does_not_answer_nobody_goes_and_it_says_why(world: World) -> None:
    cluster_of(world, replicas=2)
    said = world.says("plan", "nodeset/compute")
    assert "Slurm does not answer: slurmrestd at http://rest:6820: port 6820 of pods slurm/rest-0" in said
    assert "wait for worker compute-2: 2 workers are wanted; Slurm does not say whether it is idle" in said


def test_a_node_set_without_its_controller_waits_for_it(world: World) -> None:
    world.put(thing(GROUP, "NodeSet", "compute", spec={"controllerRef": {"name": "slurm"}}))
    said = world.says("plan", "nodeset/compute")
    assert 'names Controller "slurm", which does not exist' in said
    assert said.endswith("nothing is to be done\n")


def test_what_may_not_be_read_is_named(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan made from half of what the operator knows would be another one."""
    cluster_of(world, replicas=2)
    real = world.cluster.list

    async def guarded(resource: Any, *rest: Any, **options: Any) -> Any:
        if resource.plural == "secrets":
            raise Forbidden("you may not")
        return await real(resource, *rest, **options)

    monkeypatch.setattr(world.cluster, "list", guarded)
    said = world.run("plan", "nodeset/compute", "--timeout=200ms")
    assert said.code == 1
    assert "nothing was heard of secrets within 0.2 s" in said.err


def test_only_node_sets_have_plans(world: World) -> None:
    cluster_of(world, replicas=2)
    said = world.run("plan", "controller/slurm")
    assert said.code == 2
    assert "plans are made for NodeSets, not for controllers" in said.err
    assert "not found" in world.run("plan", "nss/nobody").err
    assert world.run("plan", "nss/compute", "-o", "name").code == 2


def everything(world: World) -> list[Json]:
    """All that there is."""
    kinds = ("nss", "pods", "controllers", "cm", "svc", "controllerrevisions", "events")
    return [world.have(kind, name) for kind in kinds for name in world.names(kind)]
