"""A model of slurmctld behind slurmrestd: nodes register when their worker begins, jobs run on nodes for a while.

The transitions are those that `tests/played` read off the real daemons. It keeps the first promise's books: a job that
ends because its worker went is `lost`.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.api.objects import Json
from penstock.cluster.resources import Whole
from penstock.render import labels

from .loop import clock, now
from .slurm_records import REFUSED, WHOLE, Job, Node, Window

_LAST_WORDS = "slurm-operator: the worker's pod ends"
_REGISTRATION = 0.3
"""Seconds between a worker's readiness and its registration, or the most between its beginning and that."""
_CREDENTIAL = 121.0
"""Seconds before a job that was put back into the queue is tried again."""
_SAVED_AFTER = 3.0
"""Seconds until slurmctld has saved what changed."""
PERSON, OPERATOR, SLURM = "a person", "the operator", "Slurm itself"


@dataclass(slots=True)
class Slurm:
    """A Slurm cluster without daemons."""

    nodes: dict[str, Node] = field(default_factory=dict)
    jobs: list[Job] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    """Jobs that died with their worker: there must be none."""
    updated: int = 0
    partitions: dict[str, str] = field(default_factory=dict)
    """Those that slurmctld runs, and their states."""
    static: frozenset[str] = frozenset()
    """Nodes that its configuration has."""
    windows: dict[str, Window] = field(default_factory=dict)
    """Reservations by name."""
    kept_for: float = 300.0
    """Seconds for which the record of a job outlives it (MinJobAge)."""
    on_release: Callable[[], object] = lambda: None
    """What happens right after a job was released."""
    on_change: Callable[[Node, Json, str], None] = lambda _node, _body, _who: None
    """Told of each change of a node, and whose it is, right before it is made."""
    on_order: Callable[[Job, str, str], None] = lambda _job, _order, _who: None
    """Told of each signal to a running job, and of each requeue, and whose it is, right before."""
    on_partition_lost: Callable[[str], None] = lambda _name: None
    """Told of each partition that goes while records of jobs name it."""
    on_forgotten: Callable[[Node], None] = lambda _node: None
    """Told of each node whose last change slurmctld forgot."""
    _waiting: list[Job] = field(default_factory=list)
    _registering: dict[str, asyncio.TimerHandle] = field(default_factory=dict)
    """Workers that register, or did, by their uids, and when."""
    _speakers: dict[str, Whole] = field(default_factory=dict)
    """Workers that say that they are there, by their uids, whether Slurm knows their node or not."""
    _late: set[str] = field(default_factory=set)
    """Those that run, and do so only some time after they are ready."""

    def submit(
        self, count: int, seconds: float, *, on: str = "", nodes: int = 1, share: int = WHOLE, partition: str = ""
    ) -> list[Job]:
        """Queue jobs, of one whole node each if not told otherwise. A partition that is closed takes none."""
        if partition and self.partitions.get(partition) != "UP":
            return []
        first = len(self.jobs)
        made = [Job(first + number, seconds, on, nodes, share, partition) for number in range(count)]
        self.jobs += made
        self._waiting += made
        self._schedule()
        return made

    @property
    def running(self) -> list[Job]:
        """Jobs that are on a node."""
        return [job for job in self.jobs if job.runs]

    @property
    def waiting(self) -> list[Job]:
        """Jobs that are not."""
        return self._waiting

    @property
    def busy(self) -> bool:
        """Whether there are jobs that have not ended."""
        return bool(self._waiting) or any(node.jobs or node.ending for node in self.nodes.values())

    def started(self, pod: Whole) -> None:
        """A worker's slurmd begins. About half of them register before kubelet says that they are ready."""
        if not _is_worker(pod):
            return
        self._never_registers(pod)
        if random.random() < 0.5:  # noqa: S311 - chance, not secrecy
            self._registers_in(random.random() * _REGISTRATION, pod)  # noqa: S311
        else:
            self._late.add(pod.metadata.uid)

    def ready(self, pod: Whole) -> None:
        """A worker's slurmd answers."""
        if pod.metadata.uid in self._late:
            self._registers_in(_REGISTRATION, pod)

    def _registers_in(self, seconds: float, pod: Whole) -> None:
        self._never_registers(pod)
        self._registering[pod.metadata.uid] = asyncio.get_running_loop().call_later(seconds, self.register, pod)

    def _never_registers(self, pod: Whole) -> None:
        self._late.discard(pod.metadata.uid)
        self._speakers.pop(pod.metadata.uid, None)
        if (timer := self._registering.pop(pod.metadata.uid, None)) is not None:
            timer.cancel()

    def leaving(self, pod: Whole) -> None:
        """A worker is told to end: its last words take the node down, and whatever ran there. A drain keeps its own."""
        self._never_registers(pod)
        node = self._node_of(pod)
        if node is None:
            return
        self.lost += [f"job {number} on {node.name} at {now():.2f} s" for number in node.jobs]
        self._goes_down(node, node.reason if node.drain and node.reason else _LAST_WORDS)

    def machine_lost(self, pod: Whole) -> None:
        """A worker's machine is no more: neither is its slurmd, and what ran there died of that, not of us."""
        self._never_registers(pod)
        if (node := self._node_of(pod)) is not None:
            # Slurm adds to a reason that is there; 24.11 and 26.05 agree.
            self._goes_down(node, f"{node.reason} : Not responding" if node.reason else "Not responding")

    def _node_of(self, pod: Whole) -> Node | None:
        node = self.nodes.get(node_name(pod)) if _is_worker(pod) else None
        return node if node is not None and node.pod == pod.metadata.uid else None

    def _goes_down(self, node: Node, reason: str) -> None:
        node.down, node.reason, node.pod = True, reason, ""
        for number in list(node.jobs):
            self._end(self.jobs[number], "NODE_FAIL")
        self.touch()

    def change(self, names: list[str], body: Json, *, who: str = PERSON) -> None:
        """What an update of nodes does. `KeyError` for a node that Slurm does not know."""
        for node in [self.nodes[name] for name in names]:
            self.on_change(node, body, who)
            self._remember(node)
            for word in body.get("state") or []:
                node.drain = {"DRAIN": True, "UNDRAIN": False}[word]
                node.whose = who if node.drain else ""
                if word == "UNDRAIN" and not node.down:
                    node.reason, node.by, node.at = "", "", 0
            if (node.drain or node.down) and "reason" in body:
                node.reason, node.by, node.at = body["reason"], "slurm", _seconds()
            node.extra = body.get("extra", node.extra)
            node.topology = body.get("topology_str", node.topology)
            node.features = tuple(body.get("features") or node.features)
        self.touch()
        self._schedule()

    def _remember(self, node: Node) -> None:
        if node.unsaved is None or node.unsaved[0] < now() - _SAVED_AFTER:
            node.unsaved = (now(), node.drained)

    def killed(self) -> None:
        """Be killed, as slurmctld, and come back without a memory of the last seconds."""
        for job in self.running:
            if job.began > now() - _SAVED_AFTER and len(job.nodes) == 1 and not self.nodes[job.node].drain:
                self.started_twice(job, ends_in=1.0)
        for node in self.nodes.values():
            if node.unsaved is not None and node.unsaved[0] > now() - _SAVED_AFTER and node.whose != SLURM:
                node.drained, node.unsaved = node.unsaved[1], None
                self.on_forgotten(node)
        self.touch()
        self._schedule()

    def started_twice(self, job: Job, *, ends_in: float = 0.0) -> None:
        """slurmctld, killed before it had saved that a job runs, is back: see `penstock/slurm/refused.py`.

        The first run takes a while to end, if it minds no signals.
        """
        node = self.nodes[job.node]
        node.drain, node.reason, node.by, node.at, node.whose = True, "Duplicate jobid", "slurm", _seconds(), SLURM
        self.put_back(job, ends_in=ends_in)

    def put_back(self, job: Job, *, ends_in: float = 0.0) -> None:
        """Put a job that was refused back into the queue, on hold."""
        node = self.nodes[job.node]
        job.held, job.tried = REFUSED, _seconds() - 1
        self._requeued(job)
        job.ending, job.too_early = True, True
        node.ending = True
        asyncio.get_running_loop().call_later(ends_in, self._first_run_over, job, node)
        self.touch()

    def _requeued(self, job: Job) -> None:
        for name in job.nodes:
            self.nodes[name].jobs.pop(job.number, None)
        job.began, job.node, job.nodes = 0.0, "", ()
        self._waiting.append(job)

    def _first_run_over(self, job: Job, node: Node) -> None:
        job.ending = node.ending = False
        asyncio.get_running_loop().call_later(_CREDENTIAL, self._eligible, job)
        self.touch()

    def _eligible(self, job: Job) -> None:
        job.too_early = False
        self._schedule()

    def release(self, number: int) -> None:
        """Take the hold off a job. `IndexError` for one that Slurm does not know."""
        self.jobs[number].held = None
        self.on_release()
        self._schedule()

    def cancel(self, number: int) -> None:
        """End a job."""
        job = self.jobs[number]
        if job in self._waiting:
            self._waiting.remove(job)
            job.ended, job.end = now(), "CANCELLED"
        self._end(job, "CANCELLED")

    def suspend(self, job: Job, *, suspended: bool = True) -> None:
        """Stop a job for a while, or let it go on; its node says that it is idle."""
        for name in job.nodes:
            (self.nodes[name].suspended.add if suspended else self.nodes[name].suspended.discard)(job.number)
        self.touch()

    def requeue(self, number: int) -> None:
        """End a job's run; it waits for another."""
        if (job := self.jobs[number]).runs:
            self._requeued(job)
            self.touch()
            self._schedule()

    def register(self, pod: Whole) -> None:
        """A worker's slurmd says that it is there. ReturnToService=2: a node that was down works; a drain stays.

        One that does not say what it has must be known before, one that does must not: slurmd ends, and begins again.
        """
        name, uid = node_name(pod), pod.metadata.uid
        self._speakers[uid] = pod
        if (name in self.static) == _is_dynamic(pod):
            return
        node = self.nodes.setdefault(name, Node(name, uid))
        node.pod, node.down, node.feature, node.static = uid, False, _feature(pod), name in self.static
        node.reason = node.reason if node.drain else ""
        self.touch()
        self._schedule()

    def _schedule(self) -> None:
        for job in [one for one in self._waiting if not one.held and not one.too_early]:
            free = [
                one.name
                for one in self.nodes.values()
                if one.room >= job.share and job.node in {"", one.name} and job.partition in {"", one.feature}
            ][: job.count]  # fmt: skip
            if len(free) == job.count:
                self._begin(job, free)

    def _begin(self, job: Job, names: list[str]) -> None:
        self._waiting.remove(job)
        job.node, job.nodes, job.began, job.tried = names[0], tuple(names), now(), _seconds()
        for name in names:
            self.nodes[name].jobs[job.number] = job.share
        asyncio.get_running_loop().call_later(job.seconds, self._end_run, job, job.began)
        self.touch()

    def _end_run(self, job: Job, began: float) -> None:
        if job.began == began:
            self._end(job, "COMPLETED")

    def _end(self, job: Job, state: str) -> None:
        if job.ended is None:
            job.ended, job.end = now(), state
            for name in job.nodes:
                self.nodes[name].jobs.pop(job.number, None)
            self.touch()
            self._schedule()

    def configured(self, partitions: dict[str, str], static: frozenset[str] = frozenset()) -> None:
        """Read a configuration. Jobs of a partition that is not there any more are ended; nobody may name it (PT-5).

        So are jobs of a node that is not there any more, unless it registered by itself; if it did, slurmd ends, and
        they with it, when it is there (TR-4).
        """
        self._configured_nodes(static)
        gone, self.partitions = self.partitions.keys() - partitions.keys(), partitions
        for name in sorted(name for name in gone if self.records(name)):
            self.lost.append(f"partition {name} at {now():.2f} s, which records name")
            self.on_partition_lost(name)
        for job in self.jobs:
            if job.partition in gone and job.ended is None:
                self.lost.append(f"job {job.number} of partition {job.partition} at {now():.2f} s")
                self.cancel(job.number)

    def _configured_nodes(self, static: frozenset[str]) -> None:
        self.static = static
        for node in [one for one in self.nodes.values() if one.static != (one.name in static)]:
            what = "lacks" if node.static else "has"
            self.lost += [f"job {job} on {node.name} at {now():.2f} s, which slurm.conf {what}" for job in node.jobs]
            self._goes_down(node, "")
            del self.nodes[node.name]
        for pod in [pod for uid, pod in self._speakers.items() if self._is_unknown(node_name(pod), uid)]:
            self.register(pod)

    def _is_unknown(self, node: str, worker: str) -> bool:
        return node not in self.nodes or self.nodes[node].pod != worker

    def open_windows(self) -> None:
        """Show on the nodes which reservations are open, and forget those that are over."""
        moment = _seconds()
        for one in [one for one in self.windows.values() if one.end <= moment]:
            del self.windows[one.name]
        opened = {name: one.name for one in self.windows.values() if one.start <= moment for name in one.nodes}
        for node in self.nodes.values():
            if node.reservation != opened.get(node.name, ""):
                node.reservation = opened.get(node.name, "")
                self.touch()

    @property
    def remembered(self) -> list[Job]:
        """Jobs of which slurmctld has a record."""
        return [job for job in self.jobs if job.ended is None or now() < job.ended + self.kept_for]

    def records(self, partition: str) -> int:
        """How many jobs slurmctld remembers that name a partition."""
        return sum(job.partition == partition for job in self.remembered)

    def touch(self) -> None:
        """Have everybody asked anew see all nodes."""
        self.updated = _seconds()


def _seconds() -> int:
    return int(clock().timestamp())


def _is_worker(pod: Whole) -> bool:
    return pod.metadata.labels.get(labels.NAME) == "slurmd"


def _is_dynamic(pod: Whole) -> bool:
    """Whether a worker's slurmd says what it has (`-Z`), so that Slurm need not know it before."""
    return any("-Z" in container.get("args", ()) for container in pod.spec["containers"])


def _feature(pod: Whole) -> str:
    return pod.metadata.labels.get(labels.INSTANCE, "").removeprefix("slurm-worker-")


def node_name(pod: Whole) -> str:
    """The Slurm node of a worker."""
    return pod.metadata.labels.get(labels.POD_HOSTNAME) or str(pod.spec.get("hostname") or pod.metadata.name)
