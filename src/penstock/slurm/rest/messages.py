"""What slurmrestd answers, as far as we read it: what is not decoded is free."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec
from msgspec.structs import force_setattr

from penstock.slurm import jobstate, nodestate
from penstock.slurm.sharing import shared

_ALIKE = ("state", "features", "active_features", "partitions", "reason_changed_at", "last_busy")


class Number(msgspec.Struct, frozen=True, gc=False):
    """Slurm's way to say a number, none, or without end."""

    set: bool = False
    infinite: bool = False
    number: int = 0

    @property
    def value(self) -> int | None:
        """The number, if it is one."""
        return self.number if self.set and not self.infinite else None


class NodeReport(msgspec.Struct, frozen=True, gc=False):
    """A Slurm node as slurmctld knows it."""

    name: str
    state: tuple[str, ...] = ()
    reason: str = ""
    reason_set_by_user: str = ""
    reason_changed_at: Number = Number()
    comment: str = ""
    extra: str = ""
    features: tuple[str, ...] = ()
    active_features: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    reservation: str = ""
    topology: str = ""
    address: str = ""
    last_busy: Number = Number()

    def __post_init__(self) -> None:
        """Nodes of a set differ in little but their names."""
        for field in _ALIKE:
            force_setattr(self, field, shared(getattr(self, field)))

    @property
    def condition(self) -> nodestate.NodeState:
        """The state with its questions answered: busy, drained, responding."""
        return _node_state(self.state)


@lru_cache(maxsize=1024)
def _node_state(words: tuple[str, ...]) -> nodestate.NodeState:
    """Thousands of nodes share a handful of states."""
    return nodestate.parse(words)


class PartitionReport(msgspec.Struct, frozen=True):
    """A partition as slurmctld runs it."""

    class Nodes(msgspec.Struct, frozen=True):
        """Its nodes, as a host list."""

        configured: str = ""
        total: int = 0

    class About(msgspec.Struct, frozen=True):
        """How it is."""

        state: tuple[str, ...] = ()

    name: str
    nodes: Nodes = Nodes()
    partition: About = About()

    @property
    def takes_jobs(self) -> bool:
        """Whether new jobs may name it. What is not said is no word against it."""
        return not {"DRAIN", "INACTIVE"} & set(self.partition.state)


class JobStateReport(msgspec.Struct, frozen=True):
    """A job and what it does."""

    job_id: int | str
    """Slurm writes this number as text here."""
    state: tuple[str, ...] = ()

    @property
    def number(self) -> int | None:
        """The job's number; None for what is none, so that nobody mistakes it for another job."""
        text = str(self.job_id)
        return int(text) if text.isdecimal() else None

    @property
    def condition(self) -> jobstate.JobState:
        """The state with its questions answered."""
        return jobstate.parse(self.state)

    @property
    def record(self) -> int | None:
        """The number under which Slurm keeps it; the tasks of an array that were never started are kept under one.

        Of a task it is the number before the `_`, of a part of a heterogeneous job the one before the `+`.
        """
        text = re.split("[_+]", str(self.job_id), maxsplit=1)[0]
        return int(text) if text.isdecimal() else None


class JobReport(msgspec.Struct, frozen=True):
    """A job, as far as we read it: the whole of it is 9 kB."""

    job_id: int
    partition: str = ""
    """The one that it runs in; before that all that it may run in."""
    admin_comment: str = ""
    job_state: tuple[str, ...] = ()
    state_reason: str = ""
    state_description: str = ""
    hold: bool = False
    last_sched_evaluation: Number = Number()
    """When the scheduler last tried to start it. Nobody tries that with a job on hold."""

    @property
    def condition(self) -> jobstate.JobState:
        """The state with its questions answered."""
        return jobstate.parse(self.job_state)


class JobReached(msgspec.Struct, frozen=True):
    """A job that an order was meant for, and whether it reached it."""

    class Trouble(msgspec.Struct, frozen=True):
        """Why it did not; number 0 when it did."""

        code: int = 0
        string: str = ""

    step_id: str
    """What people call it, and what orders to one job should: `12`, `7_3` of an array, `9+1` of a job of many kinds."""
    job_id: Number = Number()
    """Its record. That of an array's last task has the array's number, which Slurm takes for all of the tasks."""
    error: Trouble = Trouble()

    @property
    def trouble(self) -> str:
        """Why the order did not reach it, in Slurm's words; nothing when it did."""
        return self.error.string if self.error.code else ""


class ReservationReport(msgspec.Struct, frozen=True):
    """A reservation, as far as we read it."""

    name: str
    node_list: str = ""
    flags: tuple[str, ...] = ()
    start_time: Number = Number()
    end_time: Number = Number()


class PingReport(msgspec.Struct, frozen=True):
    """Whether a slurmctld answers."""

    hostname: str
    responding: bool = False
    primary: bool = False


class Fault(msgspec.Struct, frozen=True):
    """One error of an answer."""

    description: str = ""
    error_number: int = 0
    error: str = ""
    source: str = ""

    def __str__(self) -> str:
        return ": ".join(part for part in (self.description, self.error) if part and part != "No error")


class Answer(msgspec.Struct, frozen=True):
    """What all answers have in common."""

    errors: tuple[Fault, ...] = ()

    @property
    def empty(self) -> bool:
        """It tells of nothing."""
        return False


class NodesAnswer(Answer, frozen=True):
    """Answer of nodes/ and node/{name}."""

    nodes: tuple[NodeReport, ...] = ()
    last_update: Number = Number()

    @property
    def empty(self) -> bool:
        """No node."""
        return not self.nodes


class PartitionsAnswer(Answer, frozen=True):
    """Answer of partitions/."""

    partitions: tuple[PartitionReport, ...] = ()


class JobStatesAnswer(Answer, frozen=True):
    """Answer of jobs/state/."""

    jobs: tuple[JobStateReport, ...] | None = ()


class JobsAnswer(Answer, frozen=True):
    """Answer of job/{number}."""

    jobs: tuple[JobReport, ...] = ()


class PingAnswer(Answer, frozen=True):
    """Answer of ping/."""

    pings: tuple[PingReport, ...] = ()


class JobsReachedAnswer(Answer, frozen=True):
    """Answer to an order about jobs that are named by what they have in common."""

    status: tuple[JobReached, ...] = ()


class ReservationsAnswer(Answer, frozen=True):
    """Answer of reservation/{name}."""

    reservations: tuple[ReservationReport, ...] = ()

    @property
    def empty(self) -> bool:
        """No reservation."""
        return not self.reservations
