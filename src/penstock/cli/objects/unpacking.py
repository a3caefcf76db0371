"""One entry of a tar archive from somebody who is not trusted, unpacked below a directory and nowhere else."""

from __future__ import annotations

import os
import shutil
import tarfile
from collections.abc import Sequence
from pathlib import Path

_MODE = 0o755
"""Nobody else may write what was copied, and nothing raises whoever runs it."""
_OWNERS = 0o600


class NotTaken(Exception):
    """An entry that leads out of where it is put, or is no file, directory or link."""


def unpacked(tar: tarfile.TarFile, member: tarfile.TarInfo, target: Path, rest: Sequence[str]) -> None:
    """Put an entry at `rest` below `target`; `rest` is empty for the target itself."""
    if any(part in ("..", "/") for part in rest):
        raise NotTaken(f"{member.name!r} leads out of the destination")
    place = target.joinpath(*rest)
    place.parent.mkdir(parents=True, exist_ok=True)
    if rest:
        _within(place.parent, target, member)
    if member.isdir():
        _directory(place, member)
    elif member.issym():
        _within(place.parent / member.linkname, target if rest else target.parent, member)
        _cleared(place).symlink_to(member.linkname)
    elif member.isreg() or member.islnk():
        _file(tar, member, place)
    else:
        raise NotTaken(f"{member.name!r} is neither a file nor a directory nor a link")


def _within(place: Path, target: Path, member: tarfile.TarInfo) -> None:
    if not place.resolve().is_relative_to(target.resolve()):
        raise NotTaken(f"{member.name!r} leads out of the destination")


def _directory(place: Path, member: tarfile.TarInfo) -> None:
    if place.is_symlink():
        place.unlink()
    place.mkdir(exist_ok=True)
    place.chmod(member.mode & _MODE | 0o700)


def _file(tar: tarfile.TarFile, member: tarfile.TarInfo, place: Path) -> None:
    """A hard link comes as a copy of what it leads to."""
    try:
        content = tar.extractfile(member)
    except KeyError:
        content = None
    if content is None:
        raise NotTaken(f"{member.name!r} is a link to {member.linkname!r}, which the archive does not have")
    with content, _cleared(place).open("xb") as file:
        shutil.copyfileobj(content, file)
    place.chmod(member.mode & _MODE | _OWNERS)
    os.utime(place, (member.mtime, member.mtime))


def _cleared(place: Path) -> Path:
    """Take away what has the name: whoever is written through it would be somebody else."""
    if place.is_symlink() or place.is_file():
        place.unlink()
    return place
