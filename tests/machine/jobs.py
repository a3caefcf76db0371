"""Jobs of tests: what Slurm remembers of them, and jobs that end when they are told to."""

from __future__ import annotations

import time
from typing import Any

import msgspec

from .site import WORKERS, Site, eventually


def accounted(cluster: Site, job: int) -> Any:
    """What the database says of a job, once it has heard that it ended."""

    def ask() -> Any:
        found = msgspec.json.decode(cluster.slurm("sacct", "-X", "--json", f"--jobs={job}"))["jobs"]
        return found[0] if found else None

    return eventually(ask, lambda found: found and found["time"]["end"])


def held(cluster: Site) -> int:
    """Submit a job that waits to be released. When this comes back, slurmctld has written down all that was before.

    It takes some seconds to do so, and what is not written is forgotten when it is killed.
    """
    mark = f"held-{time.time_ns()}"
    job = int(
        cluster.slurm("sbatch", "--parsable", "--hold", f"--job-name={mark}", "--output=/dev/null", "--wrap=true")
    )
    files = [*cluster.layout.claims.rglob("job_state")]
    eventually(lambda: [one.read_bytes() for one in files], lambda told: any(mark.encode() in one for one in told))
    return job


def idle(cluster: Site) -> set[str]:
    """Nodes that wait for jobs."""
    said = cluster.slurm("sinfo", "--noheader", "--Node", "--format=%N %T").splitlines()
    return {line.split()[0] for line in said if line.split()[1] == "idle"}


def job_state(cluster: Site, job: int) -> str:
    """What slurmctld says of a job, a while after its end, too."""
    said = cluster.slurm("scontrol", "--oneliner", "show", "job", str(job))
    return dict(word.split("=", 1) for word in said.split() if "=" in word)["JobState"]


class Patient:
    """A job that runs on a worker until it is told to end."""

    def __init__(self, cluster: Site, worker: int = 0) -> None:
        self._cluster = cluster
        self._pod = f"{WORKERS}-{worker}"
        self._end = f"/tmp/end-of-{time.time_ns()}"
        wrap = f"until test -e {self._end}; do sleep 0.1; done; echo done > {self._end}"
        said = cluster.slurm(
            "sbatch", "--parsable", f"--nodelist=compute-{worker}", "--output=/dev/null", f"--wrap={wrap}"
        )
        self.number = int(said)
        eventually(self.state, lambda state: state == "RUNNING")

    def state(self) -> str:
        """What slurmctld says of it."""
        return job_state(self._cluster, self.number)

    def end(self) -> Any:
        """Let it end; it must have run to its end, once, where it began. Its record."""
        self._cluster.inside(self._pod, "touch", self._end)
        record = accounted(self._cluster, self.number)
        assert record["state"]["current"] == ["COMPLETED"], record
        assert record["restart_cnt"] == 0
        assert self._cluster.inside(self._pod, "cat", self._end) == "done\n"
        return record
