"""The state of a Slurm node, and the questions everybody has about it: is it busy, drained, responding.

REST gives a list of words: one base state and any number of flags, ["IDLE", "DRAIN"]. "Draining" and "drained" are no
states there; they follow from DRAIN and from what the node still runs.

Every answer fails closed. A node is deleted when it is drained and not busy, so an unknown state counts as busy, as not
drained and as not responding, whichever way the question is put. `known` tells a node that works from one we only
assume to. A new flag does not make a state unknown, because jobs show in the base state; a new base state does.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property


class Base(StrEnum):
    """What the node as a whole does. Exactly one counts: the first of this order that the node reports."""

    ALLOCATED = "ALLOCATED"
    DOWN = "DOWN"
    ERROR = "ERROR"
    FUTURE = "FUTURE"
    IDLE = "IDLE"
    MIXED = "MIXED"
    UNKNOWN = "UNKNOWN"


class Flag(StrEnum):
    """What else is true of it. The words are those of REST v0.0.42 to v0.0.45; PERFCTRS is older."""

    BLOCKED = "BLOCKED"
    CLOUD = "CLOUD"
    COMPLETING = "COMPLETING"
    DRAIN = "DRAIN"
    DYNAMIC_FUTURE = "DYNAMIC_FUTURE"
    DYNAMIC_NORM = "DYNAMIC_NORM"
    EXTERNAL = "EXTERNAL"
    FAIL = "FAIL"
    INVALID = "INVALID"
    INVALID_REG = "INVALID_REG"
    MAINTENANCE = "MAINTENANCE"
    NOT_RESPONDING = "NOT_RESPONDING"
    PERFCTRS = "PERFCTRS"
    PLANNED = "PLANNED"
    POWERED_DOWN = "POWERED_DOWN"
    POWERING_DOWN = "POWERING_DOWN"
    POWERING_UP = "POWERING_UP"
    POWER_DOWN = "POWER_DOWN"
    POWER_DOWN_ASAP = "POWER_DOWN_ASAP"
    POWER_DOWN_FORCE = "POWER_DOWN_FORCE"
    POWER_DRAIN = "POWER_DRAIN"
    POWER_UP = "POWER_UP"
    REBOOT_CANCELED = "REBOOT_CANCELED"
    REBOOT_ISSUED = "REBOOT_ISSUED"
    REBOOT_REQUESTED = "REBOOT_REQUESTED"
    RESERVED = "RESERVED"
    RESUME = "RESUME"
    UNDRAIN = "UNDRAIN"


@dataclass(frozen=True, kw_only=True)
class NodeState:
    """A node's state; make one with `parse` or `parse_sinfo`. Thousands of nodes share one: it answers once."""

    bases: frozenset[Base]  # one, unless the source said nothing or contradicts itself
    flags: frozenset[Flag]
    unfamiliar: frozenset[str]  # words of a Slurm newer than this page

    @cached_property
    def base(self) -> Base:
        """The base state people see."""
        return next((base for base in Base if base in self.bases), Base.UNKNOWN)

    @cached_property
    def known(self) -> bool:
        """Slurm told what the node does, so the other answers are facts and not caution."""
        return bool(self.bases) and Base.UNKNOWN not in self.bases

    @cached_property
    def busy(self) -> bool:
        """Somebody's work may be on the node."""
        working = self.bases & {Base.ALLOCATED, Base.MIXED} or Flag.COMPLETING in self.flags
        return bool(working) or not self.known

    @cached_property
    def drain(self) -> bool:
        """The node takes no new jobs because somebody asked for that."""
        return Flag.DRAIN in self.flags and Flag.UNDRAIN not in self.flags

    @cached_property
    def draining(self) -> bool:
        """Asked to drain, and work may still be there."""
        return self.drain and self.busy

    @cached_property
    def drained(self) -> bool:
        """Asked to drain, and certainly empty: the node may go."""
        return self.drain and not self.busy

    @cached_property
    def responding(self) -> bool:
        """The node's slurmd answers slurmctld."""
        return self.known and Flag.NOT_RESPONDING not in self.flags


def parse(words: Iterable[str]) -> NodeState:
    """Read the state list of REST, such as ["IDLE", "DRAIN"]: a drained node."""
    given = {word.strip().upper() for word in words} - {""}
    return NodeState(
        bases=frozenset(base for base in Base if base in given),
        flags=frozenset(flag for flag in Flag if flag in given),
        unfamiliar=frozenset(given.difference(Base, Flag)),
    )


# sinfo shows one word and hides the rest, and the word for an empty node may hide a busy one. A word without a certain
# base state leaves it out and so reads as unknown: INVAL hides running jobs, DRAINED hides UNKNOWN, DOWN hides
# COMPLETING, and FAIL was printed for MIXED nodes until 24.11. DRAINING and FAILING mean work of some kind.
_SINFO_WORDS: dict[str, tuple[str, ...]] = {
    "ALLOC": ("ALLOCATED",),
    "BLOCK": ("IDLE", "BLOCKED"),
    "BLOCKED": ("IDLE", "BLOCKED"),
    "BOOT": ("REBOOT_REQUESTED",),
    "COMP": ("COMPLETING",),
    "DOWN": ("DOWN", "UNKNOWN"),
    "DRAINED": ("DRAIN",),
    "DRAINING": ("MIXED", "DRAIN"),
    "DRNG": ("MIXED", "DRAIN"),
    "FAILG": ("MIXED", "FAIL"),
    "FAILING": ("MIXED", "FAIL"),
    "FUTR": ("FUTURE",),
    "INVAL": ("INVALID_REG",),
    "MAINT": ("MAINTENANCE",),
    "MIX": ("MIXED",),
    "PLANNED": ("IDLE", "PLANNED"),
    "PLND": ("IDLE", "PLANNED"),
    "REBOOT": ("REBOOT_REQUESTED",),
    "RESERVED": ("IDLE", "RESERVED"),
    "RESM": ("RESUME",),
    "RESV": ("IDLE", "RESERVED"),
    "UNK": ("UNKNOWN",),
}

_SINFO_MARKS = {
    "*": "NOT_RESPONDING",
    "~": "POWERED_DOWN",
    "#": "POWERING_UP",
    "!": "POWER_DOWN",
    "%": "POWERING_DOWN",
    "$": "MAINTENANCE",
    "@": "REBOOT_REQUESTED",
    "^": "REBOOT_ISSUED",
    "-": "PLANNED",
    "+": "COMPLETING",
}


def parse_sinfo(text: str) -> NodeState:
    """Read one state as sinfo ("drng", "mix-", "down*") or scontrol ("IDLE+DRAIN") prints it.

    Good for showing; ask REST or scontrol before acting. sinfo's "drained" is not certain enough to be `drained`, and
    sinfo has room for one mark only, so that "idle~" may hide that the node does not respond.
    """
    words = text.strip().upper().split("+")
    if len(words) > 1 and words[-1]:
        return parse(reading for word in words for reading in _unmarked(word))
    word, *marks = _unmarked(text.strip().upper())
    return parse([*_SINFO_WORDS.get(word, (word,)), *marks])


def _unmarked(word: str) -> list[str]:
    """Split the marks off: IDLE* is IDLE and NOT_RESPONDING."""
    bare = word.rstrip("".join(_SINFO_MARKS))
    return [bare, *(_SINFO_MARKS[mark] for mark in word[len(bare) :])]
