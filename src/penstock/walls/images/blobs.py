"""Blobs of an image: copied, measured, and only then used."""

from __future__ import annotations

import gzip
import hashlib
import re
import shutil
import subprocess
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, cast

import msgspec

from penstock.walls.images.entries import Limits
from penstock.walls.images.layouts import Layout
from penstock.walls.images.problems import BadImage, NoMeans

DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_PIECE = 1 << 20
_TEXT = 4 << 20
"""Bytes of a manifest or a configuration."""
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


class Descriptor(msgspec.Struct, frozen=True):
    """What a manifest says of a blob."""

    digest: str
    size: Annotated[int, msgspec.Meta(ge=0)]
    mediaType: str = ""  # noqa: N815 - OCI's spelling
    annotations: dict[str, str] = {}
    platform: dict[str, object] = {}

    @property
    def path(self) -> str:
        """Where it is in a layout."""
        if not DIGEST.fullmatch(self.digest):
            raise BadImage(f"{self.digest[:100]!r} is no digest that we know; only sha256 is")
        return f"blobs/{self.digest.replace(':', '/')}"


def text(layout: Layout, wanted: Descriptor) -> bytes:
    """A small blob."""
    if wanted.size > _TEXT:
        raise BadImage(f"{wanted.digest} should be a text and has {wanted.size} bytes")
    with layout.open(wanted.path) as file:
        found = file.read(_TEXT + 1)
    _compare(wanted, f"sha256:{hashlib.sha256(found).hexdigest()}", len(found))
    return found


def unpack(layout: Layout, wanted: Descriptor, diff: str, place: Path, limits: Limits) -> Path:
    """A layer as a plain tar in the directory `place`: both the blob and the tar are what was said."""
    blob, tar = place / "blob", place / "layer"
    with layout.open(wanted.path) as file, blob.open("wb") as copy:
        _compare(wanted, *_copied(file, copy, wanted.size + 1))
    with _plain(blob) as file, tar.open("wb") as copy:
        try:
            digest, size = _copied(file, copy, limits.bytes + 1, lambda size: limits.take(bytes_=size))
        except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
            raise BadImage(f"a layer cannot be unpacked: {problem}") from problem
    blob.unlink()
    limits.bytes += size  # the files in it are counted one by one
    if digest != diff:
        raise BadImage(f"a layer should be {diff} when it is unpacked, and is {digest}; get the image again")
    return tar


def _copied(
    source: IO[bytes], target: IO[bytes], most: int, count: Callable[[int], None] = lambda _: None
) -> tuple[str, int]:
    """Copy to the end, or as much as may be: digest and size."""
    digest, size = hashlib.sha256(), 0
    while piece := source.read(min(_PIECE, most - size)):
        count(len(piece))
        digest.update(piece)
        size += target.write(piece)
    return f"sha256:{digest.hexdigest()}", size


def _compare(wanted: Descriptor, digest: str, size: int) -> None:
    if (digest, size) != (wanted.digest, wanted.size):
        said = f"should be {wanted.digest} with {wanted.size} bytes and is {digest} with {size}"
        raise BadImage(f"a blob {said}; it is damaged or was changed: get the image again")


@contextmanager
def _plain(blob: Path) -> Iterator[IO[bytes]]:
    """A blob without its compression, known by how it begins."""
    with blob.open("rb") as file:
        head = file.read(4)
        file.seek(0)
        if head.startswith(_GZIP):
            with gzip.GzipFile(fileobj=file) as plain:
                yield cast("IO[bytes]", plain)
        elif head == _ZSTD:
            with _zstd(blob) as plain_:
                yield plain_
        else:
            yield file


@contextmanager
def _zstd(blob: Path) -> Iterator[IO[bytes]]:
    """By its own program, for Python knows it from 3.14 on."""
    program = shutil.which("zstd")
    if program is None:
        raise NoMeans("a layer is compressed by zstd, which is not here; get it by: apt-get install zstd")
    words = [program, "--decompress", "--stdout", "--quiet"]
    with (
        blob.open("rb") as file,
        subprocess.Popen(words, stdin=file, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as running,  # noqa: S603
    ):
        try:
            yield cast("IO[bytes]", running.stdout)
        finally:
            running.kill()
