"""Network namespaces: made, and gone into by a thread that does not come back.

What a thread makes in a namespace, a socket above all, stays there for ever. So a thread goes, does one thing and ends;
it is never used again, and no other thread of ours ever leaves the machine's own.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from threading import Thread, get_native_id
from typing import TypeVar

from penstock.engine import mounts

T = TypeVar("T")

_LIBC = ctypes.CDLL(None, use_errno=True)
_NETWORK = 0x40000000  # CLONE_NEWNET


class NoSuchNetwork(OSError):
    """The namespace is gone, with its pod."""


def inside(namespace: Path, work: Callable[[], T]) -> T:
    """Do something in a network namespace, given by its file."""

    def there() -> T:
        _enter(namespace)
        return work()

    return _in_a_thread(there)


def add(namespace: Path) -> None:
    """Make a namespace with a file to find it by, in a directory where `ip netns add` has made one before."""
    namespace.touch(mode=0o444, exist_ok=False)
    try:
        _in_a_thread(lambda: _make(namespace))
    except BaseException:
        namespace.unlink()
        raise


def _in_a_thread(work: Callable[[], T]) -> T:
    result: Future[T] = Future()
    traveller = Thread(target=_travel, args=(result, work), daemon=True)
    traveller.start()
    traveller.join()
    return result.result()


def _travel(result: Future[T], work: Callable[[], T]) -> None:
    try:
        result.set_result(work())
    except BaseException as problem:
        result.set_exception(problem)


def _make(namespace: Path) -> None:
    if _LIBC.unshare(_NETWORK) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"make network namespace {namespace}: {os.strerror(number)}")
    mounts.bind(Path(f"/proc/self/task/{get_native_id()}/ns/net"), namespace, recursive=False)


def _enter(namespace: Path) -> None:
    try:
        descriptor = os.open(namespace, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError as problem:
        raise NoSuchNetwork(problem.errno, f"network namespace {namespace} is gone; so may be its pod") from problem
    try:
        if _LIBC.setns(descriptor, _NETWORK) != 0:
            number = ctypes.get_errno()
            raise NoSuchNetwork(number, f"enter network namespace {namespace}: {os.strerror(number)}")
    finally:
        os.close(descriptor)
