"""What the model of slurmctld keeps: nodes and jobs, as slurmrestd shows them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from penstock.api.objects import Json

WHOLE, HALF = 2, 1
"""How much of a node a job takes."""
REFUSED = ("JobHeldUser", "launch failed requeued held")


class Drain(NamedTuple):
    """All that a node has to do with a drain."""

    drain: bool = False
    reason: str = ""
    by: str = ""
    """Who gave the reason, and when by Slurm's clock."""
    at: int = 0
    extra: str = ""
    whose: str = ""
    """Who drained it, in truth."""


@dataclass(slots=True)
class Node:
    """A Slurm node."""

    name: str
    pod: str
    """Its worker's uid."""
    feature: str = ""
    """The set that it belongs to, and by that the partition."""
    features: tuple[str, ...] = ()
    """All of them, once somebody has told Slurm of others."""
    topology: str = ""
    static: bool = False
    """slurmctld's configuration has it."""
    down: bool = False
    drain: bool = False
    reason: str = ""
    by: str = ""
    at: int = 0
    extra: str = ""
    whose: str = ""
    jobs: dict[int, int] = field(default_factory=dict)
    """Numbers of the jobs on it, and how much of it each takes."""
    suspended: set[int] = field(default_factory=set)
    """Those of them that are; Slurm says that they take nothing."""
    ending: bool = False
    """A job that has no place here any more is still being ended."""
    reservation: str = ""
    """The one that is open on it."""
    unsaved: tuple[float, Drain] | None = None
    """Since when slurmctld has something to save, and what it saved before."""

    @property
    def room(self) -> int:
        """How much of it is free."""
        return 0 if self.down or self.drain else WHOLE - sum(self.jobs.values())

    @property
    def drained(self) -> Drain:
        """Its drain as it is now."""
        return Drain(self.drain, self.reason, self.by, self.at, self.extra, self.whose)

    @drained.setter
    def drained(self, was: Drain) -> None:
        self.drain, self.reason, self.by, self.at, self.extra, self.whose = was

    def report(self) -> Json:
        """The node as slurmrestd shows it."""
        taken = sum(share for number, share in self.jobs.items() if number not in self.suspended)
        base = "DOWN" if self.down else "IDLE" if not taken else "ALLOCATED" if taken == WHOLE else "MIXED"
        flags = [
            *(["DRAIN"] if self.drain else []), *(["COMPLETING"] if self.ending else []),
            *(["NOT_RESPONDING"] if self.down and not self.pod else []),
            *(["RESERVED", "MAINTENANCE"] if self.reservation else []), *([] if self.static else ["DYNAMIC_NORM"]),
        ]  # fmt: skip
        about = {"reason_set_by_user": self.by, "reason_changed_at": {"set": True, "number": self.at}}
        has = self.features or ((self.feature,) if self.feature else ())
        return {
            "name": self.name, "state": [base, *flags], "reason": self.reason, "extra": self.extra, **about,
            "features": has, "active_features": has, "reservation": self.reservation, "topology": self.topology,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Window:
    """A reservation; Slurm moves one that repeats ahead when it is over, this one forgets it."""

    name: str
    nodes: tuple[str, ...]
    start: int
    minutes: int
    flags: tuple[str, ...]

    @property
    def end(self) -> int:
        """When it is over."""
        return self.start + self.minutes * 60

    def report(self) -> Json:
        """The reservation as slurmrestd shows it."""
        times = {"start_time": self.start, "end_time": self.end}
        numbers = {key: {"set": True, "number": value} for key, value in times.items()}
        return {"name": self.name, "node_list": ",".join(self.nodes), "flags": [*self.flags, "SPEC_NODES"], **numbers}


@dataclass(slots=True)
class Job:
    """A job: how long it runs, and where."""

    number: int
    seconds: float
    node: str = ""
    """Where it is, or alone may be."""
    count: int = 1
    """How many nodes it needs."""
    share: int = WHOLE
    partition: str = ""
    """Where it waits; empty: anywhere."""
    nodes: tuple[str, ...] = ()
    began: float = 0.0
    ended: float | None = None
    end: str = "COMPLETED"
    held: tuple[str, str] | None = None
    """Slurm's reason and description of a hold."""
    tried: int = 0
    """When the scheduler last thought of it."""
    ending: bool = False
    """It waits, but its first run is still being ended."""
    too_early: bool = False
    """Its credential has not expired."""
    comment: str = ""
    """What an administrator wrote on it."""
    requeues: bool = True
    """Not so with --no-requeue."""

    @property
    def runs(self) -> bool:
        """Whether it is on its nodes."""
        return bool(self.began) and self.ended is None

    @property
    def state(self) -> list[str]:
        """Its state as slurmrestd shows it."""
        base = self.end if self.ended is not None else "RUNNING" if self.began else "PENDING"
        return [base, "COMPLETING"] if self.ending else [base]

    def report(self) -> Json:
        """The job as slurmrestd shows it."""
        reason, description = self.held or ("None", "")
        words = {"state_reason": reason, "state_description": description, "hold": self.held is not None}
        tried = {"set": True, "number": self.tried}
        return {
            "job_id": self.number, "job_state": self.state, "last_sched_evaluation": tried,
            "nodes": ",".join(self.nodes) if self.runs else "", "partition": self.partition,
            "admin_comment": self.comment, **words,
        }  # fmt: skip
