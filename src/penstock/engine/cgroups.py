"""Control groups: which ones this machine has, what limits they can hold, and whom they hold.

Machines differ: one tree for all (`v2`), a tree per controller with or without a bare one beside them (`hybrid`, `v1`),
or none at all. runc makes the groups; we look, count kills for want of memory, list members, and clean up. Nothing is
ever mounted here: the trees are the machine's.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from penstock.engine import mounts
from penstock.engine.mounts import Mounted

_LIMITS = ("cpu", "memory", "pids")
_ROOT = Path("/sys/fs/cgroup")


class Kind(StrEnum):
    """How control groups are laid out."""

    V2 = "v2"
    HYBRID = "hybrid"
    V1 = "v1"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cgroups:
    """The control groups of a machine."""

    kind: Kind
    controllers: frozenset[str]
    """What can be limited: `cpu`, `memory`, `pids`, ..."""
    trees: tuple[Path, ...]
    """Where the trees are mounted."""

    def paths(self, group: str) -> list[Path]:
        """The directories of a group, one per tree."""
        return [tree / group.lstrip("/") for tree in self.trees]

    def shortcomings(self) -> list[str]:
        """What cannot be honoured on this machine, in words for whoever starts it."""
        if self.kind is Kind.NONE:
            return [
                "no control groups are mounted, and runc starts no container without; mount cgroup2 at /sys/fs/cgroup"
            ]
        return [
            f"limits of {name} are not enforced: no {name} controller"
            for name in _LIMITS
            if name not in self.controllers
        ]


def here() -> Cgroups:
    """The control groups of this machine."""
    found = mounts.everything()
    unified = [one.target for one in found if one.kind == "cgroup2"]
    return detected(found, offered=_offered(unified[0]) if unified else frozenset())


def detected(found: Sequence[Mounted], *, offered: frozenset[str]) -> Cgroups:
    """Tell from what is mounted; `offered` is what the tree of v2 offers."""
    unified = [one.target for one in found if one.kind == "cgroup2"]
    separate = {one.target: one.super_options for one in found if one.kind == "cgroup"}
    controllers = frozenset(option for options in separate.values() for option in options if "=" not in option) - {
        "rw",
        "ro",
    }
    if _ROOT in unified and not controllers:
        return Cgroups(kind=Kind.V2, controllers=offered, trees=(_ROOT,))
    if not separate:
        return Cgroups(kind=Kind.NONE, controllers=frozenset(), trees=())
    kind = Kind.HYBRID if unified else Kind.V1
    return Cgroups(
        kind=kind, controllers=controllers | offered, trees=(*dict.fromkeys(separate), *dict.fromkeys(unified))
    )


def members(group: Path) -> list[int]:
    """Processes in a group and in those below."""
    return [int(pid) for place in _walk(group) for pid in _read(place / "cgroup.procs").split()]


def kills_for_want_of_memory(groups: Sequence[Path]) -> int:
    """How many processes of a container the kernel has killed because it was at its limit."""
    counts = [_counted(_read(group / name)) for group in groups for name in ("memory.events", "memory.oom_control")]
    return max(counts, default=0)


def remove(groups: Sequence[Path]) -> list[Path]:
    """Remove groups with those below; what stays, because somebody is still in it."""
    return [place for group in groups for place in reversed(list(_walk(group))) if not _removed(place)]


def _removed(place: Path) -> bool:
    try:
        place.rmdir()
    except OSError as problem:
        if problem.errno not in (errno.ENOENT, errno.EBUSY):
            raise
        return problem.errno == errno.ENOENT
    return True


def _offered(tree: Path) -> frozenset[str]:
    return frozenset(_read(tree / "cgroup.controllers").split())


def _counted(text: str) -> int:
    fields = dict(line.split(maxsplit=1) for line in text.splitlines() if " " in line)
    return int(fields.get("oom_kill", 0))


def _walk(group: Path) -> Iterator[Path]:
    """A group and those below, parents first."""
    for place, _, _ in os.walk(group):
        yield Path(place)


def _read(path: Path) -> str:
    with suppress(FileNotFoundError, NotADirectoryError):
        try:
            return path.read_text()
        except OSError as problem:
            # A group that goes away while we read says ENODEV.
            if problem.errno != errno.ENODEV:
                raise
    return ""
