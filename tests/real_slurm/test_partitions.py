"""A partition that goes takes nobody's job with it (PT-5): the real operator, guard, slurmctld, slurmrestd and slurmd.

What would happen otherwise is here too, for all of this stands on it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.api.objects import Json
from penstock.operator.resources import CUSTOMS

from . import test_configuration_live as live
from .crashing import until
from .guarded import Place, Pod, child
from .mini_cluster import CONF, MiniCluster, file, mini_cluster
from .slurm_parser import SlurmParser
from .test_configuration_live import Scene, is_live

JOB = ("sbatch", "--parsable", "--chdir=/tmp", "--output=/dev/null")
LATER = "--begin=now+1hour"
FORGOTTEN = 90.0
"""Seconds; slurmctld looks every ten for records to forget, and is asked more and more seldom."""
BOTH = f"{CONF}PartitionName=other Nodes=compute\n"
MANIFESTS = """\
kind: Controller
spec:
  slurmKeyRef: {name: keys, key: slurm.key}
  jwtKeyRef: {name: keys, key: jwt.key}
  persistence: {enabled: false}
  partitions: [{name: all, nodeSets: [ALL]}]
  extraConf: |
    MinJobAge=2
    KillWait=2
    SlurmdParameters=config_overrides
---
kind: RestApi
spec: {controllerRef: {name: slurm}}
---
kind: NodeSet
spec:
  controllerRef: {name: slurm}
  replicas: 0
  slurmd: {securityContext: {privileged: false}}
  partition: {enabled: true, config: Default=YES}
---
kind: NodeSet
metadata: {name: other, namespace: slurm}
spec:
  controllerRef: {name: slurm}
  replicas: 0
  slurmd: {securityContext: {privileged: false}}
  partition: {enabled: false}
