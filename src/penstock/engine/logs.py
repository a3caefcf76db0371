"""What a container said: lines with their time, read from the file that conmon writes.

A line reads `2026-11-16T05:44:57.163630215+00:00 stdout F text`. Long lines come in parts, marked P until the last, F;
parts of both streams may be mixed. When the file has grown to its limit, conmon begins a new one under the same name,
and the old one is gone; who follows has it open and reads it to its end first, and misses something only when a whole
file's worth is said before he looks.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import struct
from collections.abc import AsyncGenerator, Coroutine, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

_LIBC = ctypes.CDLL(None, use_errno=True)
_MODIFY, _MOVED_TO, _CREATE = 0x2, 0x80, 0x100  # IN_MODIFY, IN_MOVED_TO, IN_CREATE
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Line:
    """A whole line, without its end."""

    time: str
    """As conmon wrote it, with nanoseconds; of the last part when it came in parts."""
    stream: str
    text: bytes

    @property
    def moment(self) -> datetime:
        """The time as one can reckon with it, to the microsecond."""
        return datetime.fromisoformat(f"{self.time[:26]}{self.time[29:]}")

    @property
    def stamped(self) -> bytes:
        """With the time in front, as `kubectl logs --timestamps` shows it."""
        return f"{self.time.removesuffix('+00:00')}Z ".encode() + self.text if self._is_utc else self._as_written

    @property
    def _is_utc(self) -> bool:
        return self.time.endswith("+00:00")

    @property
    def _as_written(self) -> bytes:
        return self.time.encode() + b" " + self.text


class Joiner:
    """Makes lines of parts, each stream by itself."""

    def __init__(self) -> None:
        self._begun: dict[str, Line] = {}

    def add(self, raw: bytes) -> Line | None:
        """Take one line of the file; gives a line when it is whole. What is no such line is passed over."""
        fields = raw.rstrip(b"\n").split(b" ", 3)
        if len(fields) != 4 or fields[2] not in (b"P", b"F"):
            return None
        time, stream = fields[0].decode(errors="replace"), fields[1].decode(errors="replace")
        before = self._begun.pop(stream, None)
        line = Line(time, stream, (before.text if before else b"") + fields[3])
        if fields[2] == b"P":
            self._begun[stream] = line
            return None
        return line

    def begun(self) -> list[Line]:
        """What has no end yet; after the end of a container, its last words when it said no end of line."""
        return list(self._begun.values())


def read(path: Path, *, tail: int | None = None, since: datetime | None = None) -> list[Line]:
    """What is in the file now, or the last `tail` lines of it; a file that is not there yet is empty."""
    joiner = Joiner()
    with suppress(FileNotFoundError), path.open("rb") as file:
        return _cut([*_shown(file, joiner, tail, since), *joiner.begun()], tail)
    return []


def last(path: Path, *, lines: int) -> str:
    """The last lines as text, for messages."""
    return b"\n".join(line.text for line in read(path, tail=lines)).decode(errors="replace")


async def follow(
    path: Path, *, until: Coroutine[Any, Any, object], tail: int | None = None, since: datetime | None = None
) -> AsyncGenerator[Line, None]:
    """What is in the file now, then every line as it comes, until the container's end and its last line.

    `until` is awaited once and tells that nothing will come any more: `running.ended()`. Close the generator when done.
    """
    end = asyncio.create_task(until)
    try:
        with closing(_Watch(path)) as watch, closing(_Follower(path)) as follower:
            for line in await asyncio.to_thread(follower.beginning, tail, since):
                yield line
            over = False
            while not over:
                # Looked at before reading: what was said before the end is read after we know of it.
                over = end.done()
                for line in follower.news():
                    yield line
                if not over:
                    await watch.changed(or_else=end)
            for line in follower.last_words():
                yield line
    finally:
        end.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await end


class _Follower:
    """Reads a file that grows, and the next one of its name."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._rest = b""
        self._joiner = Joiner()

    def beginning(self, tail: int | None, since: datetime | None) -> list[Line]:
        with suppress(FileNotFoundError):
            self._file = self._path.open("rb")
            return _shown(self._file, self._joiner, tail, since)
        return []

    def news(self) -> Iterator[Line]:
        """What has come since, over the end of a file into the next."""
        while True:
            renewed = self._is_renewed()
            yield from self._grown()
            if not renewed:
                return
            self.close()
            self._file = self._path.open("rb")

    def last_words(self) -> list[Line]:
        return self._joiner.begun()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _is_renewed(self) -> bool:
        try:
            there = self._path.stat()
        except FileNotFoundError:
            return False
        return self._file is None or os.fstat(self._file.fileno()).st_ino != there.st_ino

    def _grown(self) -> Iterator[Line]:
        while self._file is not None and (block := self._file.read(_BLOCK)):
            *whole, self._rest = (self._rest + block).split(b"\n")
            yield from filter(None, map(self._joiner.add, whole))


