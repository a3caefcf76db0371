"""What the played slurmrestd knows: nodes, jobs, and what orders do to them.

The transitions were read off the real daemons of 26.05 and 24.11; `test_slurm_contract.py` holds both to them. Values
are frozen and change through `Model.change` only, so that an answer is encoded once per change and not per request.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, TypedDict, Unpack

from penstock.slurm.nodestate import Base, Flag

_REPLACED_BY_RESUME = {Flag.DRAIN, Flag.FAIL, Flag.NOT_RESPONDING}


class Release(Enum):
    """A Slurm release with the versions of the API that it speaks."""

    R26_05 = ("v0.0.45", "v0.0.44", "v0.0.43", "v0.0.42")
    R24_11 = ("v0.0.42", "v0.0.41", "v0.0.40")


@dataclass(frozen=True, slots=True)
class Refusal(Exception):
    """Slurm's no: number and words of slurm_errno.h."""

    number: int
    words: str


INVALID_NAME = Refusal(2018, "Invalid node name specified")
BUSY = Refusal(2016, "Requested nodes are busy")
NO_SUCH_JOB = Refusal(2017, "Invalid job id specified")
JOB_OVER = Refusal(2084, "Job has already finished")
NOT_DYNAMIC = Refusal(2028, "Invalid node state specified")
NO_TOPOLOGY = Refusal(2178, "Requested topology configuration is not available")
FEATURES_IN_USE = Refusal(2031, "Active features not subset of available features")
_INVALID_TRANSITION = {
    Release.R26_05: Refusal(2180, "Invalid node state transition"),
    Release.R24_11: Refusal(2028, "Invalid node state specified"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A Slurm node; `state` has the words of REST, the base state first."""

    name: str
    state: tuple[str, ...] = ("IDLE", "DYNAMIC_NORM")
    reason: str = ""
    reason_by: str = ""
    reason_at: int = 0
    comment: str = ""
    extra: str = ""
    features: tuple[str, ...] = ("compute",)
    active_features: tuple[str, ...] = ("compute",)
    partitions: tuple[str, ...] = ("compute",)
    topology: str = ""
    reservation: str = ""

    def having(self, *, base: str = "", add: str = "", without: Iterable[str] = ()) -> tuple[str, ...]:
        """The words of its state with another base, one flag more, or without some."""
        dropped = {*without, add}
        kept = tuple(word for word in self.state[1:] if word not in dropped)
        return (base or self.state[0], *((add,) if add else ()), *kept)


class Changes(TypedDict, total=False):
    """Fields of a node that can be changed."""

    state: tuple[str, ...]
    reason: str
    reason_by: str
    reason_at: int
    comment: str
    extra: str
    features: tuple[str, ...]
    active_features: tuple[str, ...]
    partitions: tuple[str, ...]
    topology: str
    reservation: str


@dataclass(frozen=True, slots=True)
class Job:
    """A job and where it runs."""

    number: int
    nodes: tuple[str, ...]
    state: str = "RUNNING"
    held: tuple[str, str] | None = None
    """The reason of a hold, and what slurmctld writes over it."""
    tried: int = 0
    """When the scheduler last tried to start it."""
    partition: str = "compute"
    requeues: bool = True
    comment: str = ""
    """What an administrator wrote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Nodes that are kept for somebody, for a time."""

    name: str
    nodes: tuple[str, ...]
    start: int
    minutes: int
    flags: tuple[str, ...]
    users: tuple[str, ...]

    @property
    def end(self) -> int:
        """When it is over."""
        return self.start + self.minutes * 60


@dataclass(slots=True)
class Model:
    """A Slurm cluster without daemons."""

    nodes: dict[str, Node] = field(default_factory=dict)
    """To be read; `change`, `add` and `forget` write."""
    jobs: dict[int, Job] = field(default_factory=dict)
    reservations: dict[str, Reservation] = field(default_factory=dict)
    release: Release = Release.R26_05
    topologies: frozenset[str] = frozenset({"default"})
    """Those that slurmctld knows; without a topology.yaml it is this one."""
    reconfigured: int = 0
    clock: Callable[[], float] = time.time
    wakes_slowly: bool = False
    """Real nodes do not respond for a moment after RESUME and UNDRAIN; `woken` ends it."""
    updated: int = 0
    """Slurm's time of the last change, in seconds: two changes within one cannot be told apart."""
    partitions_updated: int = 0
    """The same of partitions, which change when nodes come and go."""
    fresh: set[str] = field(default_factory=set)
    """Nodes that changed since somebody encoded them."""

    def add(self, names: Iterable[str], **fields: Unpack[Changes]) -> None:
        """Let nodes register."""
        for name in names:
            self._put(Node(name=name, **fields))

    def change(self, name: str, **fields: Unpack[Changes]) -> None:
        """Make a node so, as if it had come about inside Slurm."""
        self._put(replace(self.nodes[name], **fields))

    def forget(self, *names: str) -> None:
        """Delete nodes, as an order does: all that can be; the first that cannot is the answer."""
        refused = {name: why for name in names if (why := self._stays(self.nodes.get(name))) is not None}
        for name in names:
            if name not in refused:
                del self.nodes[name]
                self._touch(name)
                self.partitions_updated = self.updated
        for why in refused.values():
            raise why

    def _stays(self, node: Node | None) -> Refusal | None:
        if node is None:
            return INVALID_NAME
        if Flag.DYNAMIC_NORM not in node.state:
            return NOT_DYNAMIC
        runs = any(node.name in job.nodes and job.state == "RUNNING" for job in self.jobs.values())
        return BUSY if runs or node.reservation else None

    def start_job(self, number: int, *names: str, whole: bool = True, requeues: bool = True) -> None:
        """Run a job on nodes, on all of each or on a part."""
        before = self.jobs.get(number, Job(number, names, requeues=requeues))
        self.jobs[number] = replace(before, nodes=names, state="RUNNING", held=None, tried=int(self.clock()))
        for name in names:
            self.change(name, state=self.nodes[name].having(base="ALLOCATED" if whole else "MIXED"))

    def end_job(self, number: int, state: str = "COMPLETED") -> None:
        """End a job; nodes that run no other are idle."""
        ended = self.jobs[number] = replace(self.jobs[number], state=state)
        running = {name for job in self.jobs.values() if job.state == "RUNNING" for name in job.nodes}
        for name in ended.nodes:
            if name not in running and self.nodes[name].state[0] in {"ALLOCATED", "MIXED"}:
                self.change(name, state=self.nodes[name].having(base="IDLE"))

    def hold_job(self, number: int, *names: str) -> None:
        """Submit a job on hold that wants to run on nodes."""
        self.jobs[number] = Job(number, names, "PENDING", held=("JobHeldUser", ""), tried=int(self.clock()))

    def release_job(self, number: int) -> None:
        """Take the hold off a job, as an order does; here it starts at once."""
        job = self.job(number)
        if job.state not in {"PENDING", "RUNNING"}:
            raise JOB_OVER
        if job.held:
            self.start_job(number, *job.nodes)

    def job(self, number: int) -> Job:
        """A job."""
        if number not in self.jobs:
            raise NO_SUCH_JOB
        return self.jobs[number]

    def started_twice(self, number: int) -> None:
        """Kill slurmctld before it has saved that a job runs, and let it come back: `penstock/slurm/refused.py`."""
        self.end_job(number, "PENDING")
        node, moment = self.jobs[number].nodes[0], int(self.clock())
        held = ("JobHeldUser", "launch failed requeued held")
        self.jobs[number] = replace(self.jobs[number], held=held, tried=moment)
        drained = self.nodes[node].having(add=Flag.DRAIN)
        self.change(node, state=drained, reason="Duplicate jobid", reason_by="slurm", reason_at=moment)

    def woken(self) -> None:
        """All nodes respond again."""
        for node in [node for node in self.nodes.values() if Flag.NOT_RESPONDING in node.state]:
            self.change(node.name, state=node.having(without=[Flag.NOT_RESPONDING]))

    def order(self, names: Sequence[str], wanted: dict[str, Any]) -> None:
        """Do what an update asks of nodes. One unknown name, and nothing is done to any."""
        if not names or any(name not in self.nodes for name in names):
            raise INVALID_NAME
        for name in names:
            self._put(self._ordered(self.nodes[name], wanted))

    def _ordered(self, node: Node, wanted: dict[str, Any]) -> Node:
        plain: Changes = {}
        if "comment" in wanted:
            plain["comment"] = wanted["comment"]
        if "extra" in wanted:
            plain["extra"] = wanted["extra"]
        if wanted.get("features"):
            plain["features"] = plain["active_features"] = tuple(wanted["features"])
        if "topology_str" in wanted and self.release is Release.R26_05:
            plain["topology"] = self._known_topology(wanted["topology_str"])
        if wanted.get("features_act"):
            plain["active_features"] = tuple(wanted["features_act"])
        elif wanted.get("features") and not set(node.active_features) <= set(wanted["features"]):
            raise FEATURES_IN_USE
        node = self._with_reason(replace(node, **plain), wanted.get("reason"))
        words = wanted.get("state") or []
        if len(words) > 1:
            raise _INVALID_TRANSITION[self.release]
        return self._moved(node, words[0], wanted.get("reason")) if words else node

    def _known_topology(self, text: str) -> str:
        if text and any(part.partition(":")[0] not in self.topologies for part in text.split(",")):
            raise NO_TOPOLOGY
        return text

    def _with_reason(self, node: Node, reason: str | None) -> Node:
        # 26.05 keeps a reason only where there is something to explain.
        explains = self.release is Release.R24_11 or {"DRAIN", "FAIL", "DOWN"} & set(node.state)
        if reason is None or not explains:
            return node
        return replace(node, reason=reason, reason_by="slurm", reason_at=int(self.clock()))

    def _moved(self, node: Node, word: str, reason: str | None) -> Node:
        troubled = node.state[0] == Base.DOWN or _REPLACED_BY_RESUME & set(node.state)
        if word == "DOWN":
            self._end_jobs_on(node.name)
            return self._with_reason(replace(node, state=node.having(base="DOWN")), reason)
        if word in {"DRAIN", "FAIL"}:
            return self._with_reason(replace(node, state=node.having(add=word)), reason)
        if word == "UNDRAIN":
            return self._undrained(node) if Flag.DRAIN in node.state else node
        if word == "RESUME" and not troubled:
            raise _INVALID_TRANSITION[self.release]
        return self._resumed(node)

    def _undrained(self, node: Node) -> Node:
        state = node.having(without=[Flag.DRAIN], add=self._waking)
        return (
            self._without_reason(replace(node, state=state)) if node.state[0] != "DOWN" else replace(node, state=state)
        )

    def _resumed(self, node: Node) -> Node:
        base = "IDLE" if node.state[0] == Base.DOWN else node.state[0]
        return self._without_reason(
            replace(node, state=node.having(base=base, without=_REPLACED_BY_RESUME, add=self._waking))
        )

    def _without_reason(self, node: Node) -> Node:
        return node if self.release is Release.R24_11 else replace(node, reason="", reason_by="", reason_at=0)

    @property
    def _waking(self) -> str:
        return Flag.NOT_RESPONDING if self.wakes_slowly else ""

    def _end_jobs_on(self, name: str) -> None:
        for job in [job for job in self.jobs.values() if name in job.nodes and job.state == "RUNNING"]:
            self.end_job(job.number, "NODE_FAIL")

    def _put(self, node: Node) -> None:
        if self.nodes.get(node.name) != node:
            new = node.name not in self.nodes
            self.nodes[node.name] = node
            self._touch(node.name)
            self.partitions_updated = self.updated if new else self.partitions_updated

    def _touch(self, name: str) -> None:
        self.fresh.add(name)
        self.updated = int(self.clock())
