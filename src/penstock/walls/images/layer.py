"""A tar laid onto a tree: what it takes away first, then what it brings.

What nobody needs in a room, or could be of use to somebody else on the node, does not come along: owners (all is
root's), setuid and setgid, write permission for others, devices and pipes, extended attributes, file capabilities.
"""

from __future__ import annotations

import os
import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from penstock.walls.images.entries import Limits, content, entries
from penstock.walls.images.problems import BadImage
from penstock.walls.images.tree import Tree, clear, create, found, parts

_WHITEOUT, _OPAQUE = ".wh.", ".wh..wh..opq"
_LAST_SECOND = 1 << 32
_LONGEST_LINK = 4095


def lay(layer: Path, root: Path, limits: Limits) -> int:
    """Lay a tar onto the tree at `root`; how many entries were left out."""
    with layer.open("rb") as file, Tree(root) as tree:
        for name in _whiteouts(file):
            _take_away(tree, name)
        file.seek(0)
        left_out = 0
        for entry in entries(file):
            limits.take(entries=1)
            left_out += not _lay(tree, file, entry, limits)
    return left_out


def _whiteouts(file: IO[bytes]) -> Iterator[list[str]]:
    for entry in entries(file):
        name = parts(entry.name)
        if name and name[-1].startswith(_WHITEOUT):
            yield name


def _take_away(tree: Tree, name: list[str]) -> None:
    """Of the layers below, for this one has brought nothing yet."""
    gone = name[-1].removeprefix(_WHITEOUT)
    if gone in {"", ".", ".."}:
        raise BadImage(f"the image takes away {gone!r}, which is no file")
    with tree.inside(name[:-1]) as directory:
        if directory is None:
            return
        if name[-1] == _OPAQUE:
            for inner in os.listdir(directory):  # noqa: PTH208 - it has no path, only a descriptor
                clear(directory, inner)
        elif not gone.startswith(_WHITEOUT):  # else a note that another program left for itself
            clear(directory, gone)


def _lay(tree: Tree, file: IO[bytes], entry: tarfile.TarInfo, limits: Limits) -> bool:
    """Lay one entry down; false if it is not one for us."""
    name = parts(entry.name)
    if name and name[-1].startswith(_WHITEOUT):
        return True
    if not name:
        return entry.isdir()  # the root itself, which is there
    with tree.above(name) as (directory, inner):
        if entry.isdir():
            _make_directory(directory, inner, entry)
        elif entry.isreg():
            _make_file(directory, inner, file, entry, limits)
        elif entry.issym():
            _make_link(directory, inner, entry)
        elif entry.islnk():
            _make_name(tree, directory, inner, entry)
        else:
            return False
    return True


def _make_directory(directory: int, name: str, entry: tarfile.TarInfo) -> None:
    there = found(directory, name)
    if there is None or not stat.S_ISDIR(there.st_mode):
        clear(directory, name)
        os.mkdir(name, 0o755, dir_fd=directory)
    inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    try:
        _finish(inner, entry)
    finally:
        os.close(inner)


def _make_file(directory: int, name: str, file: IO[bytes], entry: tarfile.TarInfo, limits: Limits) -> None:
    limits.take(bytes_=entry.size)
    clear(directory, name)
    made = create(directory, name)
    try:
        for place, piece in content(file, entry):
            written = 0
            while written < len(piece):
                written += os.pwrite(made, memoryview(piece)[written:], place + written)
        os.ftruncate(made, entry.size)
        _finish(made, entry)
    finally:
        os.close(made)


def _make_link(directory: int, name: str, entry: tarfile.TarInfo) -> None:
    if not entry.linkname or "\0" in entry.linkname or len(os.fsencode(entry.linkname)) > _LONGEST_LINK:
        raise BadImage(f"the link {entry.name[:100]!r} leads to no name")
    clear(directory, name)
    os.symlink(entry.linkname, name, dir_fd=directory)


def _make_name(tree: Tree, directory: int, name: str, entry: tarfile.TarInfo) -> None:
    """One more name of a file that is there."""
    first = parts(entry.linkname)
    if not first:
        raise BadImage(f"{entry.name[:100]!r} is a second name of no file")
    with tree.above(first) as (other, named):
        there, here = found(other, named), found(directory, name)
        if there is None or not stat.S_ISREG(there.st_mode):
            raise BadImage(f"{entry.name[:100]!r} is a second name of {entry.linkname[:100]!r}, which is no file")
        if here and (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino):
            return
        clear(directory, name)
        try:
            os.link(named, name, src_dir_fd=other, dst_dir_fd=directory, follow_symlinks=False)
        except FileNotFoundError:  # it was in what had to go
            raise BadImage(f"{entry.name[:100]!r} is a second name of a file that it replaces") from None


def _finish(made: int, entry: tarfile.TarInfo) -> None:
    os.fchmod(made, entry.mode & 0o755)
    # Compared as it is, for a stranger's date may be no number at all.
    seconds = int(entry.mtime) if 0 <= entry.mtime <= _LAST_SECOND else 0
    os.utime(made, (seconds, seconds))