"""
"""Without the second set Slurm would use cgroups as soon as the first is gone, and the slurmd of this test has none."""
SLURMD = """\
until scontrol ping 2>/dev/null | grep -q 'is UP'; do sleep 0.05; done
exec /usr/sbin/slurmd -D -Z -N w1 --conf 'Port=7001 CPUs=4 RealMemory=500 Feature=slurm'
"""


def test_slurmctld_ends_the_jobs_of_a_partition_that_is_not_there_any_more(slurm: SlurmParser) -> None:
    """Those that run, those that wait, and in 24.11 those that could have started elsewhere."""

    def with_other(wanted: dict[str, Any]) -> dict[str, Any]:
        return wanted | {"files": wanted["files"] | {"/etc/slurm/slurm.conf": file(BOTH.encode(), mode=0o644)}}

    with mini_cluster(slurm.root, nodes=1, adapt=with_other) as mini:
        machine = Pod(Place(mini.place, {}), child(mini.unshare), -1)
        until(lambda: machine.run("sinfo", "-hp", "compute", "-o", "%t") == "idle\n", "an idle node")
        runs = submitted(machine, "--partition=other", "--wrap=sleep 600")
        waits = [submitted(machine, f"--partition={name}", LATER, "--wrap=true") for name in ("other", "other,compute")]
        until(lambda: state(machine, runs) == "RUNNING", "a running job")
        replace(mini, machine, "/etc/slurm/slurm.conf", CONF)
        machine.run("scontrol", "reconfigure")
        # 24.11 may take minutes to see the end of a job that it has ended right after its launch.
        until(lambda: state(machine, runs) in {"NODE_FAIL", "COMPLETING"}, "its job is ended")
        two = "NODE_FAIL" if slurm.version.startswith("24.11") else "PENDING"
        assert [state(machine, job) for job in waits] == ["NODE_FAIL", two]


def test_a_partition_goes_with_its_last_job_and_not_before(slurm: SlurmParser, tmp_path: Path) -> None:
    """Its NodeSet is deleted under jobs that run and wait; slurmctld is the same process all the time."""

    async def story(scene: Scene) -> None:
        await scene.told(is_live(1))
        run = Running(scene)
        await run.until("sinfo", "-hp", "slurm", "-o", "%t", says="idle")
        runs = await run.allocate("--partition=slurm")
        waits = await run.submit("--partition=slurm", LATER, "--wrap=true")
        either = await run.submit("--partition=slurm,all", LATER, "--wrap=true")
        before = await run("pgrep", "-x", "slurmctld")
        await scene.store.delete(CUSTOMS["NodeSet"], "slurm", namespace="slurm")
        await scene.told(closing("until 3 jobs are gone"))
        assert [await run("squeue", "-hj", job, "-o", "%T") for job in (runs, waits, either)] == [
            "RUNNING", "PENDING", "PENDING",
        ]  # fmt: skip
        assert "Required partition not available" in await run(*JOB, "--partition=slurm", "--wrap=true")
        # Right after a reconfigure it is not supported.
        await run.until("scontrol", "update", f"job={either}", "partition=all", says="")
        await scene.told(closing("until 2 jobs are gone"))
        assert await run("scancel", runs, waits) == ""
        settled = await scene.told(lambda told: told["PartitionsClosing"]["status"] == "False", within=FORGOTTEN)
        assert settled["Degraded"]["status"] == "False"
        await scene.told(is_live(1))
        assert "PartitionName=slurm" not in await scene.partitions()
        assert await run("squeue", "--all", "--states=all", "-h", "-o", "%i %P %T") == f"{either} all PENDING"
        assert await run("pgrep", "-x", "slurmctld") == before

    live.play(slurm, tmp_path, story, manifests=MANIFESTS, adapt=with_slurmd)


def with_slurmd(wanted: dict[str, Any]) -> dict[str, Any]:
    """A node of the NodeSet, on slurmctld's machine: Kubernetes is played, so there are no workers."""
    slurmd = {"name": "w1", "user": "root", "env": {}, "command": ["bash", "-c", SLURMD]}
    directories = wanted["directories"] | dict.fromkeys(("/var/spool/slurmd", "/run/slurm"), "root")
    # The ring of keys is new too; nobody shall be told to read it while slurmctld is given something else.
    daemons = [one | {"env": one["env"] | {"RING_SECONDS": "600"}} for one in wanted["daemons"]]
    return wanted | {"directories": directories, "daemons": [*daemons, slurmd]}


class Running:
    """Commands in slurmctld's pod."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    async def __call__(self, *command: str) -> str:
        """Run one to its end; what it says."""
        return (await asyncio.to_thread(self._scene.pod.run, *command)).strip()

    async def submit(self, *options: str) -> str:
        """Submit a job; its number."""
        number = await self(*JOB, *options)
        assert number.isdecimal(), number
        return number

    async def allocate(self, *options: str) -> str:
        """Have a job that runs at once: after a reconfigure nobody looks at the queue for half a minute."""
        granted = re.search(r"Granted job allocation (\d+)", said := await self("salloc", "--no-shell", *options))
        assert granted, said
        return granted[1]

    async def until(self, *command: str, says: str) -> None:
        """Ask until it is so: Slurm tells nobody."""
        async with asyncio.timeout(live.PATIENCE):
            while await self(*command) != says:  # noqa: ASYNC110 - nobody tells us
                await asyncio.sleep(0.05)


def closing(words: str) -> Callable[[dict[str, Json]], bool]:
    """PartitionsClosing says so."""
    return lambda told: words in told.get("PartitionsClosing", {}).get("message", "")


def submitted(machine: Pod, *options: str) -> str:
    number = machine.run(*JOB, *options).strip()
    assert number.isdecimal(), number
    return number


def state(machine: Pod, job: str) -> str:
    return machine.run("squeue", "--states=all", "-hj", job, "-o", "%T").strip()


def replace(mini: MiniCluster, machine: Pod, path: str, text: str) -> None:
    """Write a file of the machine."""
    Path(f"/proc/{machine.machine}/root{mini.place}/workplace/root{path}").write_text(text)
