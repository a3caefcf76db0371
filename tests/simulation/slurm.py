"""A model of slurmctld behind slurmrestd: nodes register when their worker is ready, jobs run on nodes for a while.

The transitions are those that `tests/played` read off the real daemons. It keeps the first promise's books: a job that
ends because its worker went is `lost`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.api.objects import Json
from penstock.cluster.resources import Whole
from penstock.render import labels

from .loop import clock, now

_LAST_WORDS = "slurm-operator: the worker's pod ends"
_REGISTRATION = 0.3
"""Seconds between a worker's readiness and its registration."""


@dataclass(slots=True)
class Node:
    """A Slurm node."""

    name: str
    pod: str
    """Its worker's uid."""
    down: bool = False
    drain: bool = False
    reason: str = ""
    by: str = ""
    """Who gave the reason, and when by Slurm's clock."""
    at: int = 0
    extra: str = ""
    job: int | None = None
    ending: bool = False
    """A job that has no place here any more is still being ended."""

    def report(self) -> Json:
        """The node as slurmrestd shows it."""
        base = "DOWN" if self.down else "IDLE" if self.job is None else "ALLOCATED"
        flags = [*(["DRAIN"] if self.drain else []), *(["COMPLETING"] if self.ending else []), "DYNAMIC_NORM"]
        about = {"reason_set_by_user": self.by, "reason_changed_at": {"set": True, "number": self.at}}
        return {"name": self.name, "state": [base, *flags], "reason": self.reason, "extra": self.extra, **about}


@dataclass(slots=True)
class Job:
    """A job: how long it runs, and where."""

    number: int
    seconds: float
    node: str = ""
    began: float = 0.0
    ended: float | None = None
    held: tuple[str, str] | None = None
    """Slurm's reason and description of a hold."""
    tried: int = 0
    """When the scheduler last thought of it."""
    ending: bool = False
    """It waits, but its first run is still being ended."""
    too_early: bool = False
    """Its credential has not expired."""

    @property
    def state(self) -> list[str]:
        """Its state as slurmrestd shows it."""
        base = "COMPLETED" if self.ended is not None else "RUNNING" if self.began else "PENDING"
        return [base, "COMPLETING"] if self.ending else [base]

    def report(self) -> Json:
        """The job as slurmrestd shows it."""
        reason, description = self.held or ("None", "")
        words = {"state_reason": reason, "state_description": description, "hold": self.held is not None}
        tried = {"set": True, "number": self.tried}
        return {"job_id": self.number, "job_state": self.state, "last_sched_evaluation": tried, **words}


REFUSED = ("JobHeldUser", "launch failed requeued held")
_CREDENTIAL = 121.0
"""Seconds before a job that was put back into the queue is tried again."""


