"""How images lie on disk, and how one gets there whole or not at all.

<directory>/<digest>/rootfs        the tree; nobody writes to it from the day it has its name
<directory>/<digest>/image.json    what it is
<directory>/.build-*               one that is being made; a killed build leaves it, the next one sweeps it
<directory>/.apt, .lock            packages that builds share, and their turns
"""

from __future__ import annotations

import fcntl
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from penstock import durable
from penstock.images.commands import run

RECORD = "image.json"
_ASIDE = ".build-"
_TRIES = 20


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """A file of an image that was compiled here: what is in it, and of what."""

    path: str
    version: str
    digest: str
    sources: str


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What `image.json` keeps."""

    role: str
    suite: str
    key: str
    digest: str
    version: str
    names: tuple[str, ...]
    built: float
    preferred: float = 0
    size: int = 0
    packages: tuple[str, ...] = ()
    programs: tuple[Program, ...] = ()
    env: tuple[str, ...] = ()
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    user: str = ""
    working_dir: str = "/"
    labels: dict[str, str] = {}


def rootfs_of(place: Path) -> Path:
    """Where the tree of an image is inside of its directory."""
    return place / "rootfs"


def read(place: Path) -> Record:
    """Read what an image is."""
    return msgspec.json.decode((place / RECORD).read_bytes(), type=Record)


def write(record: Record, place: Path) -> None:
    """Write what an image is, whole or not at all."""
    durable.put(place / RECORD, msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")


def change(place: Path, **fields: Any) -> None:
    """Change fields of an image's record."""
    write(msgspec.structs.replace(read(place), **fields), place)


@contextmanager
def alone(directory: Path) -> Iterator[None]:
    """Take turns with others who build here; whoever comes second finds the finished build."""
    with (directory / ".lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@contextmanager
def aside(directory: Path) -> Iterator[Path]:
    """A place to make an image, on the same file system; it goes away unless it was settled."""
    place = Path(tempfile.mkdtemp(prefix=_ASIDE, dir=directory))
    place.chmod(0o755)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def settle(made: Path, place: Path) -> None:
    """Give a finished image its place: when it has that, all of its files are on disk."""
    run(["sync", "--file-system", str(made)])
    made.rename(place)
    durable.sync(place.parent)


def sweep(directory: Path) -> None:
    """Remove what killed builds left. Only for who is `alone`, so nobody works there; nothing is ever mounted there."""
    for dead in directory.glob(f"{_ASIDE}*"):
        for _ in range(_TRIES):  # the last child of a killed build may be just about to end
            shutil.rmtree(dead, ignore_errors=True)
            if not dead.exists():
                break
            time.sleep(0.1)
        else:
            shutil.rmtree(dead)
