"""How soon a worker goes: after its last job has ended, and after the scale request when it is idle.

"Goes" is the moment at which the API shows that its deletion was asked for. The end of a job is the moment at which it
was told to end, so what Slurm takes to notice is in the figure.
"""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass, field

from machine.subject import NODESET, Subject
from penstock.cluster.kube import KubeCluster, local
from penstock.cluster.port import EventType, Selection
from penstock.cluster.resources import Lean, Resource
from penstock.machine.inside import run_in_login
from penstock.machine.manifest import NAMESPACE

_PODS: Resource[Lean] = Resource("", "v1", "pods", "Pod", Lean)
_SET = NODESET.partition("/")[2]


@dataclass(slots=True)
class Leaving:
    """Seconds of each turn."""

    idle: list[float] = field(default_factory=list)
    drained: list[float] = field(default_factory=list)


def measure(it: Subject, *, turns: int) -> Leaving:
    """Scale from two workers to one, again and again: the second one is idle, or its job ends at some time."""
    found = Leaving()
    it.penstock("scale", NODESET, "--replicas=2")  # whoever measured before may have left more
    for _ in range(turns):
        it.until_idle(2)
        found.drained.append(asyncio.run(_under_a_job(it)))
        it.penstock("scale", NODESET, "--replicas=2")
        it.until_idle(2)
        found.idle.append(asyncio.run(_idle(it)))
        it.penstock("scale", NODESET, "--replicas=2")
    return found


async def _idle(it: Subject) -> float:
    async with KubeCluster(local(it.layout.socket)) as cluster:
        since = (await cluster.list(_PODS, Selection(namespace=NAMESPACE))).resource_version
        began = time.time()
        await _scale(cluster, 1)
        return await _gone(cluster, since) - began


async def _under_a_job(it: Subject) -> float:
    """Both workers are busy, so that the second one leaves; its job ends when a file is there."""
    async with KubeCluster(local(it.layout.socket)) as cluster:
        end = f"/tmp/end-{time.time_ns()}"  # noqa: S108 - the node's, which tasks see in the shared root, too
        wrap = f"--wrap=until test -e {end}; do sleep 0.02; done"
        for node in ("compute-0", "compute-1"):
            await _slurm(cluster, "sbatch", f"--nodelist={node}", "--output=/dev/null", wrap)
        await _until(cluster, "RUNNING", "squeue", "-h", "-w", "compute-1", "-o", "%T")
        since = (await cluster.list(_PODS, Selection(namespace=NAMESPACE))).resource_version
        await _scale(cluster, 1)
        await _until(cluster, "drain", "sinfo", "-h", "-n", "compute-1", "-o", "%T")
        await asyncio.sleep(random.uniform(1, 3))  # noqa: S311 - chance, not secrecy
        began = time.time()
        await _touch(cluster, 1, end)
        gone = await _gone(cluster, since)
        await _touch(cluster, 0, end)
        return gone - began


async def _gone(cluster: KubeCluster, since: str) -> float:
    """When the deletion of the second worker was asked for."""
    where = Selection(namespace=NAMESPACE, fields=f"metadata.name={_SET}-1")
    async for event in cluster.watch(_PODS, where, since=since):
        if event.type is EventType.DELETED or (event.object and event.object.metadata.deletion_timestamp):
            return time.time()
    raise RuntimeError("the watch has ended")


async def _scale(cluster: KubeCluster, replicas: int) -> None:
    node_sets: Resource[Lean] = Resource("slinky.slurm.net", "v1beta1", "nodesets", "NodeSet", Lean)
    await cluster.scale(node_sets, _SET, replicas, namespace=NAMESPACE)


async def _until(cluster: KubeCluster, word: str, *words: str) -> None:
    """Ask Slurm until it says something: it tells nobody by itself."""
    while word not in await _slurm(cluster, *words):  # noqa: ASYNC110 - Slurm tells nobody
        await asyncio.sleep(0.1)


async def _slurm(cluster: KubeCluster, *words: str) -> str:
    code, said = await run_in_login(cluster, [*words], namespace=NAMESPACE)
    if code:
        raise RuntimeError(f"{' '.join(words)}: {code} {said}")
    return said


async def _touch(cluster: KubeCluster, worker: int, path: str) -> None:
    session = await cluster.execute(
        f"{_SET}-{worker}", namespace=NAMESPACE, container="slurmd", command=["touch", path]
    )
    try:
        await session.wait()
    finally:
        await session.close()
