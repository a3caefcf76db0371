"""The default cluster of `penstock up` on a real API server: the same questions as on one machine, other ways."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec
import yaml

from penstock.api.objects import Json
from penstock.cluster.kube import Connection, find
from penstock.engine import processes
from penstock.machine import manifest
from tests.kube.control_plane import ROOT, ControlPlane, started
from tests.machine.site import IMAGES, NAMESPACE, Said, Site, eventually, is_ready
from tests.machine.traces import containers

from .node import layout_in

VOLUMES = 4
"""That claims can have; nobody makes more of them when they are used up."""


class KubeSite(Site):
    """A cluster whose API server is Kubernetes' own, whose pods the engine runs, and whose operator is a process."""

    def __init__(self, directory: Path, plane: ControlPlane, *, suite: str) -> None:
        super().__init__(directory, name="kube", suite=suite)
        self.plane = plane
        self.layout = layout_in(directory, "kube")

    @property
    def environment(self) -> dict[str, str]:
        """Of commands: they find this cluster by its kubeconfig."""
        apart = {"PENSTOCK_CLUSTER"}
        return {name: text for name, text in super().environment.items() if name not in apart} | {
            "KUBECONFIG": str(self.plane.kubeconfig)
        }

    @property
    def connection(self) -> Connection:
        """The way to its API."""
        return find(self.plane.kubeconfig)

    def says(self, *words: str, stdin: str = "", patience: float = 60.0) -> str:
        """Run `penstock` in the cluster's namespace; it must succeed."""
        return super().says(words[0], "--namespace", NAMESPACE, *words[1:], stdin=stdin, patience=patience)

    def up(self, *_: str) -> str:
        """Have every object of the default cluster, and wait until all of them are ready."""
        wishes = manifest.Wishes(images=manifest.usual_images(self.suite))
        self.says("apply", "-f", "-", stdin=yaml.safe_dump_all(manifest.default(wishes)))
        for kind in ("accountings", "controllers", "restapis", "nodesets", "loginsets"):
            for one in self.all(kind):
                self.until(kind, one["metadata"]["name"], is_ready)
        return ""

    def slurm(self, *words: str) -> str:
        """Run a Slurm command on the login node; it must succeed."""
        [pod] = {name.partition("/")[0] for name in containers(self) if name.endswith("/login")}
        return self.inside(pod, *words, container="login")

    def execute(self, pod: str, *words: str, container: str = "") -> Said:
        """Run a command in a container, without its kubelet's help."""
        found = [one for name, one in containers(self).items() if name == f"{pod}/{container or 'slurmd'}"]
        assert found, f"{pod}/{container or 'slurmd'} does not run"
        assert found[0].init is not None
        enter = ["nsenter", f"--target={found[0].init.pid}", "--mount", "--net", "--uts", "--ipc", "--pid", "--"]
        done = subprocess.run([*enter, *words], capture_output=True, text=True, check=False, timeout=60)
        return Said(done.returncode, done.stdout, done.stderr)

    def trouble(self) -> str:
        """The ends of the logs, for whoever reads of a failure."""
        logs = [path for path in (self.directory / "operator.log", self.directory / "node.log") if path.exists()]
        return "".join(f"\n-- {path}\n{path.read_text()[-4000:]}" for path in logs)

    def prepare(self) -> None:
        """Make what a cluster has before somebody makes a Slurm of it: images, kinds, a namespace, keys, volumes."""
        build = self.run(
            "images", "build", *manifest.ROLES, "--suite", self.suite, "--directory", str(IMAGES), patience=1200
        )
        assert build.code == 0, build.err
        self.plane.kubectl_says("apply", "--server-side", "-f", str(ROOT / "charts/slurm-operator/crds"))
        self.plane.kubectl_says("wait", "--for=condition=Established", "--timeout=30s", "crd", "--all")
        self.plane.kubectl_says("create", "namespace", NAMESPACE)
        objects = [*manifest.keys(), *(_volume(number) for number in range(VOLUMES))]
        self.plane.kubectl_says("apply", "-f", "-", stdin=yaml.safe_dump_all(objects))


def _volume(number: int) -> Json:
    spec = {
        "capacity": {"storage": "32Gi"}, "accessModes": ["ReadWriteOnce", "ReadWriteMany"],
        "hostPath": {"path": f"/nowhere/{number}"}, "persistentVolumeReclaimPolicy": "Retain",
    }  # fmt: skip
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"volume-{number}"}, "spec": spec}


@contextmanager
def kube_site(directory: Path, suite: str, port: int) -> Iterator[KubeSite]:
    """Start all of it; in the end nothing is left."""
    with ExitStack() as stack:
        site = KubeSite(directory, stack.enter_context(started(directory / "plane")), suite=suite)
        (directory / "home").mkdir()
        site.prepare()
        stack.enter_context(_node(site, port))
        stack.enter_context(_operator(site, port))
        site.up()
        yield site


@contextmanager
def _node(site: KubeSite, port: int) -> Iterator[None]:
    words = [str(site.plane.kubeconfig), str(site.directory), str(IMAGES), str(port)]
    command = [sys.executable, "-m", "tests.kube_slurm.node", *words]
    with (site.directory / "node.log").open("w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=ROOT, env=_paths())
    with process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "node-0 is ready\n", site.trouble()
            yield
        finally:
            process.terminate()


@contextmanager
def _operator(site: KubeSite, port: int) -> Iterator[None]:
    """`penstock operator`, started again whenever it dies, as its Deployment would have it."""
    over = threading.Event()
    keeper = threading.Thread(target=_keep, args=(site, port, over.is_set), daemon=True)
    keeper.start()
    noted = site.layout.run / "serve.json"
    eventually(noted.exists, bool)
    try:
        yield
    finally:
        over.set()
        processes.send(msgspec.json.decode(noted.read_bytes(), type=processes.Identity), 15)
        keeper.join(20)


def _keep(site: KubeSite, port: int, over: Callable[[], bool]) -> None:
    command = [
        sys.executable, "-m", "penstock", "operator", "--kubeconfig", str(site.plane.kubeconfig),
        "--namespaces", NAMESPACE, "--slurmrestd", f"http://127.0.0.1:{port}", "--leader-elect",
        "--leader-elect-namespace", NAMESPACE, "--lease-duration", "5",
    ]  # fmt: skip
    while not over():
        with (site.directory / "operator.log").open("a") as log:
            process = subprocess.Popen(command, stderr=log, stdout=log, cwd=ROOT)
        site.layout.run.mkdir(parents=True, exist_ok=True)
        noted = site.layout.run / "serve.json"
        noted.with_suffix(".new").write_bytes(msgspec.json.encode(processes.identify(process.pid)))
        noted.with_suffix(".new").rename(noted)
        process.wait()


def _paths() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'tools'}"}
