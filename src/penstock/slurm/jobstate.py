"""The state of a Slurm job: what it does, whether it is over, and whether it still holds its nodes.

REST gives a list of words: one base state and any number of flags, ["CANCELLED", "COMPLETING"]. The base state alone
deceives in two ways that cost somebody a job. A cancelled job may still be cleaning up on its node. And a job that
ended may be on its way back into the queue, or be back there as PENDING while its first run still cleans up.
So `finished` means over for good, and `holds_node` is asked apart from it and says yes when in doubt.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Base(StrEnum):
    """Where the job is in its life."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUSPENDED = "SUSPENDED"
    COMPLETED = "COMPLETED"
    CANCELLED = "CANCELLED"
    FAILED = "FAILED"
    TIMEOUT = "TIMEOUT"
    NODE_FAIL = "NODE_FAIL"
    PREEMPTED = "PREEMPTED"
    BOOT_FAIL = "BOOT_FAIL"
    DEADLINE = "DEADLINE"
    OUT_OF_MEMORY = "OUT_OF_MEMORY"


class Flag(StrEnum):
    """What else is true of it, the more telling first: `word` shows the first one that the job has."""

    COMPLETING = "COMPLETING"
    CONFIGURING = "CONFIGURING"
    POWER_UP_NODE = "POWER_UP_NODE"
    STAGE_OUT = "STAGE_OUT"
    STOPPED = "STOPPED"
    SIGNALING = "SIGNALING"
    RESIZING = "RESIZING"
    EXPEDITING = "EXPEDITING"
    SPECIAL_EXIT = "SPECIAL_EXIT"
    REQUEUE_HOLD = "REQUEUE_HOLD"
    REQUEUED = "REQUEUED"
    REQUEUE_FED = "REQUEUE_FED"
    RESV_DEL_HOLD = "RESV_DEL_HOLD"
    REVOKED = "REVOKED"
    LAUNCH_FAILED = "LAUNCH_FAILED"
    RECONFIG_FAIL = "RECONFIG_FAIL"


_WORDS: dict[Base | Flag, str] = {
    Base.PENDING: "waiting",
    Base.RUNNING: "running",
    Base.SUSPENDED: "paused",
    Base.COMPLETED: "done",
    Base.CANCELLED: "cancelled",
    Base.FAILED: "failed",
    Base.TIMEOUT: "out of time",
    Base.NODE_FAIL: "lost its node",
    Base.PREEMPTED: "made way for another job",
    Base.BOOT_FAIL: "its node did not boot",
    Base.DEADLINE: "missed its deadline",
    Base.OUT_OF_MEMORY: "out of memory",
    Flag.COMPLETING: "cleaning up",
    Flag.CONFIGURING: "its nodes are starting",
    Flag.POWER_UP_NODE: "its nodes are powering up",
    Flag.STAGE_OUT: "copying results out",
    Flag.STOPPED: "stopped, keeps its nodes",
    Flag.SIGNALING: "being signalled",
    Flag.RESIZING: "changing size",
    Flag.EXPEDITING: "restarting at once",
    Flag.SPECIAL_EXIT: "held after a special exit",
    Flag.REQUEUE_HOLD: "back in the queue, held",
    Flag.REQUEUED: "going back to the queue",
    Flag.REQUEUE_FED: "moving to another cluster",
    Flag.RESV_DEL_HOLD: "held, its reservation is gone",
    Flag.REVOKED: "taken over by another cluster",
    Flag.LAUNCH_FAILED: "could not be started",
    Flag.RECONFIG_FAIL: "its nodes could not be prepared",
}

_ON_A_NODE = {Base.RUNNING, Base.SUSPENDED}
_OVER = set(Base) - _ON_A_NODE - {Base.PENDING}
_KEEPS_NODE = {
    Flag.COMPLETING,
    Flag.CONFIGURING,
    Flag.POWER_UP_NODE,
    Flag.STAGE_OUT,
    Flag.STOPPED,
    Flag.SIGNALING,
    Flag.RESIZING,
    Flag.EXPEDITING,
}
_COMES_BACK = {Flag.EXPEDITING, Flag.SPECIAL_EXIT, Flag.REQUEUE_HOLD, Flag.REQUEUED, Flag.REQUEUE_FED}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobState:
    """A job's state; make one with `parse`."""

    base: Base | None  # None: Slurm named no base state that this page knows, or more than one
    flags: frozenset[Flag]
    unfamiliar: frozenset[str]  # words of a Slurm newer than this page

    @property
    def pending(self) -> bool:
        """In the queue."""
        return self.base is Base.PENDING

    @property
    def running(self) -> bool:
        """Started and not yet ended; its nodes may still be booting."""
        return self.base is Base.RUNNING

    @property
    def finished(self) -> bool:
        """Over for good: nothing of it runs any more, and it does not come back."""
        return self.base in _OVER and not self.flags & (_KEEPS_NODE | _COMES_BACK)

    @property
    def holds_node(self) -> bool:
        """Something of it may be on its nodes.

        An unfamiliar flag counts, since new ones have meant this before (EXPEDITING). The doubt has an end: slurmctld
        forgets finished jobs after MinJobAge.
        """
        return self.base is None or self.base in _ON_A_NODE or bool(self.flags & _KEEPS_NODE or self.unfamiliar)

    @property
    def word(self) -> str:
        """The state in plain words, as squeue chooses it: a flag says more than the base state."""
        flag = next((flag for flag in Flag if flag in self.flags), None)
        state = flag or self.base
        return _WORDS[state] if state else "unknown"


def parse(words: Iterable[str]) -> JobState:
    """Read the state list of REST, such as ["CANCELLED", "COMPLETING"]: ended, but still holding its node."""
    given = {word.strip().upper() for word in words} - {""}
    bases = [base for base in Base if base in given]
    return JobState(
        base=bases[0] if len(bases) == 1 else None,
        flags=frozenset(flag for flag in Flag if flag in given),
        unfamiliar=frozenset(given.difference(Base, Flag)),
    )
