"""What this machine has to give to containers; looked up once, when the engine starts."""

from __future__ import annotations

import os
import resource
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from penstock.engine import capabilities, cgroups
from penstock.engine.cgroups import Cgroups

_MOST_FILES = 1_048_576
"""What container engines usually allow; programs that close every possible descriptor take for ever with more."""
_NOT_SHARED = {"pts", "shm", "fd", "mqueue", "console", "stdin", "stdout", "stderr", "core", "ptmx", "termination-log"}
"""What every container has of its own below /dev."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device file."""

    path: str
    kind: str
    """`c` or `b`."""
    major: int
    minor: int
    mode: int
    uid: int = 0
    gid: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What a machine has to give."""

    capabilities: frozenset[str]
    cgroups: Cgroups
    open_files: int
    """Descriptors that a process may have: more than our own limit we cannot give."""
    devices: tuple[Device, ...] = ()
    """For privileged containers."""


def this_machine() -> Machine:
    """Look around."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return Machine(
        capabilities=capabilities.of_this_machine(),
        cgroups=cgroups.here(),
        open_files=_MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES),
        devices=tuple(devices(Path("/dev"))),
    )


def devices(directory: Path) -> Iterator[Device]:
    """The device files below a directory, without what containers have of their own; links are not followed."""
    for entry in sorted(os.scandir(directory), key=lambda entry: entry.name):
        if entry.name in _NOT_SHARED:
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from devices(Path(entry.path))
            continue
        about = entry.stat(follow_symlinks=False)
        if stat.S_ISCHR(about.st_mode) or stat.S_ISBLK(about.st_mode):
            kind = "c" if stat.S_ISCHR(about.st_mode) else "b"
            yield Device(
                path=entry.path, kind=kind, major=os.major(about.st_rdev), minor=os.minor(about.st_rdev),
                mode=stat.S_IMODE(about.st_mode), uid=about.st_uid, gid=about.st_gid,
            )  # fmt: skip
