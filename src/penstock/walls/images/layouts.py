"""Where the blobs of an image are: in a directory of OCI's image layout, or in a tar of one.

What is read here is believed by nobody before its digest was looked at (`blobs`).
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

from penstock.walls.images.entries import entries
from penstock.walls.images.problems import BadImage

INDEX = "index.json"
_LISTED = 100_000
_HINT = "write one by: skopeo copy ... oci-archive:FILE, or podman save --format oci-archive"


class Layout(Protocol):
    """Files by their names in a layout."""

    def open(self, name: str) -> IO[bytes]:
        """A file; `BadImage` when there is none."""


@contextmanager
def layout(source: Path) -> Iterator[Layout]:
    """The layout that a path has."""
    if source.is_dir():
        yield _Directory(source)
        return
    with source.open("rb") as file:
        yield _Tar(source, file)


def is_layout(directory: Path) -> bool:
    """Whether a directory is a layout rather than a root file system."""
    return (directory / "oci-layout").is_file() and (directory / INDEX).is_file()


class _Directory:
    def __init__(self, path: Path) -> None:
        self._path = path

    def open(self, name: str) -> IO[bytes]:
        try:
            return (self._path / name).open("rb")
        except FileNotFoundError:
            raise BadImage(f"{self._path} has no {name}: it is no OCI image layout, or not all of it") from None


class _Tar:
    """A tar as its list of files; their content stays where it is."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path, self._file = path, file
        if file.read(2) == b"\x1f\x8b":
            raise BadImage(f"{path} is compressed as a whole; its layers are already: gunzip it first")
        file.seek(0)
        self._places: dict[str, tuple[int, int]] = {}
        for entry in entries(file):
            if entry.isreg() and not entry.sparse:
                self._places[entry.name.removeprefix("./")] = (entry.offset_data, entry.size)
            if len(self._places) > _LISTED:
                raise BadImage(f"{path} has more than {_LISTED} files: it is no OCI image layout; {_HINT}")

    def open(self, name: str) -> IO[bytes]:
        if name not in self._places:
            raise BadImage(f"{self._path} has no {name}: it is no OCI image layout; {_HINT}")
        return io.BufferedReader(_Part(self._file, *self._places[name]))


class _Part(io.RawIOBase):
    """A part of a file, as a file."""

    def __init__(self, file: IO[bytes], start: int, size: int) -> None:
        self._file, self._at, self._end = file, start, start + size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._file.seek(self._at)
        piece = self._file.read(min(len(buffer), self._end - self._at))
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)
