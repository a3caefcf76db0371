"""The bytes of a watch, turned into events. No I/O: the network's blocks come in as they fall.

One call into msgspec reads all whole lines of a block. Bookmarks carry neither name nor sense in most of their
fields, and errors are no objects at all, so a block with one of these, being rare, is read again line by line.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic

import msgspec

from penstock.cluster.errors import Unreachable
from penstock.cluster.kube import answers
from penstock.cluster.port import Event, EventType, T

_LONGEST_LINE = 64 * 1024 * 1024
"""Far above any object etcd can hold (1.5 MB); below what would take the process down."""


class _Change(msgspec.Struct, Generic[T], gc=False):
    type: EventType
    object: T


class _Bare(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _Progress(msgspec.Struct, rename="camel"):
    resource_version: str


class _Bookmark(msgspec.Struct):
    metadata: _Progress


class Changes(Generic[T]):
    """Reads one watch of objects of one struct."""

    def __init__(self, struct: type[T], what: str) -> None:
        self._struct = struct
        self._what = what
        self._lines: msgspec.json.Decoder[_Change[T]] = answers.decoder(_Change[struct])  # type: ignore[valid-type]
        # A line may come in thousands of blocks: they are joined once, when its end is there.
        self._rest: list[bytes] = []
        self._rest_size = 0

    def feed(self, block: bytes) -> Iterator[Event[T]]:
        """The events that this block completes."""
        end = block.rfind(b"\n") + 1
        if not end:
            self._keep(block)
            return iter(())
        whole = b"".join((*self._rest, block[:end])) if self._rest else block[:end]
        self._rest.clear()
        self._rest_size = 0
        self._keep(block[end:])
        return self._events(whole)

    def end(self) -> None:
        """The stream is over: `Unreachable` when it stopped in the middle of an event."""
        if self._rest:
            raise Unreachable(f"{self._what}: the stream broke off in the middle of an event")

    def _keep(self, part: bytes) -> None:
        if not part:
            return
        self._rest.append(part)
        self._rest_size += len(part)
        if self._rest_size > _LONGEST_LINE:
            raise Unreachable(f"{self._what}: an event of more than {_LONGEST_LINE} bytes")

    def _events(self, lines: bytes) -> Iterator[Event[T]]:
        try:
            changes = self._lines.decode_lines(lines)
        except msgspec.DecodeError:
            return map(self._slowly, lines.splitlines())
        if any(change.type is EventType.BOOKMARK for change in changes):
            return map(self._slowly, lines.splitlines())
        return (Event(change.type, change.object, change.object.metadata.resource_version) for change in changes)

    def _slowly(self, line: bytes) -> Event[T]:
        bare = answers.read(line, _Bare, self._what)
        if bare.type == "BOOKMARK":
            mark = answers.read(bare.object, _Bookmark, self._what)
            return Event(EventType.BOOKMARK, None, mark.metadata.resource_version)
        if bare.type == "ERROR":
            status = answers.read(bare.object, answers.Status, self._what)
            raise answers.described(status.code or 500, status, self._what)
        if bare.type not in {"ADDED", "MODIFIED", "DELETED"}:
            raise Unreachable(f"{self._what}: the server sent an event of a kind that nobody knows")
        read = answers.read(bare.object, self._struct, self._what)
        return Event(EventType(bare.type), read, read.metadata.resource_version)
