"""The controllers die, or hear an error, at every call they make; the end is the same as if they had not."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from penstock.api.objects import Json

from .loop import simulate
from .one_machine import World, claim_template, deployment, stateful_set, world
from .port import Fault

NEW: Json = {"template": {"spec": {"containers": [{"name": "main", "image": "two"}]}}}
_EVERY = 7
"""Each seventh call fails, which is enough for one run; another one begins elsewhere."""
_LIVES = 12
"""How often the controllers die; each life is a little longer than the one before."""


async def story(here: World) -> None:
    """A life: two workloads come, change, shrink, and one goes."""
    policy = {"whenScaled": "Delete", "whenDeleted": "Retain"}
    claims: Any = {"volumeClaimTemplates": [claim_template()], "persistentVolumeClaimRetentionPolicy": policy}
    await here.apply(stateful_set(replicas=3, **claims), deployment(replicas=3), deployment("gone", replicas=1))
    await asyncio.sleep(8)
    await here.edit("StatefulSet", "web", spec=NEW)
    await here.edit("Deployment", "api", spec=NEW)
    await asyncio.sleep(8)
    await here.edit("StatefulSet", "web", spec={"replicas": 2})
    await here.edit("Deployment", "api", spec={"replicas": 2})
    await here.delete("Deployment", "gone")


async def the_end(here: World) -> Json:
    """What is left, without what is made by chance."""
    kinds = ("StatefulSet", "Deployment", "ReplicaSet", "ControllerRevision", "PersistentVolumeClaim")
    found: Json = {kind: await here.names(kind) for kind in kinds}
    pods = (await here.all("Pod")).values()
    found["pods"] = sorted(
        (one.metadata.name.rpartition("-")[0], one.spec["containers"][0]["image"], one.status["phase"]) for one in pods
    )
    for kind, name in (("StatefulSet", "web"), ("Deployment", "api")):
        status = (await here.get(kind, name)).status
        found[name] = {part: status[part] for part in status if part != "conditions"}
    found["directories"] = len(here.directories())
    return found


async def lived(root: Path, fault: Fault | None = None, offset: int = 0) -> tuple[Json, int, int]:
    """Live the story with faults; the end, how many pods there were at most, and how many lives it took."""
    async with world(root) as here:
        lives = 0
        _harm(here, fault, offset, lives)
        telling = asyncio.create_task(story(here))
        for _ in range(200):
            await asyncio.sleep(0.5)
            if here.task.done():
                lives += 1
                here.start()
                _harm(here, fault, offset, lives)
        await telling
        await here.settled(quiet=20, within=3000)
        return await the_end(here), here.engine.most, lives


def _harm(here: World, fault: Fault | None, offset: int, lives: int) -> None:
    if fault is None or lives >= _LIVES:
        return
    calls = [offset + lives * 9] if fault.crash else range(offset, 10_000, _EVERY)
    here.port.faults = dict.fromkeys(calls, fault)


@pytest.mark.parametrize("fault", list(Fault))
@pytest.mark.parametrize("offset", [12, 15, 17])
def test_whatever_goes_wrong_the_end_is_the_same(tmp_path: Path, fault: Fault, offset: int) -> None:
    expected, _, _ = simulate(lived(tmp_path / "calm"))
    assert len(expected["pods"]) == 4
    found, most_found, lives = simulate(lived(tmp_path / "rough", fault, offset), seed=offset)
    assert found == expected
    assert most_found <= 8, "three, three with one more while they roll, and one"
    assert (lives > 3) is fault.crash
