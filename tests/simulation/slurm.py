"""A model of slurmctld behind slurmrestd: nodes register when their worker is ready, jobs run on nodes for a while.

The transitions are those that `tests/played` read off the real daemons. It keeps the first promise's books: a job that
ends because its worker went is `lost`.
"""

from __future__ import annotations

import asyncio
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
    extra: str = ""
    job: int | None = None

    def report(self) -> Json:
        """The node as slurmrestd shows it."""
        base = "DOWN" if self.down else "IDLE" if self.job is None else "ALLOCATED"
        flags = ["DYNAMIC_NORM", *(["DRAIN"] if self.drain else [])]
        return {"name": self.name, "state": [base, *flags], "reason": self.reason, "extra": self.extra}


@dataclass(slots=True)
class Job:
    """A job: how long it runs, and where."""

    number: int
    seconds: float
    node: str = ""
    began: float = 0.0
    ended: float | None = None


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
                node.reason = "" if word == "UNDRAIN" and not node.down else node.reason
            if node.drain or node.down:
                node.reason = body.get("reason", node.reason)
            node.extra = body.get("extra", node.extra)
        self._touch()
        self._schedule()

    def _register(self, name: str, uid: str) -> None:
        """ReturnToService=2: a node that was down works again; a drain stays."""
        node = self.nodes.setdefault(name, Node(name, uid))
        node.pod, node.down = uid, False
        node.reason = node.reason if node.drain else ""
        self._touch()
        self._schedule()

    def _schedule(self) -> None:
        waiting = [job for job in self.jobs if not job.began]
        for job in waiting:
            free = (
                one
                for one in self.nodes.values()
                if one.job is None and not one.drain and not one.down and job.node in {"", one.name}
            )
            if (node := next(free, None)) is not None:
                self._begin(job, node)

    def _begin(self, job: Job, node: Node) -> None:
        job.node, job.began, node.job = node.name, now(), job.number
        asyncio.get_running_loop().call_later(job.seconds, self._end, job)
        self._touch()

    def _end(self, job: Job) -> None:
        if job.ended is None:
            job.ended = now()
            self.nodes[job.node].job = None
            self._touch()
            self._schedule()

    def _touch(self) -> None:
        self.updated = int(clock().timestamp())


def _is_worker(pod: Whole) -> bool:
    return pod.metadata.labels.get(labels.NAME) == "slurmd"


def _node_name(pod: Whole) -> str:
    return pod.metadata.labels.get(labels.POD_HOSTNAME) or str(pod.spec.get("hostname") or pod.metadata.name)