@dataclass(slots=True)
class Slurm:
    """A Slurm cluster without daemons."""

    nodes: dict[str, Node] = field(default_factory=dict)
    jobs: list[Job] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    """Jobs that died with their worker: there must be none."""
    updated: int = 0
    partitions: set[str] = field(default_factory=set)
    """Those that slurmctld runs."""
    on_release: Callable[[], object] = lambda: None
    """What happens right after a job was released."""

    def submit(self, count: int, seconds: float, *, on: str = "") -> list[Job]:
        """Queue jobs of one whole node each."""
        made = [Job(len(self.jobs) + number, seconds, on) for number in range(count)]
        self.jobs += made
        self._schedule()
        return made

    @property
    def running(self) -> list[Job]:
        """Jobs that are on a node."""
        return [job for job in self.jobs if job.began and job.ended is None]

    def ready(self, pod: Whole) -> None:
        """A worker's slurmd answers."""
        if _is_worker(pod):
            asyncio.get_running_loop().call_later(_REGISTRATION, self._register, _node_name(pod), pod.metadata.uid)

    def leaving(self, pod: Whole) -> None:
        """A worker is told to end: its last words take the node down, and whatever ran there."""
        node = self.nodes.get(_node_name(pod))
        if not _is_worker(pod) or node is None or node.pod != pod.metadata.uid:
            return
        if node.job is not None:
            self.lost.append(f"job {node.job} on {node.name} at {now():.2f} s")
            self._end(self.jobs[node.job])
        node.down, node.reason, node.pod = True, _LAST_WORDS, ""
        self._touch()

    def machine_lost(self, pod: Whole) -> None:
        """A worker's machine is no more: neither is its slurmd, and what ran there died of that, not of us."""
        node = self.nodes.get(_node_name(pod))
        if _is_worker(pod) and node is not None and node.pod == pod.metadata.uid:
            node.down, node.reason, node.pod = True, "Not responding", ""
            if node.job is not None:
                self._end(self.jobs[node.job])
            self._touch()

    def change(self, names: list[str], body: Json) -> None:
        """What an update of nodes does. `KeyError` for a node that Slurm does not know."""
        for node in [self.nodes[name] for name in names]:
            for word in body.get("state") or []:
                node.drain = {"DRAIN": True, "UNDRAIN": False}[word]
                if word == "UNDRAIN" and not node.down:
                    node.reason, node.by, node.at = "", "", 0
            if (node.drain or node.down) and "reason" in body:
                node.reason, node.by, node.at = body["reason"], "slurm", _seconds()
            node.extra = body.get("extra", node.extra)
        self._touch()
        self._schedule()

    def started_twice(self, job: Job, *, ends_in: float = 0.0) -> None:
        """slurmctld, killed before it had saved that a job runs, is back: see `penstock/slurm/refused.py`.

        The first run takes a while to end, if it minds no signals.
        """
        node = self.nodes[job.node]
        node.drain, node.reason, node.by, node.at = True, "Duplicate jobid", "slurm", _seconds()
        self.put_back(job, ends_in=ends_in)

    def put_back(self, job: Job, *, ends_in: float = 0.0) -> None:
        """Put a job that was refused back into the queue, on hold."""
        node = self.nodes[job.node]
        job.held, job.tried, job.began = REFUSED, _seconds() - 1, 0.0
        job.ending, job.too_early, job.node = True, True, ""
        node.job, node.ending = None, True
        asyncio.get_running_loop().call_later(ends_in, self._first_run_over, job, node)
        self._touch()

    def _first_run_over(self, job: Job, node: Node) -> None:
        job.ending = node.ending = False
        asyncio.get_running_loop().call_later(_CREDENTIAL, self._eligible, job)
        self._touch()

    def _eligible(self, job: Job) -> None:
        job.too_early = False
        self._schedule()

    def release(self, number: int) -> None:
        """Take the hold off a job. `IndexError` for one that Slurm does not know."""
        self.jobs[number].held = None
        self.on_release()
        self._schedule()

    def _register(self, name: str, uid: str) -> None:
        """ReturnToService=2: a node that was down works again; a drain stays."""
        node = self.nodes.setdefault(name, Node(name, uid))
        node.pod, node.down = uid, False
        node.reason = node.reason if node.drain else ""
        self._touch()
        self._schedule()

    def _schedule(self) -> None:
        waiting = [job for job in self.jobs if not job.began and not job.held and not job.too_early]
        for job in waiting:
            free = (
                one
                for one in self.nodes.values()
                if one.job is None and not one.drain and not one.down and job.node in {"", one.name}
            )
            if (node := next(free, None)) is not None:
                self._begin(job, node)

    def _begin(self, job: Job, node: Node) -> None:
        job.node, job.began, job.tried, node.job = node.name, now(), _seconds(), job.number
        asyncio.get_running_loop().call_later(job.seconds, self._end_run, job, job.began)
        self._touch()

    def _end_run(self, job: Job, began: float) -> None:
        if job.began == began:
            self._end(job)

    def _end(self, job: Job) -> None:
        if job.ended is None:
            job.ended = now()
            self.nodes[job.node].job = None
            self._touch()
            self._schedule()

    def _touch(self) -> None:
        self.updated = _seconds()


def _seconds() -> int:
    return int(clock().timestamp())


def _is_worker(pod: Whole) -> bool:
    return pod.metadata.labels.get(labels.NAME) == "slurmd"


def _node_name(pod: Whole) -> str:
    return pod.metadata.labels.get(labels.POD_HOSTNAME) or str(pod.spec.get("hostname") or pod.metadata.name)
