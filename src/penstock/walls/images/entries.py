"""Entries of a tar that a stranger wrote, one after the other, without ever holding more than one of them.

Python's reader believes what headers say about themselves: one of many gigabytes would be read into memory, and one
that says its size is negative leads back to where it stands. So it reads through `_Careful`, which gives the headers of
one entry a budget, and entries only ever lead forward.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Any, cast

from penstock.walls.images.problems import BadImage

_HEADERS = 1 << 20
"""Bytes of all headers of one entry: names, and attributes that we do not even take."""
_PIECE = 1 << 20
_DAMAGE = (tarfile.TarError, ValueError, OverflowError, LookupError, EOFError, RecursionError, TypeError)
"""All that Python's reader raises about bytes that are no tar."""


@dataclass(slots=True)
class Limits:
    """How much an image may be when it is unpacked; what is left of it, while it is."""

    bytes: int = 128 << 30
    entries: int = 2_000_000
    _said: str = field(init=False)

    def __post_init__(self) -> None:
        self._said = f"{self.bytes / (1 << 30):g} GiB and {self.entries} files are the most that is unpacked"

    def take(self, *, bytes_: int = 0, entries: int = 0) -> None:
        """Count what is about to be made; `BadImage` when it is too much."""
        self.bytes -= bytes_
        self.entries -= entries
        if self.bytes < 0 or self.entries < 0:
            raise BadImage(f"the image is too large: {self._said}")


def entries(file: IO[bytes]) -> Iterator[tarfile.TarInfo]:
    """Every entry of a tar."""
    careful = _Careful(file)
    last = -1
    try:
        with tarfile.open(fileobj=careful, mode="r:", errors="surrogateescape") as tar:
            while (entry := _next(tar, careful)) is not None:
                if entry.offset <= last or not _fits(entry):
                    raise BadImage(f"an entry says what cannot be: {entry.name[:100]!r}")
                last = entry.offset
                yield entry
    except _DAMAGE as problem:
        raise BadImage(f"this is no tar that can be read: {problem}") from problem


def content(file: IO[bytes], entry: tarfile.TarInfo) -> Iterator[tuple[int, bytes]]:
    """The pieces of a file, each with its place; between them are holes."""
    real = entry.offset_data
    for start, size in _segments(entry):
        for at in range(0, size, _PIECE):
            wanted = min(_PIECE, size - at)
            file.seek(real + at)
            piece = file.read(wanted)
            if len(piece) != wanted:
                raise BadImage(f"the content of {entry.name[:100]!r} ends early: the file is damaged")
            yield start + at, piece
        real += size


def _next(tar: tarfile.TarFile, careful: _Careful) -> tarfile.TarInfo | None:
    for kept in ("members", "pax_headers"):  # what Python's reader remembers of all entries before
        vars(tar)[kept].clear()
    careful.budget = _HEADERS
    return tar.next()


def _fits(entry: tarfile.TarInfo) -> bool:
    """Whether sizes and places are ones that a file can have."""
    end = 0
    for start, size in _segments(entry):
        if start < end or size < 0:
            return False
        end = start + size
    return entry.size >= end and entry.offset_data >= 0


def _segments(entry: tarfile.TarInfo) -> list[tuple[int, int]]:
    holes = cast("list[tuple[int, int]] | None", entry.sparse)  # with holes between them
    return [(0, entry.size)] if holes is None else holes


class _Careful(io.RawIOBase):
    """A file as headers are read from it: so much for one entry, and no more."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.budget = _HEADERS

    def read(self, size: int = -1) -> Any:
        self.budget -= size
        if size < 0 or self.budget < 0:
            raise BadImage("an entry has more than 1 MiB of headers")
        return self._file.read(size)

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()
