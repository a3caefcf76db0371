"""Files that survive a crash, of ours or of the machine: whole, or as they were."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def put(path: Path, text: bytes, *, mode: int = 0o644) -> None:
    """Write a file so that nobody ever finds half of it: beside its place, synced, moved there, and that synced too."""
    handle, beside = tempfile.mkstemp(prefix=".", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        Path(beside).replace(path)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(beside).unlink()
        raise
    sync(path.parent)


def sync(directory: Path) -> None:
    """Have the entries of a directory on disk before anybody is told of them."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
