"""The process that looks after a cluster: one at a time, found again by anybody, started anew when it dies.

Who has the lock of a cluster's state looks after it; the kernel gives it back whatever ends that process.
"""

from __future__ import annotations

import fcntl
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from penstock.engine import processes
from penstock.engine.layout import Layout
from penstock.engine.processes import Identity
from penstock.machine.errors import Occupied

_LOG = logging.getLogger(__name__)
_PAUSES = (0.0, 0.5, 1.0, 2.0, 5.0)
"""Seconds before a process that died is started again; the last one for ever after."""
_CALM = 60.0
_LOOK = 0.5
"""Seconds between two looks at a process that is not our child."""
_LOCKS = {"serve": "lock", "supervise": "supervise.lock"}
OCCUPIED = 2
"""The exit code of who finds somebody else in its place."""


@contextmanager
def looking_after(layout: Layout) -> Iterator[None]:
    """Be the one who looks after a cluster."""
    with _alone(layout, "serve", "looked after"):
        yield


@contextmanager
def supervising(layout: Layout) -> Iterator[None]:
    """Be the one who supervises who looks after a cluster."""
    with _alone(layout, "supervise", "supervised"):
        yield


@contextmanager
def _alone(layout: Layout, role: str, done: str) -> Iterator[None]:
    """Have a role, and a note that says so; `Occupied` when somebody else has it."""
    layout.make()
    with (layout.state / _LOCKS[role]).open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Occupied(f"cluster {layout.cluster} is {done} by process {_noted(layout, role)} already") from None
        note(layout, role)
        yield


def note(layout: Layout, role: str) -> None:
    """Write down who we are."""
    found = processes.identify(os.getpid())
    draft = _place(layout, role).with_suffix(".new")
    draft.write_bytes(msgspec.json.encode(found))
    draft.replace(_place(layout, role))


def found(layout: Layout, role: str = "serve") -> Identity | None:
    """Who looks after a cluster (`serve`), or over that one (`supervise`); None when nobody does."""
    try:
        known = msgspec.json.decode(_place(layout, role).read_bytes(), type=Identity)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
    return known if processes.is_alive(known) else None


def is_kept(layout: Layout) -> bool:
    """Whether who looks after a cluster would be started again: by its supervisor, or by systemd."""
    if found(layout, "supervise"):
        return True
    known = found(layout)
    return known is not None and b"INVOCATION_ID=" in _environment(known)


def start_detached(layout: Layout, words: list[str]) -> Callable[[], bool]:
    """Start a supervisor that outlives us, with its log in the cluster's state; tells whether it still runs."""
    layout.make()
    with log_path(layout).open("ab") as log:
        started = subprocess.Popen(  # noqa: S603 - our own command, no shell
            [sys.executable, "-m", "penstock", "supervise", *words],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", start_new_session=True,
        )  # fmt: skip
    return lambda: started.poll() is None


def supervise(layout: Layout, words: list[str], *, first: int | None = None) -> int:
    """Keep a process that looks after a cluster going until it ends well, or we are told to stop.

    The first one may be our child already. `Occupied` when somebody else supervises: then that child is ended.
    """
    supervisor = _Supervisor(layout, words, first)  # hears signals from here on: once noted, anybody may send one
    try:
        with supervising(layout):
            return supervisor.run()
    except Occupied:
        if first is not None:
            os.kill(first, signal.SIGTERM)
            os.waitpid(first, 0)
        raise


class _Supervisor:
    """Starts one child after the other, and passes on to each what it is told itself."""

    def __init__(self, layout: Layout, words: list[str], first: int | None) -> None:
        self._layout, self._words, self._first = layout, words, first
        self._child = first
        self._told = 0
        """The signal that we are to stop by; 0: none."""
        for which in (signal.SIGTERM, signal.SIGINT):
            signal.signal(which, self._pass_on)

    def _pass_on(self, which: int, _frame: object) -> None:
        self._told = which
        if self._child is not None:
            os.kill(self._child, which)

    def run(self) -> int:
        """Until one ends well, or we are told to stop; the exit code of the last one."""
        if self._first is None:
            # Who is at work already lost its supervisor: it goes on, and we are its next one.
            self._while_another_is_at_work()
        failures = 0
        while self._first is not None or not self._told:
            began = time.monotonic()
            code = self._one_life()
            if code == 0 or self._told:
                return code
            if code == OCCUPIED and found(self._layout):
                _LOG.info("somebody else looks after %s; one of ours follows", self._layout.cluster)
                self._while_another_is_at_work()
                continue
            failures = 0 if time.monotonic() - began > _CALM else failures + 1
            told = "the process that looked after %s ended with %d; it is started again"
            _LOG.warning(told, self._layout.cluster, code)
            time.sleep(_PAUSES[min(failures, len(_PAUSES) - 1)])
        return 0

    def _one_life(self) -> int:
        """Start a child, unless it is there already, and wait for its end; its exit code."""
        child, self._first = self._first or _begun(self._words), None
        self._child = child
        if self._told:
            os.kill(child, self._told)  # said while it was being started, when there was nobody to pass it on to
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        # Nobody signals a number any more that may be somebody else's when it is buried.
        self._child = None
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def _while_another_is_at_work(self) -> None:
        while found(self._layout) and not self._told:
            time.sleep(_LOOK)


def _begun(words: list[str]) -> int:
    command = [sys.executable, "-m", "penstock", "serve", *words]
    return os.posix_spawn(sys.executable, command, os.environ)


def log_path(layout: Layout) -> Path:
    """Where a detached process writes its log."""
    return layout.log


def _environment(known: Identity) -> bytes:
    try:
        return Path(f"/proc/{known.pid}/environ").read_bytes()
    except OSError:
        return b""


def _place(layout: Layout, role: str) -> Path:
    return layout.run / f"{role}.json"


def _noted(layout: Layout, role: str) -> str:
    known = found(layout, role)
    return str(known.pid) if known else "unknown"
