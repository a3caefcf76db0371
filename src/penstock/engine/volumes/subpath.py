"""subPath: a part of a volume, found without ever leaving the volume.

A container that shares the volume may lay links, and swap a directory for a link at any moment. So the kernel itself
resolves the path beneath the volume (openat2), and what it found is pinned by a mount before the name is used again.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.engine import mounts
from penstock.engine.volumes.sources import VolumeError

_LIBC = ctypes.CDLL(None, use_errno=True)
_OPENAT2 = 437  # the same number on every architecture
_BENEATH, _NO_MAGIC_LINKS = 0x08, 0x02


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def pin(volume: Path, sub_path: str, place: Path, *, make: bool) -> Path:
    """Mount a part of a volume at `place`, a path of ours; missing directories are made if `make` says so."""
    words = _words(sub_path)
    with _opened(volume, words, make=make) as found:
        is_directory = stat.S_ISDIR(os.fstat(found).st_mode)
        mounts.unmount(place)
        _make_place(place, is_directory=is_directory)
        mounts.bind(Path(f"/proc/self/fd/{found}"), place)
    return place


def _words(sub_path: str) -> list[str]:
    words = [word for word in sub_path.split("/") if word not in {"", "."}]
    if sub_path.startswith("/") or ".." in words or "\0" in sub_path:
        raise VolumeError(f'subPath "{sub_path}" is no path within a volume; write it relative and without ..')
    return words


@contextmanager
def _opened(volume: Path, words: list[str], *, make: bool) -> Iterator[int]:
    base = os.open(volume, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    found = -1
    try:
        if make:
            _make(base, words)
        found = _open_beneath(base, words)
        yield found
    except OSError as problem:
        raise VolumeError(f'subPath "{"/".join(words)}" of {volume}: {_explained(problem)}') from problem
    finally:
        for descriptor in (base, found):
            if descriptor >= 0:
                os.close(descriptor)


def _explained(problem: OSError) -> str:
    if problem.errno == errno.EXDEV:
        return "a link leads out of the volume; remove it"
    return problem.strerror or str(problem)


def _make(base: int, words: list[str]) -> None:
    """Make missing directories with the rights of the volume's top, one below the other."""
    mode = stat.S_IMODE(os.fstat(base).st_mode)
    for depth in range(1, len(words) + 1):
        try:
            os.close(_open_beneath(base, words[:depth]))
        except FileNotFoundError:
            parent = _open_beneath(base, words[: depth - 1])
            try:
                _make_directory(parent, words[depth - 1], mode)
            finally:
                os.close(parent)


def _make_directory(parent: int, name: str, mode: int) -> None:
    try:
        os.mkdir(name, dir_fd=parent)
    except FileExistsError:
        return
    fresh = os.open(name, os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        os.fchmod(fresh, mode)
    finally:
        os.close(fresh)


def _open_beneath(base: int, words: list[str]) -> int:
    how = _How(os.O_PATH | os.O_CLOEXEC, 0, _BENEATH | _NO_MAGIC_LINKS)
    path = "/".join(words) or "."
    found = _LIBC.syscall(_OPENAT2, base, os.fsencode(path), ctypes.byref(how), ctypes.sizeof(how))
    if found < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), path)
    return int(found)


def _make_place(place: Path, *, is_directory: bool) -> None:
    """What a mount needs below it: a directory for a directory, a file for a file."""
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if place.exists() and place.is_dir() != is_directory:
        place.rmdir() if place.is_dir() else place.unlink()
    if is_directory:
        place.mkdir(exist_ok=True)
    else:
        place.touch()
