"""A cluster whose slurmctld can be killed at the worst moment: a job has started, and nothing of that is on the disk.

slurmctld saves its state when something has changed, at most every five seconds. So a job that was saved while it
waited and has started since is, after SIGKILL, a job that waits. To meet that moment without luck, the directory of the
state is closed while the saved job still waits: slurmctld complains, works on, and saves nothing.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .guarded import Place, Pod, child
from .mini_cluster import CONF, MiniCluster, file, mini_cluster

STATE = "/var/spool/slurmctld"
PATIENCE = 30.0
"""Seconds; this only ends what will never come."""
SUPERVISOR = """\
while :; do
    while [ -e /run/nobody-starts-slurmctld ]; do sleep 0.02; done
    /usr/sbin/slurmctld -D
done
"""
SAVED_IN = 6
"""Seconds in which a job that was submitted is on the disk."""


@dataclass(frozen=True, slots=True)
class CrashingCluster:
    """It runs, and so does its slurmctld, mostly."""

    mini: MiniCluster
    machine: Pod

    def slurm(self, *command: str) -> str:
        """Run a command of Slurm as its user."""
        return self.machine.run(*command).strip()

    def job(self, number: int) -> dict[str, Any]:
        """All that Slurm says of a job."""
        shown: list[dict[str, Any]] = json.loads(self.slurm("scontrol", "show", "job", str(number), "--json"))["jobs"]
        return shown[0]

    def nodes(self) -> set[str]:
        """Each node with its state."""
        return set(self.slurm("sinfo", "-hN", "-o", "%N=%t").splitlines())

    def submit(self, command: str, *options: str) -> int:
        """Submit a job that starts when it is certainly on the disk; it is when this returns, and waits."""
        name, state = f"job-{time.monotonic_ns()}", self._state / "job_state"
        begin = f"--begin=now+{SAVED_IN}"
        words = ("sbatch", "--parsable", "-J", name, "-D", "/tmp", begin, *options, "--wrap", command)
        number = self.slurm(*words)
        assert number.isdecimal(), number
        until(lambda: state.exists() and name.encode() in state.read_bytes(), "the job is saved")
        return int(number)

    @contextmanager
    def saving_nothing(self) -> Iterator[None]:
        """Whatever happens in here is not on the disk when slurmctld is killed at the end; then it starts again."""
        self.machine.run("chown", "root:root", STATE, user="root")
        self.machine.run("chmod", "0555", STATE, user="root")
        yield
        self.machine.run("touch", "/run/nobody-starts-slurmctld", user="root")
        killed = self.machine.slurmctld
        self.machine.run("kill", "-KILL", *killed.split(), user="root")
        until(lambda: not set(self.machine.slurmctld.split()) & set(killed.split()), "slurmctld is dead")
        self.machine.run("chown", "slurm:slurm", STATE, user="root")
        self.machine.run("chmod", "0755", STATE, user="root")
        self.machine.run("rm", "/run/nobody-starts-slurmctld", user="root")

    @property
    def _state(self) -> Path:
        return Path(f"/proc/{self.machine.machine}/root{self.mini.place}/workplace/root{STATE}")


def until(holds: Callable[[], object], what: str) -> None:
    """Wait for something that takes a moment: Slurm tells nobody, so it is asked."""
    bound = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < bound, what
        time.sleep(0.02)


@contextmanager
def crashing_cluster(root: Path, *, nodes: int = 2) -> Iterator[CrashingCluster]:
    """Run a cluster until the end of the block."""
    with mini_cluster(root, nodes=nodes, adapt=_supervised) as mini:
        cluster = CrashingCluster(mini, Pod(Place(mini.place, {}), child(mini.unshare), -1))
        until(lambda: cluster.nodes() == {f"{name}=idle" for name in mini.nodes}, "idle nodes")
        cluster.slurm("scontrol", "reconfigure")  # saves all of the state, the nodes too
        until(lambda: cluster.nodes() == {f"{name}=idle" for name in mini.nodes}, "idle nodes")
        yield cluster


def _supervised(wanted: dict[str, Any]) -> dict[str, Any]:
    conf = CONF.replace("batch_sched_delay=0", "batch_sched_delay=0,sched_interval=1")
    daemons = [
        one | {"command": ["bash", "-c", SUPERVISOR]} if one["name"] == "slurmctld" else one
        for one in wanted["daemons"]
    ]
    files = wanted["files"] | {"/etc/slurm/slurm.conf": file(conf.encode(), mode=0o644)}
    return {**wanted, "files": files, "daemons": daemons}
