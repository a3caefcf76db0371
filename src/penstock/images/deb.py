"""Debian package files: an `ar` archive of two tars, the first of which tells what the package is.

Read here rather than by `dpkg-deb --field`: two hundred processes cost seconds on a busy machine.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from penstock.images.commands import run
from penstock.images.errors import BuildFailed

_MAGIC = b"!<arch>\n"
_HEADER = 60  # bytes: a name of 16, then date, owner, group, mode, a size of 10, two of end


def control(path: Path) -> str:
    """What a package says of itself: its control file."""
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise BuildFailed(f"{path} is no Debian package; remove it and build again")
        for name, content in _members(file):
            if name in {"control.tar.xz", "control.tar.gz", "control.tar"}:
                return _control_file(content)
    return run(["dpkg-deb", "--field", str(path)])  # compressed in a way that Python 3.11 does not know


def _members(file: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    while len(header := file.read(_HEADER)) == _HEADER:
        size = int(header[48:58])
        yield header[:16].decode("ascii", "replace").strip().rstrip("/"), file.read(size + size % 2)[:size]


def _control_file(content: bytes) -> str:
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:*") as tar:
        for member in tar:
            if member.name.removeprefix("./") == "control" and (text := tar.extractfile(member)):
                return text.read().decode("utf-8")
    raise BuildFailed("a package has no control file; remove it and build again")
