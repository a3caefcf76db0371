"""Mounts of this machine: made, listed and undone without starting a program.

Everything that undoes is idempotent: what is not mounted any more is no error, for the engine may have been killed
between any two steps and does them again.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntFlag
from pathlib import Path

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mount.argtypes = [ctypes.c_char_p] * 3 + [ctypes.c_ulong, ctypes.c_char_p]
_LIBC.umount2.argtypes = [ctypes.c_char_p, ctypes.c_int]

_DETACH, _NO_FOLLOW = 2, 8  # MNT_DETACH, UMOUNT_NOFOLLOW
_GONE = (errno.EINVAL, errno.ENOENT)  # not a mount point, or not even a file
_DELETED = "//deleted"  # what the kernel adds to a mount point whose directory was removed elsewhere
_LIST = Path("/proc/self/mountinfo")


class Flag(IntFlag):
    """Flags of mount(2) that we use."""

    READ_ONLY = 1
    NO_SUID = 2
    NO_DEVICES = 4
    NO_EXECUTE = 8
    REMOUNT = 32
    BIND = 4096
    RECURSIVE = 16384
    PRIVATE = 1 << 18
    SLAVE = 1 << 19
    SHARED = 1 << 20


class MountError(OSError):
    """The kernel refused; the message names the path and the kernel's words."""


@dataclass(frozen=True, slots=True)
class Mounted:
    """A line of the kernel's list."""

    target: Path
    kind: str
    """File system: `overlay`, `tmpfs`, `cgroup2`."""
    source: str
    root: str
    """Which part of the file system is shown; not `/` for a bind."""
    options: frozenset[str]
    super_options: frozenset[str]


def mount(source: Path | str, target: Path, *, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Mount anything; the friendlier functions below say what we mostly mount."""
    texts = [os.fsencode(text) for text in (source, target, kind)]
    if _LIBC.mount(*texts, flags, options.encode(errors="surrogateescape") or None) != 0:
        raise _refused(f"mount {source} on {target}")


def bind(source: Path, target: Path, *, read_only: bool = False, recursive: bool = True) -> None:
    """Show a directory or file at a second place, which must exist."""
    depth = Flag.RECURSIVE if recursive else 0
    mount(source, target, flags=Flag.BIND | depth)
    if not read_only:
        return
    try:
        # The kernel ignores "read-only" while binding; only a second look at the new mount makes it so.
        mount("none", target, flags=Flag.BIND | Flag.REMOUNT | Flag.READ_ONLY)
    except MountError:
        unmount(target)
        raise


def overlay(lower: Sequence[Path], target: Path, *, upper: Path, work: Path) -> None:
    """Show `lower` (the topmost first) with all changes going to `upper`; `work` is the kernel's, beside `upper`."""
    layers = ":".join(_escaped(layer, also=":") for layer in lower)
    options = f"lowerdir={layers},upperdir={_escaped(upper)},workdir={_escaped(work)}"
    if len(os.fsencode(options)) >= os.sysconf("SC_PAGE_SIZE"):
        raise MountError(
            errno.E2BIG, f"mount an overlay on {target}: its paths are too long together; use shorter ones"
        )
    mount("overlay", target, kind="overlay", options=options)


def tmpfs(target: Path, *, size: int | None = None, mode: int = 0o755) -> None:
    """A file system in memory; without `size` (bytes) it may take half of the machine's."""
    limits = [f"mode={mode:o}", *([f"size={size}"] if size is not None else [])]
    mount("tmpfs", target, kind="tmpfs", flags=Flag.NO_SUID | Flag.NO_DEVICES, options=",".join(limits))


def make_private(target: Path) -> None:
    """Keep what is mounted below `target` to ourselves; bind `target` on itself first if it is no mount."""
    mount("none", target, flags=Flag.PRIVATE | Flag.RECURSIVE)


def parsed(text: str) -> list[Mounted]:
    """Read the format of /proc/self/mountinfo, in its order: what was mounted later comes later."""
    # Not `splitlines`: the kernel escapes the one end of lines that it knows, and a path may hold the others.
    return [_line(line) for line in text.split("\n") if line]


def everything() -> list[Mounted]:
    """What is mounted in our mount namespace."""
    return parsed(os.fsdecode(_LIST.read_bytes()))


def mounted_below(path: Path) -> list[Mounted]:
    """What is mounted at `path` or below; a mount always comes before those on top of it."""
    place = path.resolve()
    return [one for one in everything() if one.target.is_relative_to(place)]


def is_mounted(path: Path) -> bool:
    """Whether something is mounted right there; told by one look, for the list of a busy machine is long."""
    place = path.resolve()
    try:
        return place == place.parent or _mount_of(place) != _mount_of(place.parent)
    except FileNotFoundError:
        return False


def _mount_of(path: Path) -> bytes:
    """Which mount a path is in: the kernel's number of it."""
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        said = Path(f"/proc/self/fdinfo/{descriptor}").read_bytes()
    finally:
        os.close(descriptor)
    return next(line for line in said.splitlines() if line.startswith(b"mnt_id:"))


def unmount(path: Path) -> None:
    """Undo the topmost mount at `path`; nothing to undo is fine, a busy one is an error."""
    _unmount(path, _NO_FOLLOW)


def unmount_below(path: Path) -> None:
    """Undo every mount at `path` and below, the last one first.

    Who still has a file open keeps a mount busy; that is seen as leaving in a moment, so such a mount is taken out of
    sight at once and vanishes with its last user.
    """
    for one in reversed(mounted_below(path)):
        try:
            _unmount(one.target, _NO_FOLLOW)
        except MountError as problem:
            if problem.errno != errno.EBUSY:
                raise
            _unmount(one.target, _NO_FOLLOW | _DETACH)


def _unmount(path: Path, flags: int) -> None:
    if _LIBC.umount2(os.fsencode(path), flags) != 0 and ctypes.get_errno() not in _GONE:
        raise _refused(f"unmount {path}")


def _refused(what: str) -> MountError:
    number = ctypes.get_errno()
    return MountError(number, f"{what}: {os.strerror(number)}")


def _escaped(path: Path, *, also: str = "") -> str:
    return re.sub(rf"([\\,{also}])", r"\\\1", str(path))


def _line(line: str) -> Mounted:
    fields = line.split(" ")
    # Optional fields (who else sees the mount) end with a lone dash.
    tail = fields[fields.index("-", 6) + 1 :]
    return Mounted(
        target=Path(_unescaped(fields[4]).removesuffix(_DELETED)),
        kind=_unescaped(tail[0]),
        source=_unescaped(tail[1]),
        root=_unescaped(fields[3]),
        options=frozenset(fields[5].split(",")),
        super_options=frozenset(_unescaped(tail[2]).split(",")),
    )


def _unescaped(text: str) -> str:
    r"""Space, tab, newline and backslash stand as `\040`, `\011`, `\012` and `\134`."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)
