"""What can be done about a NodeSet: the words of a plan. Each step says about whom it is, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from penstock.api.objects import Json
from penstock.operator.resources import Claim, Pod
from penstock.render.seat import Seat

if TYPE_CHECKING:
    from penstock.operator.nodeset.bounded import Order


class Cause(Enum):
    """Why a worker leaves; the value stands in the reason of its drain."""

    SCALE_IN = "scale-in"
    UPDATE = "update"
    MACHINE = "its machine is not meant for it any more"
    MODE = "the scaling mode has changed"
    DELETION = "its NodeSet is deleted"


@dataclass(frozen=True, slots=True)
class Leaving:
    """A worker that shall go."""

    pod: Pod
    cause: Cause
    why: str


@dataclass(frozen=True, slots=True)
class Create:
    """Make the worker of a seat, with its claims."""

    seat: Seat


@dataclass(frozen=True, slots=True)
class Adopt:
    """Take over a worker that nobody owns."""

    pod: Pod
    why: str = "it is a worker of this NodeSet by its labels, and nobody owns it"


@dataclass(frozen=True, slots=True)
class Blocked:
    """A seat that cannot be taken yet, and why."""

    seat: Seat
    why: str
    reason: str = "ClaimsInTheWay"
    """In a word, for the condition."""


@dataclass(frozen=True, slots=True)
class Remove:
    """Delete a worker."""

    pod: Pod
    why: str
    drained: bool
    """Whether Slurm must say once more, right before, that it is drained and idle."""
    claims: Sequence[Claim] = ()
    """Claims that go with it."""


@dataclass(frozen=True, slots=True)
class Drain:
    """Let no more jobs come to a worker."""

    pod: Pod
    node: str
    why: str
    """The reason that Slurm is told, and shows."""


@dataclass(frozen=True, slots=True)
class Wait:
    """A worker that should go, and why it does not."""

    pod: Pod
    why: str
    unknown: bool = False
    """Slurm does not tell, as against: Slurm says that it is busy."""


@dataclass(frozen=True, slots=True)
class Tend:
    """Change a claim: whose it is, or how large."""

    claim: Claim
    owners: Sequence[Json] | None = None
    """All of its owners from now on; None: as they are."""
    request: str | None = None
    """Its new size; None: as it is."""

    @property
    def why(self) -> str:
        """In words."""
        size = [f"it shall have {self.request}"] if self.request else []
        whose = [] if self.owners is None else [f"it belongs to {self.owners[-1]['kind'] if self.owners else 'nobody'}"]
        return " and ".join(whose + size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All that is to be done now."""

    create: Sequence[Create] = ()
    more: bool = False
    """There is more to create than fits in one look."""
    blocked: Sequence[Blocked] = ()
    adopt: Sequence[Adopt] = ()
    drain: Sequence[Drain] = ()
    undrain: Sequence[str] = ()
    """Slurm nodes to be given back."""
    remove: Sequence[Remove] = ()
    wait: Sequence[Wait] = ()
    tend: Sequence[Tend] = ()
    claims: Sequence[Json] = ()
    """Claims that a worker should have and that are not there."""
    conflicts: Sequence[str] = ()
    """What belongs to somebody else and is in the way."""
    relabel: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Labels that workers lack, by their names."""
    jobs: Sequence[Order] = ()
    """What is done to jobs that outlast a drain."""
    again: float | None = None
    """Seconds until more of them will have; None: not before something changes."""
    leaving: Sequence[Leaving] = ()
    """Those that shall go, however far that has come."""

    @property
    def growing(self) -> frozenset[tuple[str, str]]:
        """The uids of claims that should be larger, and how large."""
        return frozenset((one.claim.metadata.uid, one.request) for one in self.tend if one.request)
