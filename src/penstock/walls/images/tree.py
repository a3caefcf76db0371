"""A tree of files that grows by names of strangers: none of them leads out of it.

Every name is walked from the root by descriptor. Links on the way are followed as the image will follow them, with the
tree as their root. Nobody else writes to the tree meanwhile.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from errno import ELOOP, ENOTDIR
from pathlib import Path
from typing import Self

from penstock.walls.images.problems import BadImage

DEEPEST = 200
"""Directories in directories; whoever cleans up comes to the end of them."""
_LINKS = 40  # as many as the kernel follows
_LONGEST_NAME, _LONGEST_PATH = 255, 4095
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def parts(name: str) -> list[str]:
    """The parts of a name in a tar; what begins with `/` begins at the root of the image."""
    found = [part for part in name.split("/") if part not in {"", "."}]
    if ".." in found or "\0" in name:
        raise BadImage(f"the image has a file at {name[:100]!r}, which would lie outside of it")
    if len(os.fsencode(name)) > _LONGEST_PATH or any(len(os.fsencode(part)) > _LONGEST_NAME for part in found):
        raise BadImage(f"the image has a file with a name that is too long: {name[:100]!r}...")
    return found


class Tree:
    """A directory that is being filled; a context manager, for it holds the directory open."""

    def __init__(self, root: Path) -> None:
        self._root = os.open(root, _DIRECTORY)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._root)

    @contextmanager
    def above(self, name: list[str]) -> Iterator[tuple[int, str]]:
        """The directory that something is, or will be, in, and what it is called there; made if it is missing."""
        directory = self._walk(name[:-1])
        try:
            yield directory, name[-1]
        finally:
            os.close(directory)

    @contextmanager
    def inside(self, name: list[str]) -> Iterator[int | None]:
        """A directory; None when there is none."""
        try:
            directory = self._walk(name, make=False)
        except (FileNotFoundError, BadImage):
            yield None
            return
        try:
            yield directory
        finally:
            os.close(directory)

    def _walk(self, name: list[str], *, make: bool = True) -> int:
        way, todo, links = [os.dup(self._root)], deque(name), 0
        try:
            while todo:
                part = todo.popleft()
                if part == "..":  # of a link: names have none; above the root is the root
                    if len(way) > 1:
                        os.close(way.pop())
                elif (found := _enter(way[-1], part, make=make)) is not None:
                    way.append(found)
                else:
                    links += 1
                    self._follow(way, todo, part)
                if links > _LINKS or len(way) > DEEPEST:
                    where = "/".join(name)[:100]
                    raise BadImage(f"the image has directories too deep, or links in a circle, at {where!r}")
            return way.pop()
        finally:
            for directory in way:
                os.close(directory)

    def _follow(self, way: list[int], todo: deque[str], part: str) -> None:
        """Put what a link says in its place."""
        leads = os.readlink(part, dir_fd=way[-1])
        if leads.startswith("/"):
            while len(way) > 1:
                os.close(way.pop())
        todo.extendleft(reversed([word for word in leads.split("/") if word not in {"", "."}]))


def _enter(directory: int, name: str, *, make: bool) -> int | None:
    """A directory in a directory; None where there is a link."""
    try:
        return os.open(name, _DIRECTORY, dir_fd=directory)
    except FileNotFoundError:
        if not make:
            raise
        os.mkdir(name, 0o755, dir_fd=directory)
        return os.open(name, _DIRECTORY, dir_fd=directory)
    except OSError as problem:
        if problem.errno not in {ELOOP, ENOTDIR}:
            raise
        if not stat.S_ISLNK(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
            raise BadImage(f"the image has a file in {name[:100]!r}, which is a file itself") from None
        return None


def found(directory: int, name: str) -> os.stat_result | None:
    """What is at a name, not what a link there leads to."""
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None


def clear(directory: int, name: str) -> None:
    """Take away what is at a name, with all that is in it."""
    there = found(directory, name)
    if there is None:
        return
    if stat.S_ISDIR(there.st_mode):
        shutil.rmtree(name, dir_fd=directory)
    else:
        os.unlink(name, dir_fd=directory)


def create(directory: int, name: str) -> int:
    """A new file where nothing is."""
    return os.open(name, _NEW, 0o600, dir_fd=directory)
