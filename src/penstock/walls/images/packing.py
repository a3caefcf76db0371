"""A directory that others may write to meanwhile, as a tar.

It is read by root, and whoever may write there would have root read something else: a file is swapped for a link after
it was looked at. So everything is opened in a directory that is held open, without following a link, and what counts is
what was opened.
"""

from __future__ import annotations

import os
import stat
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.walls.images.problems import BadImage
from penstock.walls.images.tree import DEEPEST

_TO_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_KINDS = {stat.S_IFDIR: tarfile.DIRTYPE, stat.S_IFLNK: tarfile.SYMTYPE}


def pack(source: Path, tar: Path) -> None:
    """Write it into a new tar; what is mounted in it stays out."""
    with tarfile.open(tar, "w", format=tarfile.PAX_FORMAT) as packed, _opened(os.fspath(source), stat.S_IFDIR) as root:
        _pack(packed, root, (), os.fstat(root).st_dev)


def _pack(packed: tarfile.TarFile, directory: int, above: tuple[str, ...], device: int) -> None:
    """Pack what a directory has, in the order of names, directories before what is in them."""
    if len(above) >= DEEPEST:
        raise BadImage(f"the directory has directories too deep, at {'/'.join(above)[:100]!r}")
    for name in sorted(os.listdir(directory), key=os.fsencode):
        kind = stat.S_IFMT(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode)
        way = (*above, name)
        if kind == stat.S_IFDIR:
            with _opened(name, kind, directory) as inner:
                is_ = os.fstat(inner)
                packed.addfile(_entry(way, is_))
                if is_.st_dev == device:
                    _pack(packed, inner, way, device)
        elif kind == stat.S_IFREG:
            with _opened(name, kind, directory) as file:
                _pack_file(packed, file, way)
        elif kind != stat.S_IFSOCK:
            packed.addfile(_unopened(directory, name, way))


@contextmanager
def _opened(name: str, kind: int, directory: int | None = None) -> Iterator[int]:
    """Open what is of this kind, whatever it was a moment ago."""
    try:
        opened = os.open(name, _TO_READ, dir_fd=directory)
    except OSError as problem:
        raise BadImage(f"{name!r} cannot be read, or was changed meanwhile: {problem.strerror}") from problem
    try:
        if stat.S_IFMT(os.fstat(opened).st_mode) != kind:
            raise BadImage(f"{name!r} is not what it was a moment ago: somebody changes the directory meanwhile")
        yield opened
    finally:
        os.close(opened)


def _pack_file(packed: tarfile.TarFile, opened: int, way: tuple[str, ...]) -> None:
    """A file with a second name comes once, and is called by both."""
    with os.fdopen(opened, "rb", closefd=False) as file:
        entry = packed.gettarinfo(arcname="/".join(way), fileobj=file)
        try:
            packed.addfile(entry, file)
        except OSError as problem:
            raise BadImage(f"{'/'.join(way)[:100]!r} cannot be read, or became shorter meanwhile") from problem


def _unopened(directory: int, name: str, way: tuple[str, ...]) -> tarfile.TarInfo:
    """A link, which is its text, or what is left out later on: that is never opened."""
    is_ = os.stat(name, dir_fd=directory, follow_symlinks=False)
    made = _entry(way, is_)
    if made.issym():
        try:
            made.linkname = os.readlink(name, dir_fd=directory)
        except OSError as problem:
            raise BadImage(f"{name!r} is not what it was a moment ago: {problem.strerror}") from problem
    return made


def _entry(way: tuple[str, ...], is_: os.stat_result) -> tarfile.TarInfo:
    made = tarfile.TarInfo("/".join(way))
    made.type = _KINDS.get(stat.S_IFMT(is_.st_mode), tarfile.FIFOTYPE)
    made.mode, made.mtime = stat.S_IMODE(is_.st_mode), is_.st_mtime
    return made
