"""Take a cluster down: its process, its containers, and every trace of them on this machine; claims and keys stay."""

from __future__ import annotations

import asyncio
import shutil
import signal
from collections.abc import Callable

from penstock.engine import cgroups, mounts, processes
from penstock.engine.layout import Layout
from penstock.engine.leftovers import remove_pod
from penstock.engine.network import Network
from penstock.engine.runtime import Runtime
from penstock.machine import process
from penstock.machine.daemon import HALT_SECONDS

_PATIENCE = HALT_SECONDS + 15.0


async def take_down(layout: Layout, tell: Callable[[str], None], *, purge: bool = False) -> bool:
    """End everything; whether there was anything. What a dead process left behind goes too."""
    there = layout.state.exists()
    tell("ending the containers")
    for role in ("supervise", "serve"):
        await _end(layout, role)
    await _sweep(layout)
    if purge:
        tell("removing its data")
        await asyncio.to_thread(shutil.rmtree, layout.state, ignore_errors=True)
    await asyncio.to_thread(shutil.rmtree, layout.run, ignore_errors=True)
    return there


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


async def _sweep(layout: Layout) -> None:
    """Remove what nobody looks after any more."""
    runtime, network = Runtime(root=layout.runc), Network(layout.cluster)
    for directory in layout.pods.glob("*") if layout.pods.exists() else ():
        await remove_pod(directory, runtime=runtime, network=network, group=layout.group)
    await network.remove_fabric()
    if layout.state.exists():
        await asyncio.to_thread(mounts.unmount_below, layout.state)
    await asyncio.to_thread(cgroups.remove, cgroups.here().paths(layout.group))
