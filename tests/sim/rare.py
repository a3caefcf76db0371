"""What people do seldom, and what bugs hid behind for it: drawn by a chance of its own, so that old seeds stay."""

from __future__ import annotations

import asyncio
from typing import Any

from penstock.operator.nodeset.snapshot import ON_DELETION
from penstock.operator.resources import CUSTOMS, PODS
from tests.simulation.manifests import NAMESPACE

from .stage import Stage

_BROKEN = "Prolog=\x00"
"""What the API server takes and Penstock does not."""


async def suspend(stage: Stage, about: dict[str, Any]) -> None:
    """Stop a job for a while: its node says that it is idle."""
    slurm = stage.here.slurm
    running = slurm.running
    if not running:
        return
    job = running[about["job"] % len(running)]
    slurm.suspend(job)

    async def resumed() -> None:
        await asyncio.sleep(about["for"])
        slurm.suspend(job, suspended=False)

    stage.meanwhile(resumed())


async def delete_with_jobs(stage: Stage, about: dict[str, Any]) -> None:
    """Delete a NodeSet, and say that nobody waits for its jobs."""
    name = f"slurm-worker-{about['set']}"
    await stage.here.edit("NodeSet", name, metadata={"annotations": {ON_DELETION: "Cancel"}})
    await stage.here.store.delete(CUSTOMS["NodeSet"], name, namespace=NAMESPACE)


async def break_controller(stage: Stage, about: dict[str, Any]) -> None:
    """Write something into the Controller that makes it useless, and mend it after a while."""
    await stage.here.edit("Controller", "slurm", spec={"extraConf": _BROKEN})

    async def mended() -> None:
        await asyncio.sleep(about["for"])
        await stage.here.edit("Controller", "slurm", spec={"extraConf": None})

    stage.meanwhile(mended())


async def take_name(stage: Stage, about: dict[str, Any]) -> None:
    """Have a pod of one's own, for a while, by the name of a worker."""
    name = f"slurm-worker-{about['set']}-{about['worker']}"
    body = {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": {"containers": [{"name": "x", "image": "x"}]}}
    await stage.here.store.create(PODS, body, manager="kubectl")

    async def gone() -> None:
        await asyncio.sleep(about["for"])
        await stage.here.store.delete(PODS, name, namespace=NAMESPACE)

    stage.meanwhile(gone())


async def change_mode(stage: Stage, about: dict[str, Any]) -> None:
    """Have a worker on each machine where workers were counted, or the other way round."""
    name = f"slurm-worker-{about['set']}"
    there = stage.here.sight.get("NodeSet", name)
    if there is not None:
        mode = "StatefulSet" if there.spec.get("scalingMode") == "DaemonSet" else "DaemonSet"
        await stage.here.edit("NodeSet", name, spec={"scalingMode": mode})
