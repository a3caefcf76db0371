"""What a tree has in it, as one digest: of names, kinds, modes and bytes, and of nothing that a copy would change."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Content:
    """A tree, measured."""

    digest: str
    bytes: int
    entries: int


def measure(root: Path) -> Content:
    """Read a whole tree."""
    whole, size, count = hashlib.sha256(), 0, 0
    for path, is_ in walk(root):
        count += 1
        told, length = _told(path, is_)
        size += length
        name = os.fsencode(path.relative_to(root))
        whole.update(b"%d %o %d %d " % (stat.S_IFMT(is_.st_mode), stat.S_IMODE(is_.st_mode), len(name), len(told)))
        whole.update(name + told)
    return Content(f"sha256:{whole.hexdigest()}", size, count)


def walk(root: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Everything below a directory that is root's, in the order of names, directories before what is in them."""
    with os.scandir(root) as found:
        for one in sorted(found, key=lambda one: os.fsencode(one.name)):
            is_ = one.stat(follow_symlinks=False)
            yield Path(one.path), is_
            if stat.S_ISDIR(is_.st_mode):
                yield from walk(Path(one.path))


def file_digest(path: Path) -> str:
    """The digest of a file's bytes."""
    with path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


def _told(path: Path, is_: os.stat_result) -> tuple[bytes, int]:
    if stat.S_ISLNK(is_.st_mode):
        return os.fsencode(path.readlink()), 0
    if stat.S_ISREG(is_.st_mode):
        return file_digest(path).encode(), is_.st_size
    return b"", 0
