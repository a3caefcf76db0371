"""Where an operator is measured: a control plane of its own, fake nodes, the kinds, one Slurm cluster of no workers.

All of it goes with the block, whatever happens inside: processes by their own numbers, nothing by name.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from operators.report import say
from penstock.api.kinds import API_VERSION
from penstock.api.objects import Json
from penstock.api.validation import decode
from penstock.cluster.errors import NotFound
from penstock.cluster.kube import KubeCluster, Limits, find
from penstock.cluster.resources import Lean, Resource
from penstock.render import worker, workers
from penstock.render.inventory import Inventory, References
from penstock.render.names import Domain
from penstock.render.seat import seat

ROOT = Path(__file__).resolve().parents[2]
NODE_SET, PREFIX = "slurm-worker-compute", "compute-"
_TOOL = (sys.executable, str(ROOT / "tools/kube"))
_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount", Lean)
_NAMESPACES = Resource("", "v1", "namespaces", "Namespace", Lean, namespaced=False)
_PLACES = {
    "Secret": Resource("", "v1", "secrets", "Secret", Lean),
    "Controller": Resource("slinky.slurm.net", "v1beta1", "controllers", "Controller", Lean),
    "RestApi": Resource("slinky.slurm.net", "v1beta1", "restapis", "RestApi", Lean),
    "Service": Resource("", "v1", "services", "Service", Lean),
    "PodDisruptionBudget": Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", Lean),
    "NodeSet": Resource("slinky.slurm.net", "v1beta1", "nodesets", "NodeSet", Lean),
}
_KEYS = {
    "slurmKeyRef": {"name": "slurm-auth-slurm", "key": "slurm.key"},
    "jwtKeyRef": {"name": "slurm-auth-jwt", "key": "jwt.key"},
}


@dataclass(frozen=True, slots=True)
class World:
    """A control plane, and our own client for it."""

    kubeconfig: Path
    directory: Path
    cluster: KubeCluster

    def kubectl(self, *arguments: str) -> str:
        """Run kubectl, which must succeed."""
        programs = _run(*_TOOL, "path").splitlines()[-1]
        env = {"KUBECONFIG": str(self.kubeconfig), "HOME": str(self.directory)}
        return _run(f"{programs}/kubectl", *arguments, env=env)

    async def add_namespace(self, name: str) -> None:
        """Make a namespace in which pods can be made: one with an account."""
        await self.cluster.create(_NAMESPACES, {"metadata": {"name": name}})
        while True:
            try:
                await self.cluster.get(_ACCOUNTS, "default", name)
            except NotFound:
                await asyncio.sleep(0.05)
            else:
                return

    async def add_service(self, namespace: str) -> None:
        """Make what stands beside workers, without any operator."""
        for body in beside_pods(namespace):
            await self.cluster.create(_PLACES[body["kind"]], body)

    async def add_slurm(self, namespace: str) -> None:
        """Make a Slurm cluster that has no workers yet."""
        await self.add_namespace(namespace)
        for body in manifests(namespace):
            await self.cluster.create(_PLACES[body["kind"]], body)


def manifests(namespace: str) -> list[Json]:
    """A Slurm cluster: keys, slurmctld, slurmrestd, and a NodeSet of 0."""
    reference = {"controllerRef": {"name": "slurm"}}
    node_set = {
        **reference,
        "replicas": 0,
        "template": {"spec": {"hostname": PREFIX}},
        "slurmd": {"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}},
        "partition": {"enabled": True, "config": "Default=YES MaxTime=UNLIMITED"},
        "oversubscribeNode": True,
    }
    return [
        _object("Secret", "slurm-auth-slurm", namespace, version="v1", stringData={"slurm.key": os.urandom(32).hex()}),
        _object("Secret", "slurm-auth-jwt", namespace, version="v1", stringData={"jwt.key": os.urandom(32).hex()}),
        _object("Controller", "slurm", namespace, spec={**_KEYS, "persistence": {"enabled": False}}),
        _object("RestApi", "slurm", namespace, spec=reference),
        _object("NodeSet", NODE_SET, namespace, spec=node_set),
    ]


def bare_pods(namespace: str, count: int) -> list[Json]:
    """The pods that Penstock would make for that NodeSet, owned by nobody."""
    kinds = [decode(body) for body in manifests(namespace) if body["kind"] != "Secret"]
    inventory = Inventory.of(kinds, references=References(), domain=Domain())
    node_set = inventory.node_sets[0]
    cluster = inventory.cluster(inventory.controllers[0])
    pods = [worker.pod(cluster, node_set, seat(node_set, ordinal)) for ordinal in range(count)]
    for pod in pods:
        pod["metadata"].pop("ownerReferences", None)
    return pods


def beside_pods(namespace: str) -> list[Json]:
    """What Penstock, and Slinky, make beside all workers of a cluster: their headless Service and their budget."""
    kinds = [decode(body) for body in manifests(namespace) if body["kind"] != "Secret"]
    inventory = Inventory.of(kinds, references=References(), domain=Domain())
    return workers.manifests(inventory.cluster(inventory.controllers[0]))


def _object(kind: str, name: str, namespace: str, *, version: str = API_VERSION, **fields: object) -> Json:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": namespace}, **fields}


@asynccontextmanager
async def world(machines: int, connections: int) -> AsyncIterator[World]:
    """Start everything; end everything."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as name:
        directory = Path(name)
        with _control_plane(directory / "instance") as kubeconfig, _fake_nodes(kubeconfig, machines, directory):
            limits = Limits(requests_at_once=connections)
            async with KubeCluster(find(kubeconfig), limits) as cluster:
                made = World(kubeconfig, directory, cluster)
                made.kubectl("apply", "--server-side", "-f", str(ROOT / "charts/slurm-operator/crds"))
                made.kubectl("wait", "--for=condition=Established", "--timeout=30s", "crd", "--all")
                yield made


@contextmanager
def _control_plane(directory: Path) -> Iterator[Path]:
    say("starting a control plane")
    try:
        said = _run(*_TOOL, "up", "--control-plane", "--directory", str(directory))
        yield Path(said.splitlines()[-1].removeprefix("KUBECONFIG="))
    finally:
        say("ending the control plane")
        _run(*_TOOL, "down", "--directory", str(directory))


@contextmanager
def _fake_nodes(kubeconfig: Path, count: int, directory: Path) -> Iterator[None]:
    command = [*_TOOL, "fake-nodes", "--count", str(count), "--kubeconfig", str(kubeconfig)]
    with program(command, directory / "fake-nodes.log") as (_, said):
        say(said)
        yield


@contextmanager
def played_slurm(nodes: int, directory: Path) -> Iterator[str]:
    """A played slurmrestd that knows so many idle nodes; gives its URL."""
    names = f"{PREFIX}[0-{nodes - 1}]"
    command = [sys.executable, "-m", "tests.played.slurmrestd", "--nodes", names]
    with program(command, directory / "slurmrestd.log") as (_, url):
        say(f"a slurmrestd with {nodes} nodes is played at {url}")
        yield url


@contextmanager
def program(command: Sequence[str], log: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A program that says one line when it is ready; ^C does not reach it, the end of the block does."""
    with (
        log.open("w") as errors,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=ROOT, start_new_session=True
        ) as running,
    ):
        try:
            line = running.stdout.readline().strip() if running.stdout else ""
            if not line:
                raise RuntimeError(f"{' '.join(command)} said nothing: {log.read_text()[-2000:]}")
            yield running, line
        finally:
            running.terminate()


def _run(*command: str, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, start_new_session=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stdout[-1000:]}{done.stderr[-2000:]}")
    return done.stdout
