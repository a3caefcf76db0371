"""The images of a node, each whole or not there at all.

<directory>/sha256-<64 digits>/image.json           what it is
<directory>/sha256-<64 digits>/rootfs[.sqsh]        its files, which nobody writes to from the day they have this name
<directory>/sha256-<64 digits>/rootfs[...].environment    the variables of its programs
<directory>/.making-*                               one that is being made; a killed `add` leaves it, the next sweeps it
<directory>/.lock                                   taken by who adds or removes

The plugin holds a shared lock (flock) on the files of an image as long as a step runs in it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from penstock import durable
from penstock.walls.images import record as records
from penstock.walls.images.content import file_digest, measure, walk
from penstock.walls.images.problems import ImageInUse, NoImage
from penstock.walls.images.record import Kind, Record

_ASIDE = ".making-"
_PREFIX = "sha256-"
_SHORTEST = 6
"""Digits of a digest that people may type instead of all."""


class Store:
    """Images below a directory that only root writes to."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def place(self, digest: str) -> Path:
        """The directory of an image; policies cannot name one with a colon."""
        return self.directory / digest.replace(":", "-")

    def files(self, record: Record) -> Path:
        """What the plugin is given."""
        return self.place(record.digest) / record.kind

    def all(self) -> list[Record]:
        """Every image, by name."""
        places = [path for path in self._places() if (path / records.RECORD).exists()]
        return sorted(map(records.read, places), key=lambda one: (one.name, one.digest))

    def find(self, word: str) -> Record:
        """The image of a name or a digest; its first digits are enough."""
        number = word.removeprefix("sha256:")
        fitting = [
            one
            for one in self.all()
            if word == one.name or (len(number) >= _SHORTEST and one.digest[7:].startswith(number))
        ]
        if len(fitting) != 1:
            many = f"{len(fitting)} images are meant by" if fitting else "there is no image"
            raise NoImage(f'{many} "{word}" in {self.directory}; `penstock walls image list` shows all')
        return fitting[0]

    @contextmanager
    def alone(self, tell: Callable[[str], None] = lambda _: None) -> Iterator[None]:
        """Take turns with others who change the store, and sweep what one of them left when it was killed."""
        self.directory.mkdir(mode=0o755, parents=True, exist_ok=True)
        with (self.directory / ".lock").open("w") as handle:
            _lock(handle.fileno(), tell)
            for dead in self.directory.glob(f"{_ASIDE}*"):
                shutil.rmtree(dead)
            yield

    @contextmanager
    def aside(self) -> Iterator[Path]:
        """A place to make an image; it goes away unless it was settled."""
        place = Path(tempfile.mkdtemp(prefix=_ASIDE, dir=self.directory))
        try:
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def settle(self, made: Path, record: Record) -> Record:
        """Give a finished image its place: when it has that, all of it is on disk."""
        subprocess.run(["sync", "--file-system", str(made)], check=True)  # noqa: S603, S607 - a list of words
        self._unname(record)
        records.write(record, made)
        made.chmod(0o755)
        durable.sync(made)
        made.rename(self.place(record.digest))
        durable.sync(self.directory)
        return record

    def rename(self, record: Record, name: str) -> Record:
        """Call an image otherwise; who was called so before has no name any more."""
        named = msgspec.structs.replace(record, name=name)
        if named != record:
            self._unname(named)
            records.write(named, self.place(record.digest))
        return named

    def remove(self, record: Record) -> None:
        """Take an image away; `ImageInUse` while a step runs in it."""
        with self.alone(), self.aside() as grave:
            handle = os.open(self.files(record), os.O_RDONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self.place(record.digest).rename(grave / "image")
                durable.sync(self.directory)
            except BlockingIOError:
                raise ImageInUse(f"{record.digest} is in use by a step; wait until it has ended") from None
            finally:
                os.close(handle)

    def problems(self, record: Record) -> Iterator[str]:
        """All that is not as it was when the image was added."""
        place, files = self.place(record.digest), self.files(record)
        yield from (f"{path}: {told}" for path in (self.directory, place, files) if (told := _untrusted(path)))
        if not files.exists():
            yield f"{files}: is not there"
            return
        if records.environment_of(files).read_bytes() != records.environment(record.settings):
            yield f"{records.environment_of(files)}: is not what the image says"
        if record.kind is Kind.DIRECTORY:
            yield from (f"{path}: {told}" for path, _ in walk(files) if (told := _untrusted(path)))
        found = measure(files).digest if record.kind is Kind.DIRECTORY else file_digest(files)
        if found != record.content:
            yield f"{files}: its content is {found}, and was {record.content} when it was added"

    def _unname(self, record: Record) -> None:
        for other in self.all():
            if record.name and other.name == record.name and other.digest != record.digest:
                records.write(msgspec.structs.replace(other, name=""), self.place(other.digest))

    def _places(self) -> Iterator[Path]:
        try:
            yield from (path for path in self.directory.iterdir() if path.name.startswith(_PREFIX))
        except FileNotFoundError:
            return


def _lock(handle: int, tell: Callable[[str], None]) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        tell("waiting for somebody else who changes the store")
        fcntl.flock(handle, fcntl.LOCK_EX)


def now() -> str:
    """When an image is added."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _untrusted(path: Path) -> str:
    """Why the plugin would not use it, or what somebody could use it for."""
    try:
        is_ = path.lstat()
    except FileNotFoundError:
        return ""
    if is_.st_uid != 0:
        return f"belongs to uid {is_.st_uid}, not to root"
    if not stat.S_ISLNK(is_.st_mode) and is_.st_mode & 0o6022:
        return f"has mode {stat.S_IMODE(is_.st_mode):04o}: others may write it, or become somebody else by it"
    return ""
