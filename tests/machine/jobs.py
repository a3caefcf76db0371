"""Jobs of tests: what Slurm remembers of them, and jobs that end when they are told to."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec

from .site import WORKERS, Site, eventually

_UNDER_WAY = {"", "PENDING", "CONFIGURING", "RUNNING", "COMPLETING"}
"""States of a job that has not ended; none while slurmctld is away."""

_WAITING = 3
"""Jobs of a stream that wait for a node while it flows: as many as workers of most tests."""


def accounted(cluster: Site, job: int) -> Any:
    """What the database says of a job, once it has heard how it ended.

    From a slurmctld that was killed and is back it hears nothing first, and calls jobs CANCELLED that still run.
    """

    def ask() -> Any:
        found = msgspec.json.decode(cluster.slurm("sacct", "-X", "--json", f"--jobs={job}"))["jobs"]
        return found[0] if found else None

    how = eventually(lambda: _state_if_told(cluster, job), lambda state: state not in _UNDER_WAY)
    return eventually(ask, lambda found: found and found["time"]["end"] and found["state"]["current"] == [how])


class Outcome(NamedTuple):
    """What the database says of a job."""

    state: str
    code: int | None
    restarts: int
    node: str
    start: int
    """Unix seconds."""

    @property
    def well(self) -> bool:
        """Whether it ran once, and to its end."""
        return (self.state, self.code, self.restarts) == ("COMPLETED", 0, 0)


def all_completed(cluster: Site, jobs: Collection[int]) -> dict[int, Outcome]:
    """How jobs ended, each of them well, once the database has heard of it."""

    def ask() -> dict[int, Outcome]:
        listed = ",".join(map(str, jobs))
        records = msgspec.json.decode(cluster.slurm("sacct", "-X", "--json", f"--jobs={listed}"))["jobs"]
        return {one["job_id"]: _outcome(one) for one in records}

    return eventually(ask, lambda found: found.keys() >= {*jobs} and all(one.well for one in found.values()))


def _outcome(record: Any) -> Outcome:
    [state], code = record["state"]["current"], record["exit_code"]["return_code"]
    number = code["number"] if code["set"] else None
    return Outcome(state, number, record["restart_cnt"], record["nodes"], record["time"]["start"])


@contextmanager
def stream(cluster: Site) -> Iterator[list[int]]:
    """Submit short jobs all the time, so that whoever can take one has one; the numbers of those that there are."""
    jobs, over = list[int](), threading.Event()
    submit = "sbatch --parsable --output=/dev/null --wrap='sleep 1'; squeue --noheader --states=PENDING --format=%A"

    def flow() -> None:
        while not over.is_set():
            number, *waiting = cluster.slurm("bash", "-c", f"set -e; {submit}").split()
            jobs.append(int(number))
            over.wait(len(waiting) / _WAITING)

    with ThreadPoolExecutor(1) as aside:
        flowing = aside.submit(flow)
        try:
            yield jobs
        finally:
            over.set()
        flowing.result()


def held(cluster: Site) -> int:
    """Submit a job that waits to be released. When this comes back, slurmctld has written down all that was before.

    It takes some seconds to do so, and what is not written is forgotten when it is killed.
    """
    mark = f"held-{time.time_ns()}"
    job = int(
        cluster.slurm("sbatch", "--parsable", "--hold", f"--job-name={mark}", "--output=/dev/null", "--wrap=true")
    )
    eventually(lambda: _saved(cluster), lambda told: mark.encode() in told)
    return job


def _saved(cluster: Site) -> bytes:
    """What slurmctld has written down of its jobs; nothing in the moment in which it puts a new file in place."""
    try:
        return b"".join(one.read_bytes() for one in cluster.layout.claims.rglob("job_state"))
    except FileNotFoundError:
        return b""


def idle(cluster: Site) -> set[str]:
    """Nodes that wait for jobs."""
    said = cluster.slurm("sinfo", "--noheader", "--Node", "--format=%N %T").splitlines()
    return {line.split()[0] for line in said if line.split()[1] == "idle"}


def job_state(cluster: Site, job: int) -> str:
    """What slurmctld says of a job, a while after its end, too."""
    found = _state_if_told(cluster, job)
    assert found, f"slurmctld says nothing of job {job}"
    return found


def _state_if_told(cluster: Site, job: int) -> str:
    said = cluster.slurm("bash", "-c", f"scontrol --oneliner show job {job} || true")
    return dict(word.split("=", 1) for word in said.split() if "=" in word).get("JobState", "")


class Patient:
    """A job that runs on a worker until it is told to end."""

    def __init__(self, cluster: Site, worker: int = 0, *, more: Sequence[str] = ()) -> None:
        self._cluster = cluster
        self._pod = f"{WORKERS}-{worker}"
        self._end = f"/tmp/end-of-{time.time_ns()}"
        wrap = f"until test -e {self._end}; do sleep 0.1; done"
        where = [f"--nodelist=compute-{worker}", "--output=/dev/null", *more]
        said = cluster.slurm("sbatch", "--parsable", *where, f"--wrap={wrap}")
        self.number = int(said)
        eventually(self.state, lambda state: state == "RUNNING")

    def state(self) -> str:
        """What slurmctld says of it."""
        return job_state(self._cluster, self.number)

    def let_end(self) -> None:
        """Let it end where it began: nowhere else is it told to."""
        self._cluster.inside(self._pod, "touch", self._end)

    def end(self) -> Any:
        """Let it end; it must have run to its end, and once. Its record."""
        self.let_end()
        record = accounted(self._cluster, self.number)
        assert (record["state"]["current"], record["restart_cnt"]) == (["COMPLETED"], 0), record
        assert record["exit_code"]["return_code"]["number"] == 0
        return record
