"""Steps of every class on one node: a turn runs each of them once, so that whatever else the machine does hits all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.spank.squashed import squash
from tests.spank.walled import ADMIN, DIGEST, IMAGE, OTHER, TENANT, USER, Walled, tenant, walled_node

import spank
from rootfs import rootfs

PLUGSTACK = "/etc/slurm/plugstack.conf"
SQUASHED = "/images/small.sqsh"
# The kernel unpacks what a program reads anew in every step: of mksquashfs' own gzip that takes twice as long.
PACKED = ("-comp", "zstd")
# Microseconds by the node's own shell: what it takes to enter the node is not the step's.
_TIMED = 'begun=$EPOCHREALTIME; "$@" || exit; ended=$EPOCHREALTIME; echo "$((${ended/./} - ${begun/./}))"'
_TRUE = "/usr/bin/true"
_SRUN = ("srun", "--quiet", _TRUE)


@dataclass(frozen=True, slots=True)
class Way:
    """A way for a step to run: whose it is, and whether the plugin is there."""

    name: str
    uid: int
    loaded: bool = True
    bar: float | None = None
    """Milliseconds that it may take longer than steps of admins."""


PLAIN = Way("class admin", ADMIN)
WAYS = (
    Way("without the plugin", ADMIN, loaded=False),
    PLAIN,
    Way("shared root", USER, bar=10.0),
    Way("walls, a directory", TENANT, bar=20.0),
    Way("walls, a squashfs file", OTHER, bar=20.0),
)


@dataclass(slots=True)
class Taken:
    """Milliseconds that steps took, turn by turn."""

    milliseconds: dict[Way, list[float]] = field(default_factory=lambda: {way: [] for way in WAYS})


@contextmanager
def furnished_node(suite: str) -> Iterator[Walled]:
    """Run a node whose second tenant has a squashfs file for an image."""
    root = rootfs(suite)
    with walled_node(root, spank.plugin(suite), suite) as node:
        squash(root, rootfs(suite, "squashfs"), node.mini.place / "shared/image.sqsh", *PACKED)
        node.say("cp", "/run/shared/image.sqsh", SQUASHED)
        node.policy(f"uid-{OTHER}", tenant(OTHER).replace(f"{DIGEST} {IMAGE}", f"{DIGEST} {SQUASHED}"))
        yield node


def measure(node: Walled, turns: int, command: Sequence[str]) -> Taken:
    """Run every way in turn, each time beginning with another one; the first turn warms and does not count."""
    taken = Taken()
    for turn in range(turns + 1):
        start = turn % len(WAYS)
        for way in (*WAYS[start:], *WAYS[:start]):
            milliseconds = once(node, way, command)
            if turn:
                taken.milliseconds[way].append(milliseconds)
    return taken


def once(node: Walled, way: Way, command: Sequence[str]) -> float:
    """Run one step."""
    with _plugin(node, loaded=way.loaded):
        return int(node.say("bash", "-c", _TIMED, "timed", *command, uid=way.uid)) / 1000


def srun(node: Walled, turns: int) -> Taken:
    """Steps of srun."""
    return measure(node, turns, _SRUN)


@contextmanager
def _plugin(node: Walled, *, loaded: bool) -> Iterator[None]:
    """Commands and slurmstepd read plugstack.conf anew each time."""
    if loaded:
        yield
        return
    node.say("mv", PLUGSTACK, f"{PLUGSTACK}.away")
    try:
        yield
    finally:
        node.say("mv", f"{PLUGSTACK}.away", PLUGSTACK)
