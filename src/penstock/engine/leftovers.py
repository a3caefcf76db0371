"""What was left behind: pods of which only a directory is known, and those of an earlier run of the machine."""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

from penstock import durable
from penstock.cluster.backoff import Backoff
from penstock.engine import cgroups, mounts, processes
from penstock.engine.attempts import Attempts
from penstock.engine.layout import Layout
from penstock.engine.network import Network
from penstock.engine.runtime import Runtime
from penstock.engine.volumes import prepared
from penstock.images.library import Image

_LOG = logging.getLogger(__name__)
_BACKOFF = Backoff(first=5.0, longest=60.0)
"""Between two tries to clear a pod away."""


async def remove_pod(directory: Path, *, runtime: Runtime, network: Network, group: str) -> None:
    """End and remove a pod of which only the directory is known."""

    def never(_: str) -> Image:
        raise AssertionError("nothing is started here")

    async def nothing(*_: object) -> dict[str, object]:
        raise AssertionError("nothing is started here")

    await Attempts(directory.name, directory / "containers", runtime=runtime, find=never, compose=nothing).clear()
    await network.detach(directory.name)
    await asyncio.to_thread(prepared.remove, directory)
    await asyncio.to_thread(cgroups.remove, cgroups.here().paths(f"{group}/{directory.name}"))


async def insist(pod: str, clear: Callable[[], Awaitable[None]], *, unless: Callable[[], bool]) -> None:
    """Clear a pod away of which nobody will ask again, until it works."""
    failures = 0
    while not unless():
        try:
            await clear()
        except Exception as problem:
            failures += 1
            _LOG.warning("pod %s is gone and cannot be cleared away yet: %s", pod, problem)
            await asyncio.sleep(_BACKOFF.delay(failures))
        else:
            return


def forget_last_boot(layout: Layout) -> None:
    """Begin anew what an earlier run of the machine had begun: its processes and what was in its memory are gone.

    Init containers too: what they made may have been in memory. Volumes on disk stay, as with kubelet.
    """
    place, current = layout.state / "boot", processes.boot_id().encode()
    known = place.read_bytes() if place.exists() else b""
    if known == current:
        return
    if known:  # An empty note was never finished, and says nothing; each container's own record tells its run.
        for directory in layout.pods.glob("*/containers"):
            mounts.unmount_below(directory)
            shutil.rmtree(directory)
        shutil.rmtree(layout.runc, ignore_errors=True)
        layout.make()
    durable.put(place, current)
