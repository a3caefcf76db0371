"""Processes that are not our children: known for certain, awaited, signalled.

A number alone is no name: the kernel gives it again to somebody else. With the time at which its process started it
is one, and a pidfd holds on to exactly that process. So an engine that comes back after its own death neither takes a
stranger for a container nor kills one.
"""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

_PROC = Path("/proc")
_ENDED_STATES = frozenset("ZXx")  # a zombie has ended, only nobody has asked for its exit code yet


class Identity(msgspec.Struct, frozen=True):
    """A process and no other, until the machine restarts."""

    pid: int
    start_time: int
    """Ticks after the machine's start, field 22 of /proc/PID/stat."""


@dataclass(frozen=True, slots=True)
class Stat:
    """The part of /proc/PID/stat that tells processes apart and together."""

    pid: int
    state: str
    parent: int
    session: int
    start_time: int


def parsed(text: str) -> Stat:
    """Read /proc/PID/stat; the name in parentheses may hold spaces and parentheses of its own."""
    head, _, tail = text.rpartition(")")
    fields = tail.split()
    return Stat(int(head.split(" ", 1)[0]), fields[0], int(fields[1]), int(fields[3]), int(fields[19]))


def identify(pid: int) -> Identity | None:
    """The process with this number now; none when there is none, or when it has ended."""
    found = _stat(pid)
    return None if found is None or found.state in _ENDED_STATES else Identity(pid, found.start_time)


def is_alive(process: Identity) -> bool:
    """Whether this very process still runs."""
    return identify(process.pid) == process


def command_line(process: Identity) -> list[str]:
    """The words it was started with; none when it is gone."""
    try:
        words = (_PROC / str(process.pid) / "cmdline").read_bytes().split(b"\0")[:-1]
    except OSError:
        return []
    # Asked afterwards: a number that went to somebody else in between must not lend us his words.
    return [os.fsdecode(word) for word in words] if is_alive(process) else []


def send(process: Identity, number: int) -> bool:
    """Signal this very process; says whether it was there."""
    with _held(process) as descriptor:
        if descriptor is None:
            return False
        try:
            signal.pidfd_send_signal(descriptor, number)
        except ProcessLookupError:
            return False
        return True


async def ended(process: Identity) -> None:
    """Wait until it has ended; one that is gone already has."""
    with _held(process) as descriptor:
        if descriptor is None:
            return
        import asyncio  # noqa: PLC0415  (those who only tell processes apart do without: `up`, and whoever supervises)

        loop = asyncio.get_running_loop()
        seen = asyncio.Event()
        loop.add_reader(descriptor, seen.set)
        try:
            await seen.wait()
        finally:
            loop.remove_reader(descriptor)


def everybody() -> list[Identity]:
    """Every process of the machine that runs at this moment."""
    return [found for pid in _pids() if (found := identify(pid))]


def family(root: Identity) -> list[Identity]:
    """A process with everything it started: its session and its descendants, as far as they still tell."""
    everybody = [found for pid in _pids() if (found := _stat(pid)) and found.state not in _ENDED_STATES]
    kin = {root.pid}
    grown = True
    while grown:
        more = {one.pid for one in everybody if one.parent in kin or one.session in kin} - kin
        kin |= more
        grown = bool(more)
    return [Identity(one.pid, one.start_time) for one in everybody if one.pid in kin]


def end_family(root: Identity) -> None:
    """Kill a process with all its kin; who forks meanwhile is caught by the next look."""
    if not is_alive(root):
        return
    send(root, signal.SIGSTOP)
    for _ in range(10):
        others = [one for one in family(root) if one != root]
        if not others:
            break
        for one in others:
            send(one, signal.SIGKILL)
    send(root, signal.SIGKILL)


def boot_id() -> str:
    """This run of the machine: process numbers and times mean nothing in the next."""
    return (_PROC / "sys/kernel/random/boot_id").read_text().strip()


def _pids() -> list[int]:
    return [int(name) for name in os.listdir(_PROC) if name.isdigit()]  # noqa: PTH208 - half the price of iterdir


def _stat(pid: int) -> Stat | None:
    try:
        return parsed((_PROC / str(pid) / "stat").read_text(errors="surrogateescape"))
    except (FileNotFoundError, ProcessLookupError):
        return None


def _opened(pid: int) -> int:
    """A descriptor of the process with this number now; -1 when there is none."""
    try:
        return os.pidfd_open(pid) if pid > 0 else -1
    except OSError as problem:
        # Nobody has the number; or a thread has it, as older kernels say and as newer ones do.
        if problem.errno in (errno.ESRCH, errno.EINVAL, errno.ENOENT):
            return -1
        raise


@contextmanager
def _held(process: Identity) -> Iterator[int | None]:
    """A descriptor of this very process; none when it is gone."""
    descriptor = _opened(process.pid)
    try:
        # Looked at after the descriptor holds it: from here on the number cannot be given away unnoticed.
        yield descriptor if descriptor >= 0 and is_alive(process) else None
    finally:
        if descriptor >= 0:
            os.close(descriptor)
