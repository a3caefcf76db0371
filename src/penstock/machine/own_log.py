"""The log of a process in the background, `penstock.log`: kept to a size, whoever writes to it.

Supervisor, daemon and what they start have the file open for appending, so it can be emptied under all of them; they go
on at its new end. The last of what was in it is kept beside it, once. What somebody says in the instant between the
copy and the emptying is lost: a few lines at most, once in ten megabytes.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from contextlib import suppress
from pathlib import Path

_MOST = 10_000_000
"""Bytes of a log before it is moved aside; conmon allows a container's log as many."""
_LOOK = 60.0
"""Seconds between two looks."""
_STDERR = 2


def is_ours(path: Path) -> bool:
    """Whether what this process says goes to this file; with systemd or in a terminal it goes elsewhere."""
    try:
        return os.path.samestat(path.stat(), os.fstat(_STDERR))
    except OSError:
        return False


async def keep_short(path: Path, *, most: int = _MOST) -> None:
    """See to it that a log does not grow for ever, until cancelled."""
    while True:
        # A machine short of disk or threads may not be so in a minute; it is no reason to end.
        with suppress(OSError, RuntimeError):
            await asyncio.to_thread(shorten, path, most)
        await asyncio.sleep(_LOOK)


def shorten(path: Path, most: int) -> bool:
    """Keep the last `most` bytes of a log that has more beside it, and empty it under those who write it."""
    size = path.stat().st_size if path.exists() else 0
    if size <= most:
        return False
    draft = path.with_name(f".{path.name}.1")
    draft.unlink(missing_ok=True)
    with path.open("rb+") as log:
        log.seek(size - most)
        with open(draft, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as copy:
            shutil.copyfileobj(log, copy)
        # In its place before the log is emptied: whoever dies in between has it twice, not never.
        draft.replace(path.with_name(f"{path.name}.1"))
        log.truncate(0)
    return True