class _Watch:
    """Tells when a file changes, by the kernel: nothing is asked again and again."""

    def __init__(self, path: Path) -> None:
        self._name = os.fsencode(path.name)
        self._descriptor = _LIBC.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        # The directory, not the file: the file may not be there yet, and another may take its place.
        if self._descriptor < 0 or self._add(path.parent) < 0:
            number = ctypes.get_errno()
            self.close()
            raise OSError(number, f"watch {path}: {os.strerror(number)}")

    async def changed(self, *, or_else: asyncio.Future[object]) -> None:
        """Wait until the file has changed, or something else has come."""
        loop = asyncio.get_running_loop()
        change = loop.create_future()
        loop.add_reader(self._descriptor, self._look, change)
        try:
            await asyncio.wait([change, or_else], return_when=asyncio.FIRST_COMPLETED)
        finally:
            loop.remove_reader(self._descriptor)
            change.cancel()

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _add(self, directory: Path) -> int:
        return int(_LIBC.inotify_add_watch(self._descriptor, os.fsencode(directory), _MODIFY | _MOVED_TO | _CREATE))

    def _look(self, change: asyncio.Future[None]) -> None:
        names = _names(os.read(self._descriptor, 65_536))
        if self._name in names and not change.done():
            change.set_result(None)


def _names(events: bytes) -> set[bytes]:
    """The files that a block of events is about."""
    names, place = set(), 0
    while place < len(events):
        (length,) = struct.unpack_from("I", events, place + 12)
        names.add(events[place + 16 : place + 16 + length].rstrip(b"\0"))
        place += 16 + length
    return names


def _shown(file: BinaryIO, joiner: Joiner, tail: int | None, since: datetime | None) -> list[Line]:
    """The lines from here to the end; a last one that is still being written is left for later."""
    begin = file.tell()
    content = file.read()
    whole = content.rfind(b"\n") + 1
    file.seek(begin + whole)
    # Not `splitlines`: a progress bar's carriage return ends no line.
    raw = content[:whole].split(b"\n")[:-1]
    wanted = raw if tail is None else _last(raw, tail)
    lines = [line for line in filter(None, map(joiner.add, wanted)) if since is None or line.moment >= since]
    return _cut(lines, tail)


def _cut(lines: list[Line], tail: int | None) -> list[Line]:
    return lines if tail is None else lines[max(len(lines) - tail, 0) :]


def _last(raw: list[bytes], tail: int) -> list[bytes]:
    """So many lines from the end that `tail` whole ones are among them, parts included."""
    ends = (place for place in range(len(raw) - 1, -1, -1) if raw[place].split(b" ", 3)[2:3] == [b"F"])
    # From the line before the first wanted one: everything after it belongs to the wanted ones, or is cut off again.
    before = next(islice(ends, tail, None), -1)
    return raw[before + 1 :]
