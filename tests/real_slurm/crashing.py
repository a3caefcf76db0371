"""A cluster whose slurmctld is killed at the worst moment: a job has started, and nothing of that is on the disk.

slurmctld saves its state when something has changed, at most every five seconds. So a job that was saved while it
waited, and has started since, is after SIGKILL a job that waits. To meet that moment without luck, the directory of the
state is closed to slurmctld while the saved job still waits: it complains, works on, and saves nothing. And no slurmd
registers before the job has been started again: slurmctld would end the first run, and start the job some time later.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.slurm.tokens import sign

from .guarded import STATE, Place, Pod, child
from .mini_cluster import CONF, MiniCluster, file, mini_cluster

PATIENCE = 30.0
"""Seconds; this only ends what will never come."""
CLOSED = "/run/nobody-starts-slurmctld"
SUPERVISOR = f"""\
while :; do
    while [ -e {CLOSED} ]; do sleep 0.02; done
    /usr/sbin/slurmctld -D
done
"""
# The first run lasts, any other ends. When Slurm ends the first, its sleep may end a moment before its script.
JOB = """\
runs=/tmp/runs-$SLURM_JOB_ID
echo run >>"$runs"
[ "$(wc -l <"$runs")" -gt 1 ] || sleep 600 || exit 1
echo over >>"$runs"
"""
BEGIN = "now+6"
"""When a job may start: it is on the disk by then, and a job on hold would be one on hold after the crash, too."""


@dataclass(frozen=True, slots=True)
class CrashingCluster:
    """It runs, and so does its slurmctld, mostly."""

    mini: MiniCluster
    machine: Pod

    def slurm(self, *command: str) -> str:
        """Run a command as Slurm's user, who proves that by a token: a slurmd that is stopped proves nothing."""
        return self.machine.run("env", f"SLURM_JWT={self._token()}", *command).strip()

    def root(self, *command: str) -> str:
        """Run a command as root."""
        return self.machine.run(*command, user="root").strip()

    def nodes(self) -> set[str]:
        """Each node with its state."""
        return set(self.slurm("sinfo", "-hN", "-o", "%N=%t").splitlines())

    def submit(self, *options: str, script: str = JOB) -> int:
        """Submit a job that notes its runs."""
        number = self.slurm("sbatch", "--parsable", "-D", "/tmp", "-o", "/dev/null", *options, "--wrap", script)
        assert number.isdecimal(), number
        return int(number)

    def runs(self, number: int) -> list[str]:
        """What a job noted."""
        return self.slurm("sh", "-c", f"cat /tmp/runs-{number} 2>/dev/null").split()

    def start_twice(self) -> int:
        """Kill slurmctld right after it has started a job; when this returns, it has started it once more."""
        name = f"job-{time.monotonic_ns()}"
        number = self.submit("-J", name, "--begin", BEGIN)
        until(lambda: self._saved(name, "job_state") and self._saved(self.mini.nodes[-1], "node_state"), "all is saved")
        self.root("chown", "root:root", STATE)
        until(lambda: self.runs(number) == ["run"], "the job runs")
        slurmd = self.slurm("pgrep", "-x", "slurmd").split()
        self.root("kill", "-STOP", *slurmd)
        self.crash()
        self.submit(script="true")  # without a new job nobody looks at the queue for half a minute
        until(lambda: self._state(number) == "RUNNING", "the job is started again")
        self.root("kill", "-CONT", *slurmd)
        return number

    def crash(self) -> None:
        """Kill slurmctld; when this returns, it is back with what it had saved."""
        self._kill()
        self.root("chown", "slurm:slurm", STATE)
        self.root("rm", CLOSED)
        until(lambda: "is UP" in self.slurm("scontrol", "ping"), "slurmctld is back")

    def save(self) -> None:
        """Have all that has happened so far on the disk when this returns."""
        mark = f"job-{time.monotonic_ns()}"
        self.submit("-H", "-J", mark, script="true")
        until(lambda: self._saved(mark, "job_state"), "all is saved")

    def _token(self) -> str:
        now = int(time.time())
        return sign(self.mini.jwt_key, username="slurm", issued_at=now - 5, lifetime_seconds=300, token_id="test")

    def _state(self, number: int) -> str:
        return self.slurm("squeue", "-hj", str(number), "-o", "%T")

    def _kill(self) -> None:
        self.root("touch", CLOSED)
        killed = self.slurm("pgrep", "-x", "slurmctld").split()
        self.root("kill", "-KILL", *killed)
        until(lambda: not self.slurm("pgrep", "-x", "slurmctld"), "slurmctld is dead")

    def _saved(self, word: str, name: str) -> bool:
        # As its machine sees it: the mounts are there alone.
        file = Path(f"/proc/{self.machine.machine}/root{self.mini.place}/workplace/root{STATE}", name)
        return file.exists() and word.encode() in file.read_bytes()


def until(holds: Callable[[], object], what: str, *, patience: float = PATIENCE) -> None:
    """Wait for something that takes a moment: Slurm tells nobody, so it is asked."""
    bound = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < bound, what
        time.sleep(0.02)


@contextmanager
def crashing_cluster(root: Path, *, nodes: int = 2, conf: str = "") -> Iterator[CrashingCluster]:
    """Run a cluster until the end of the block; `conf` are more lines of its slurm.conf."""
    with mini_cluster(root, nodes=nodes, adapt=lambda wanted: _supervised(wanted, conf)) as mini:
        cluster = CrashingCluster(mini, Pod(Place(mini.place, {}), child(mini.unshare), -1))
        until(lambda: cluster.nodes() == {f"{name}=idle" for name in mini.nodes}, "idle nodes")
        yield cluster


def _supervised(wanted: dict[str, Any], more: str) -> dict[str, Any]:
    conf = CONF.replace("batch_sched_delay=0", "batch_sched_delay=0,sched_interval=1") + more
    # A job that was put back into the queue waits until its credential has expired: else for two minutes.
    conf = conf.replace("use_client_ids", "use_client_ids,cred_expire=5")
    files = wanted["files"] | {"/etc/slurm/slurm.conf": file(conf.encode(), mode=0o644)}
    supervised = {"command": ["bash", "-c", SUPERVISOR]}
    daemons = [one | supervised if one["name"] == "slurmctld" else one for one in wanted["daemons"]]
    return {**wanted, "files": files, "daemons": daemons}
