"""fsGroup: directories and files that a pod's group may write, as kubelet sets them up."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_FILE = 0o660
_DIRECTORY = 0o2770
"""The sticky group bit makes new files belong to the group, too."""


def give_to_group(top: Path, group: int) -> bool:
    """Let a group read and write everything below `top`; whether anything had to be done.

    Large claims would take minutes each time, so one whose top is right is taken to be right. The top is done last:
    whoever dies in between does it all again. Links are never followed: a container may have laid them.
    """
    if _is_right(top.lstat(), group):
        return False
    for _, directories, files, where in os.fwalk(top, topdown=False, follow_symlinks=False):
        for name in (*directories, *files):
            _give(name, group, where)
    _give(str(top), group, None)
    return True


def _is_right(state: os.stat_result, group: int) -> bool:
    return state.st_gid == group and state.st_mode & _DIRECTORY == _DIRECTORY


def _give(name: str, group: int, where: int | None) -> None:
    try:
        os.chown(name, -1, group, dir_fd=where, follow_symlinks=False)
        _add_bits(name, where)
    except FileNotFoundError:
        # Another pod of the same claim removed it meanwhile.
        return


def _add_bits(name: str, where: int | None) -> None:
    # chmod knows no "do not follow": through an open descriptor it cannot be led astray.
    descriptor = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=where)
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISLNK(mode):
            bits = _DIRECTORY if stat.S_ISDIR(mode) else _FILE
            Path(f"/proc/self/fd/{descriptor}").chmod(stat.S_IMODE(mode) | bits)
    finally:
        os.close(descriptor)
