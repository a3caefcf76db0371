"""The real kubectl gets along with one machine: what people know from a cluster works here."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from kube import commands
from penstock.machine.api import write_kubeconfig

from .machine import TOKEN, Machine, run

MANIFEST = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {app: web}}
data: {size: "1"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: main, image: x, env: [{name: SIZE, value: "1"}]}
      - {name: side, image: x}
---
apiVersion: slinky.slurm.net/v1beta1
kind: NodeSet
metadata: {name: compute}
spec: {controllerRef: {name: slurm}, replicas: 2}
"""
EVERYTHING = ("cm/settings", "deploy/web", "nss/compute")


@pytest.fixture(scope="session")
def kubectl() -> Path:
    """Give the program, built from source or found in the cache."""
    return commands.build(["kubectl"]) / "kubectl"


@dataclass(frozen=True)
class Kubectl:
    """kubectl, told where the machine is."""

    program: Path
    config: Path

    async def __call__(self, *arguments: str, stdin: str = "", code: int = 0) -> str:
        """Run it; what it says, all of it."""
        pipe, words = asyncio.subprocess.PIPE, ("--kubeconfig", str(self.config), *arguments)
        environment = {**os.environ, "HOME": str(self.config.parent)}
        process = await asyncio.create_subprocess_exec(
            str(self.program), *words, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.STDOUT, env=environment
        )
        said, _ = await process.communicate(stdin.encode())
        assert process.returncode == code, said.decode()
        return said.decode()


def on(machine: Machine, program: Path, directory: Path) -> Kubectl:
    """The program, for a machine."""
    config, serving = directory / "kubeconfig", machine.serving
    write_kubeconfig(config, serving.address, TOKEN, certificate=serving.certificate, namespace="slurm")
    return Kubectl(program, config)


def test_apply_in_both_ways(kubectl: Path, tmp_path: Path) -> None:
    async def test(machine: Machine) -> None:
        run = on(machine, kubectl, tmp_path)
        assert (await run("apply", "-f", "-", stdin=MANIFEST)).split() == [
            *("configmap/settings", "created", "deployment.apps/web", "created"),
            *("nodeset.slinky.slurm.net/compute", "created"),
        ]
        assert (await run("apply", "-f", "-", stdin=MANIFEST)).count("unchanged") == 3
        changed = (
            MANIFEST.replace('"1"', '"2"').replace("- {name: side, image: x}", "").replace("replicas: 2", "replicas: 3")
        )
        assert '-          value: "1"\n+          value: "2"' in await run("diff", "-f", "-", stdin=changed, code=1)
        assert (await run("apply", "-f", "-", stdin=changed)).count("configured") == 3
        template = "{.spec.replicas} {.spec.template.spec.containers[*].name} {..env[0].value}"
        assert await run("get", "deploy", "web", "-o", f"jsonpath={template}") == "3 main 2"
        served = await run("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=MANIFEST)
        assert served.count("serverside-applied") == 3
        conflict = await run("apply", "--server-side", "--field-manager=other", "-f", "-", stdin=changed, code=1)
        assert "Apply failed with" in conflict

    run(test)


def test_change_and_look(kubectl: Path, tmp_path: Path) -> None:
    async def test(machine: Machine) -> None:
        run = on(machine, kubectl, tmp_path)
        await run("create", "-f", "-", stdin=MANIFEST)
        await run("scale", "nss/compute", "--replicas=5")
        await run("scale", "deploy/web", "--current-replicas=2", "--replicas=0")
        for kind in ("cm/settings", "nss/compute"):
            await run("label", kind, "tier=gold")
            await run("annotate", kind, "why=test")
        await run(
            "patch", "nss", "compute", "--type=json", "-p", '[{"op":"add","path":"/metadata/labels/x","value":"z"}]'
        )
        strategic = '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"new"}]}}}}'
        await run("patch", "deploy", "web", "-p", strategic)
        assert await run("get", "deploy", "web", "-o", "jsonpath={..containers[*].image}") == "x new"
        shown = await run("get", "nss", "compute", "-o", "yaml")
        assert "replicas: 5" in shown
        assert "why: test" in shown
        assert "x: z" in shown
        listed = await run("get", "cm,deploy,nss,po", "-l", "tier=gold", "-o", "name")
        assert listed.split() == ["configmap/settings", "nodeset.slinky.slurm.net/compute"]
        assert 'NodeSet.slinky.slurm.net "compute" is invalid' in await run(
            "patch", "nss", "compute", "--type=merge", "-p", '{"spec":{"replicas":"many"}}', code=1
        )
        assert 'configmaps "none" not found' in await run("get", "cm", "none", code=1)
        assert "How many workers" in await run("explain", "nss.spec.replicas")

    run(test)


def test_wait_and_delete(kubectl: Path, tmp_path: Path) -> None:
    async def test(machine: Machine) -> None:
        run = on(machine, kubectl, tmp_path)
        await run("create", "-f", "-", stdin=MANIFEST)
        condition = (
            '{"type":"Ready","status":"True","reason":"x","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}'
        )
        status = f'{{"status":{{"nodeSetHash":"x","selector":"a=b","conditions":[{condition}]}}}}'
        waiting = asyncio.create_task(run("wait", "nss/compute", "--for=condition=Ready", "--timeout=20s"))
        await run("patch", "nss", "compute", "--subresource=status", "--type=merge", "-p", status)
        assert "condition met" in await waiting
        assert (await run("delete", *EVERYTHING)).count("deleted") == 3
        assert await run("get", *EVERYTHING, "--ignore-not-found") == ""
        going = asyncio.create_task(run("wait", "pod/pod", "--for=delete", "--timeout=20s"))
        await run("delete", "pod", "pod", "--force")
        await going

    run(test)


def test_into_containers(kubectl: Path, tmp_path: Path) -> None:
    async def test(machine: Machine) -> None:
        run = on(machine, kubectl, tmp_path)
        assert await run("logs", "pod", "-c", "side", "--tail=2") == "two\nthree\n"
        assert await run("logs", "pod", "-c", "side", "-f") == "one\ntwo\nthree\n"
        assert "container none is not valid for pod pod" in await run("logs", "pod", "-c", "none", code=1)
        assert await run("exec", "pod", "-c", "main", "--", "echo", "$HOME; no shell") == "$HOME; no shell\n"
        assert await run("exec", "-i", "pod", "-c", "main", "--", "cat", stdin="in and out") == "in and out"
        failed = await run("exec", "pod", "-c", "main", "--", "sh", "-c", "echo oops >&2; exit 3", code=3)
        assert failed == "oops\ncommand terminated with exit code 3\n"
        assert "executable file not found" in await run("exec", "pod", "-c", "main", "--", "nothing", code=1)

    run(test)


def test_names_of_everything(kubectl: Path, tmp_path: Path) -> None:
    async def test(machine: Machine) -> None:
        run = on(machine, kubectl, tmp_path)
        listed = await run("api-resources")
        for word in ("nss,slurmd", "statefulsets", "PodDisruptionBudget", "slinky.slurm.net/v1beta1"):
            assert word in listed
        assert "Server Version: v1.36" in await run("version")
        refused = await run("create", "namespace", "x", code=1)
        assert "this server reads JSON" in refused

    run(test)
