"""Many workers on one machine: how soon they are there, what each costs, and what the machine does at rest."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass
from pathlib import Path

from machine.subject import NODESET, Subject
from penstock.cluster.kube import KubeCluster, local
from penstock.cluster.resources import Lean, Resource
from penstock.machine import process
from penstock.machine.inside import run_in_login
from penstock.machine.manifest import NAMESPACE

_PODS: Resource[Lean] = Resource("", "v1", "pods", "Pod", Lean)


@dataclass(frozen=True, slots=True, kw_only=True)
class Many:
    """What many workers cost. Memory is proportional (PSS), in MiB: shared pages are shared among who uses them."""

    before: int
    workers: int
    seconds_to_idle: float
    seconds_of_srun: float
    slurmd: float
    tini: float
    conmon: float
    serve_share: float
    """Of the engine, per worker."""
    serve: float
    cpu_at_rest: float
    """Seconds of the processor per second."""
    writes_at_rest: int
    """Changes to objects in the store."""
    bytes_at_rest: int
    rest: float

    @property
    def per_worker(self) -> float:
        """All together."""
        return self.slurmd + self.tini + self.conmon + self.serve_share


def measure(it: Subject, *, workers: int, rest: float) -> Many:
    """Scale up from what is there, look, and scale down again."""
    few = len(it.containers("slurmd"))
    before = memory(_serve(it))
    began = time.time()
    it.penstock("scale", NODESET, f"--replicas={workers}")
    to_idle = it.until_idle(workers, seconds=300) - began
    asyncio.run(_srun(it, workers))
    srun = asyncio.run(_srun(it, workers))
    time.sleep(5)  # what the last change has set going comes to its end
    cpu, writes, written = at_rest(it, rest)
    found = it.containers("slurmd")
    after = memory(_serve(it))
    many = Many(
        before=few, workers=workers, seconds_to_idle=to_idle, seconds_of_srun=srun,
        slurmd=sum(memory(pid) for one in found for pid in _below(one.pid)) / len(found),
        tini=sum(memory(one.pid) for one in found) / len(found),
        conmon=sum(memory(one.record.conmon.pid) for one in found if one.record.conmon) / len(found),
        serve_share=(after - before) / max(len(found) - few, 1), serve=after,
        cpu_at_rest=cpu, writes_at_rest=writes, bytes_at_rest=written, rest=rest,
    )  # fmt: skip
    it.penstock("scale", NODESET, f"--replicas={few}")
    it.until_idle(few, seconds=300)
    return many


def memory(pid: int) -> float:
    """The proportional set size of a process in MiB."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0


def at_rest(it: Subject, seconds: float) -> tuple[float, int, int]:
    """What the process does while nobody asks for anything: seconds of CPU per second, store writes, bytes to disk."""
    pid = _serve(it)
    cpu, version, written = _cpu(pid), asyncio.run(_version(it)), _written(pid)
    time.sleep(seconds)
    used = (_cpu(pid) - cpu) / seconds
    return used, asyncio.run(_version(it)) - version, _written(pid) - written


def _serve(it: Subject) -> int:
    known = process.found(it.layout)
    if known is None:
        raise RuntimeError("nobody looks after the cluster")
    return known.pid


async def _srun(it: Subject, nodes: int) -> float:
    began = time.time()
    async with KubeCluster(local(it.layout.socket)) as cluster:
        code, said = await run_in_login(cluster, ["srun", f"-N{nodes}", "hostname"], namespace=NAMESPACE)
    if code or len(set(said.split())) != nodes:
        raise RuntimeError(f"srun -N{nodes}: {code} {said}")
    return time.time() - began


async def _version(it: Subject) -> int:
    async with KubeCluster(local(it.layout.socket)) as cluster:
        return int((await cluster.list(_PODS)).resource_version)


def _below(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    # With those of children that it waited for: probes by exec, `ip`.
    return sum(int(fields[place]) for place in (11, 12, 13, 14)) / os.sysconf("SC_CLK_TCK")


def _written(pid: int) -> int:
    lines = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
    return int(lines["write_bytes"])
