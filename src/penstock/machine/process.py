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


@contextmanager
def looking_after(layout: Layout) -> Iterator[None]:
    """Be the one who looks after a cluster."""
    layout.make()
    with _lock(layout).open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Occupied(f"cluster {layout.cluster} is looked after by process {_noted(layout)} already") from None
        note(layout, "serve")
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

    The first one may be our child already.
    """
    note(layout, "supervise")
    child = first
    stopping = False

    def pass_on(which: int, _frame: object) -> None:
        nonlocal stopping
        stopping = True
        if child is not None:
            os.kill(child, which)

    for which in (signal.SIGTERM, signal.SIGINT):
        signal.signal(which, pass_on)
    # Who is at work already lost its supervisor: it goes on, and we are its next one.
    while first is None and found(layout) and not stopping:
        time.sleep(_LOOK)
    failures = 0
    while not stopping:
        began = time.monotonic()
        child, first = first or _begun(words), None
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        # Nobody signals a number any more that may be somebody else's when it is buried.
        ended, child = child, None
        code = os.waitstatus_to_exitcode(os.waitpid(ended, 0)[1])
        if code == 0 or stopping:
            return code
        failures = 0 if time.monotonic() - began > _CALM else failures + 1
        _LOG.warning("the process that looked after %s ended with %d; it is started again", layout.cluster, code)
        time.sleep(_PAUSES[min(failures, len(_PAUSES) - 1)])
    return 0


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


def _lock(layout: Layout) -> Path:
    return layout.state / "lock"


def _place(layout: Layout, role: str) -> Path:
    return layout.run / f"{role}.json"


def _noted(layout: Layout) -> str:
    known = found(layout)
    return str(known.pid) if known else "unknown"
