"""Take a cluster down: its process, its containers, and every trace of them on this machine; claims and keys stay.

What cannot be removed keeps nothing else from being removed: it is told in the end, with the reason.
"""

from __future__ import annotations

import asyncio
import errno
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from penstock.engine import cgroups, mounts, processes
from penstock.engine.layout import Layout
from penstock.engine.leftovers import remove_pod
from penstock.engine.network import Network
from penstock.engine.runtime import Runtime
from penstock.machine import process
from penstock.machine.daemon import HALT_SECONDS

_PATIENCE = HALT_SECONDS + 15.0


@dataclass(frozen=True, slots=True)
class Ended:
    """How a cluster was left."""

    was_there: bool
    left: list[str] = field(default_factory=list)
    """What could not be removed, each with the reason."""


async def take_down(layout: Layout, tell: Callable[[str], None], *, purge: bool = False) -> Ended:
    """End everything; what a dead process left behind goes too."""
    ended = Ended(layout.state.exists())
    tell("ending the containers")
    for role in ("supervise", "serve"):
        await _end(layout, role)
    await _sweep(layout, ended.left)
    if purge:
        tell("removing its data")
    for directory in [layout.run, *([layout.state] if purge else [])]:
        await asyncio.to_thread(_remove, directory, ended.left)
    return ended


async def _end(layout: Layout, role: str) -> None:
    """Ask a process to end with its containers; make it, when it does not in time."""
    known = process.found(layout, role)
    if known is None:
        return
    processes.send(known, signal.SIGINT)
    try:
        async with asyncio.timeout(_PATIENCE):
            await processes.ended(known)
    except TimeoutError:
        processes.send(known, signal.SIGKILL)
        await processes.ended(known)


async def _sweep(layout: Layout, left: list[str]) -> None:
    """Remove what nobody looks after any more."""
    runtime, network = Runtime(root=layout.runc), Network(layout.cluster)
    for directory in sorted(layout.pods.glob("*")):
        with _going_on(left, f"pod in {directory}"):
            await remove_pod(directory, runtime=runtime, network=network, group=layout.group)
    with _going_on(left, f"network of cluster {layout.cluster}"):
        await network.remove_fabric()
    with _going_on(left, f"mounts below {layout.state}"):
        await asyncio.to_thread(mounts.unmount_below, layout.state)
    with _going_on(left, f"control group {layout.group}"):
        busy = await asyncio.to_thread(cgroups.remove, cgroups.here().paths(layout.group))
        left += [f"control group {group}: somebody is still in it" for group in busy]


@contextmanager
def _going_on(left: list[str], what: str) -> Iterator[None]:
    """Go on after whatever goes wrong; it is noted."""
    try:
        yield
    except Exception as problem:
        left.append(f"{what}: {str(problem) or type(problem).__name__}")


def _remove(directory: Path, left: list[str]) -> None:
    """Remove a directory with all that is below, as far as it goes."""
    if mounted := mounts.mounted_below(directory):
        # What is mounted there may be somebody's home: it is never walked into.
        left += [f"{one.target}: something is mounted there still; unmount it first" for one in mounted]
        return

    def note(_function: object, path: str, problem: tuple[object, BaseException, object]) -> None:
        reason = problem[1]
        if isinstance(reason, FileNotFoundError):
            return
        # That its parents are not empty then is no news.
        if not (isinstance(reason, OSError) and reason.errno == errno.ENOTEMPTY):
            left.append(f"{path}: {reason.strerror if isinstance(reason, OSError) else reason}")

    shutil.rmtree(directory, onerror=note)
