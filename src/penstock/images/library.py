"""The images of this machine: a directory per image, found by the names that pods call it by.

Of two images of the same name the one that was built, or asked for, last answers to it. `shelf` knows what such a
directory looks like.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from penstock.images import shelf
from penstock.images.errors import BadRecipe, MissingImage
from penstock.images.packages import Package

REPOSITORY = "localhost/penstock"
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image that can be run: where its tree is, and how its containers start when their pod does not say."""

    name: str
    digest: str
    """Names its content: of an image built here the recipe and all packages' versions, not the bytes of a tar."""
    rootfs: Path
    env: tuple[str, ...]
    entrypoint: tuple[str, ...]
    command: tuple[str, ...]
    user: str
    working_dir: str
    labels: Mapping[str, str]
    names: tuple[str, ...]
    role: str
    suite: str
    version: str
    """Of what it is about: Slurm's in most images."""
    built: float
    """Seconds since the epoch."""
    preferred: float
    """When it was asked for after another one of its names had been built; as `built`."""
    size: int
    """Bytes of its files."""
    packages: tuple[Package, ...]
    programs: tuple[shelf.Program, ...] = ()
    """What was compiled here."""
    key: str
    """Names what it was built of; empty for one that was imported."""


class Library:
    """The images below a directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def all(self) -> list[Image]:
        """Every image, the newest first; one that was asked for anew counts as new."""
        return sorted(self._images(), key=lambda image: max(image.built, image.preferred), reverse=True)

    def find(self, reference: str) -> Image:
        """Find the image that a pod means by `localhost/penstock/slurm:26.05`, or by a digest."""
        wanted = normal(reference)
        for image in self.all():
            if wanted in image.names or reference.rpartition("@")[2] == image.digest:
                return image
        raise MissingImage(_missing(reference, [name for image in self.all() for name in image.names[:1]]))

    def of_role(self, role: str, suite: str = "") -> Image:
        """Find the newest image of a role, or of a role and a suite."""
        for image in self.all():
            if image.role == role and suite in {"", image.suite}:
                return image
        raise MissingImage(_missing(f"{REPOSITORY}/{role}", [name for image in self.all() for name in image.names[:1]]))

    def by_key(self, key: str) -> Image | None:
        """Find what has been built of the same recipe."""
        return next((image for image in self.all() if image.key == key), None)

    def prefer(self, image: Image) -> None:
        """Let an image answer to its names although another one was built after it."""
        if any(self.find(name).digest != image.digest for name in image.names):
            shelf.change(self.place(image.digest), preferred=time.time())

    def prune(self, *, unused_days: float = 0) -> list[Image]:
        """Remove images that no name leads to any more, that nothing runs of, and that are as old as that."""
        images = self.all()
        named = {self.find(name).digest for image in images for name in image.names}
        oldest = time.time() - unused_days * 86400
        gone = [image for image in images if image.digest not in named and image.built < oldest]
        mounted = _mounts() if gone else ""
        return [image for image in gone if self._remove(image, mounted)]

    def _remove(self, image: Image, mounted: str) -> bool:
        place = self.place(image.digest)
        if place.name in mounted:
            return False
        (place / shelf.RECORD).unlink()  # first: whoever looks now must not find half an image
        shutil.rmtree(place)
        return True

    def place(self, digest: str) -> Path:
        """Where an image of a digest is, or would be."""
        if (match := _DIGEST.fullmatch(digest)) is None:
            raise BadRecipe(f"{digest!r} is no digest; write sha256: and 64 hexadecimal digits")
        return self.directory / match[1][:32]

    def _images(self) -> Iterator[Image]:
        for path in self.directory.glob(f"*/{shelf.RECORD}") if self.directory.is_dir() else ():
            if path.parent.name.startswith("."):
                continue
            with suppress(FileNotFoundError):  # somebody removes it at this moment
                found = path.stat()
                yield _read(path.parent, (found.st_ino, found.st_mtime_ns))


def normal(reference: str) -> str:
    """A name without a tag means the newest."""
    return reference if re.search(r":[^/]+$", reference) else f"{reference}:latest"


@lru_cache(maxsize=256)
def _read(place: Path, _version: tuple[int, int]) -> Image:
    """What an image is; a changed record is another file. Every container that starts asks for all of them."""
    record = shelf.read(place)
    listed = tuple(Package(*entry.split("=", 1)) for entry in record.packages)
    fields = {name: getattr(record, name) for name in record.__struct_fields__ if name != "packages"}
    return Image(name=record.names[0], rootfs=shelf.rootfs_of(place), packages=listed, **fields)


def _mounts() -> str:
    """What is mounted anywhere: containers have tables of mounts of their own."""
    tables = []
    for path in Path("/proc").glob("[0-9]*/mountinfo"):
        try:
            tables.append(path.read_text(errors="replace"))
        except OSError:  # the process has ended
            continue
    return "".join(tables)


def _missing(reference: str, known: list[str]) -> str:
    here = f"here are {', '.join(sorted(set(known)))}" if known else "there is none here yet"
    match = re.fullmatch(rf"{re.escape(REPOSITORY)}/([a-z]+)(?::(.+))?", reference)
    if match is None:
        return f"there is no image {reference!r} on this machine ({here}); get it by: penstock images import FILE.tar"
    suite = " --suite trixie" if (match[2] or "").startswith("24.11") else ""
    return f"image {reference!r} has not been built ({here}); build it by: penstock images build {match[1]}{suite}"
