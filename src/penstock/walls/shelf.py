"""The directory of policies on a node: which one a uid has, and changes that are whole or not there at all."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from penstock import durable
from penstock.walls.images.granted import unmeasured_images, wrong_images
from penstock.walls.images.store import Store
from penstock.walls.policy import IMAGES, LARGEST, Policy, PolicyError, Range, UserClass
from penstock.walls.reading import read, read_ranges
from penstock.walls.writing import written, written_ranges

DEFAULT, RANGES = "default", "ranges"
_A = TypeVar("_A")
_OF_UID = re.compile(r"uid-(0|[1-9][0-9]{0,9})")


class Shelf:
    """Policies below a directory that is root's alone."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @property
    def images(self) -> Store:
        """The images that lie among the policies."""
        return Store(self.directory / IMAGES)

    def prepare(self) -> None:
        """Make the directory, and a file of no ranges, if they are not there: without it nobody is let through."""
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self.text(RANGES) is None:
            self._write(RANGES, written_ranges(()))

    def of(self, uid: int) -> tuple[str, Policy]:
        """The policy of a uid, and the file that says so; `PolicyError` where the plugin would refuse its steps."""
        name = f"uid-{uid}"
        if (text := self.text(name)) is not None:
            return name, _named(name, read, text)
        if self.text(RANGES) is None:
            raise PolicyError(f"there is no file {RANGES}, so nobody knows whether uid {uid} is a tenant's")
        expected = self.class_of(uid)
        if expected is UserClass.TENANT:
            raise PolicyError(f"uid {uid} is of a tenant's range and has no policy: `penstock walls set {uid} ...`")
        if (text := self.text(DEFAULT)) is None:
            raise PolicyError(f"uid {uid} has no policy, and there is no default")
        policy = _named(DEFAULT, read, text)
        if policy.user_class is UserClass.TENANT:
            raise PolicyError(f"{DEFAULT}: a tenant has a policy of its own")
        if expected is not None and policy.user_class is not expected:
            raise PolicyError(f"uid {uid} is of a range for class {expected}, and {DEFAULT} says {policy.user_class}")
        return DEFAULT, policy

    def class_of(self, uid: int) -> UserClass | None:
        """The class that `ranges` gives a uid."""
        return next((one.user_class for one in self.ranges() if one.first <= uid <= one.last), None)

    def ranges(self) -> tuple[Range, ...]:
        """The ranges; none when there is no such file."""
        text = self.text(RANGES)
        return () if text is None else _named(RANGES, read_ranges, text)

    def uids(self) -> list[int]:
        """Those that have a policy of their own."""
        return sorted(int(found[1]) for name in self._names() if (found := _OF_UID.fullmatch(name)))

    def text(self, name: str) -> str | None:
        """What a file says; None when it is not there."""
        try:
            with (self.directory / name).open("rb") as file:
                return file.read(LARGEST + 1).decode("ascii", "replace")
        except FileNotFoundError:
            return None

    def give(self, uid: int | None, policy: Policy) -> Path:
        """Give a uid a policy, or everybody else theirs; it counts from the next step on."""
        self.prepare()
        return self._write(DEFAULT if uid is None else f"uid-{uid}", written(policy))

    def give_ranges(self, ranges: tuple[Range, ...]) -> Path:
        """Say which uids have a class before they have a file."""
        self.prepare()
        return self._write(RANGES, written_ranges(ranges))

    def remove(self, uid: int) -> None:
        """Take the policy of a uid away."""
        with suppress(FileNotFoundError):
            (self.directory / f"uid-{uid}").unlink()
            durable.sync(self.directory)

    def problems(self) -> Iterator[str]:
        """All that the plugin would refuse, in words."""
        if not self.directory.exists():
            cure = "`penstock walls set default` makes it"
            yield f"{self.directory}: is not there, so every step would be refused; {cure}"
            return
        yield from self._untrusted()
        for name in sorted(self._names()):
            try:
                self._try(name)
            except PolicyError as problem:
                yield str(problem)

    def unmeasured(self) -> Iterator[str]:
        """Images of policies that lie in no store, so that their digests are somebody's word only."""
        for name in sorted(self._names() - {RANGES}):
            with suppress(PolicyError):
                yield from (f"{name}: {told}" for told in unmeasured_images(read(self.text(name) or "")))

    def _try(self, name: str) -> None:
        if name == RANGES:
            self.ranges()
        elif name == DEFAULT or _OF_UID.fullmatch(name):
            policy = _named(name, read, self.text(name) or "")
            if problems := [*wrong_images(policy, self.images)]:
                raise PolicyError(f"{name}: {'; '.join(problems)}")
        else:
            raise PolicyError(f"{name}: neither {DEFAULT}, {RANGES} nor uid-NUMBER: nobody reads it")

    def _untrusted(self) -> Iterator[str]:
        for path in [self.directory, *(self.directory / name for name in sorted(self._names()))]:
            found = path.lstat()
            wanted = stat.S_ISDIR if path == self.directory else stat.S_ISREG
            if not wanted(found.st_mode):
                yield f"{path}: is not what it should be: a {'directory' if wanted is stat.S_ISDIR else 'file'}"
            elif found.st_uid != 0 or found.st_mode & 0o022:
                yield f"{path}: others than root can write it: chown root and chmod go-w"

    def _names(self) -> set[str]:
        try:
            names = {path.name for path in self.directory.iterdir() if not path.name.startswith(".")}
            return names - {IMAGES}
        except FileNotFoundError:
            return set()

    def _write(self, name: str, text: str) -> Path:
        target = self.directory / name
        durable.put(target, text.encode(), mode=0o600)
        return target


def _named(name: str, readable: Callable[[str], _A], text: str) -> _A:
    """Let a problem say whose it is."""
    try:
        return readable(text)
    except PolicyError as problem:
        raise PolicyError(f"{name}: {problem}") from None
