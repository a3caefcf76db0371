"""Jobs on one machine, in virtual time."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from penstock.api.objects import Json

from .loop import simulated
from .one_machine import NAMESPACE, World, template, world


def job(**spec: Any) -> Json:
    """A Job."""
    return {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "fill", "namespace": NAMESPACE},
        "spec": {"template": template("fill", restartPolicy="Never"), **spec},
    }  # fmt: skip


async def end(here: World, phase: str) -> None:
    """Let all pods that run end."""
    for one in (await here.all("Pod")).values():
        if one.status["phase"] == "Running":
            await here.engine.says(one, phase)


@simulated
async def test_a_job_runs_once(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.apply(job())
        await here.settled()
        assert (await here.get("Job", "fill")).status["active"] == 1
        await end(here, "Succeeded")
        await here.settled()
        status = (await here.get("Job", "fill")).status
        assert status["succeeded"] == 1
        assert status["conditions"][0]["type"] == "Complete"
        assert len(await here.names()) == 1
        await here.delete("Job", "fill")
        await here.settled()
        assert await here.names() == []


@simulated
async def test_a_job_tries_again_and_gives_up(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.apply(job(backoffLimit=2))
        for failures in (1, 2, 3):
            await asyncio.sleep(60)
            await end(here, "Failed")
            await here.settled()
            assert (await here.get("Job", "fill")).status["failed"] == failures
        await asyncio.sleep(600)
        assert len(await here.names()) == 3
        told = (await here.get("Job", "fill")).status["conditions"][0]
        assert (told["type"], told["reason"]) == ("Failed", "BackoffLimitExceeded")


@simulated
async def test_a_job_has_a_deadline_and_a_time_to_live(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.apply(job(activeDeadlineSeconds=30, ttlSecondsAfterFinished=100))
        await asyncio.sleep(40)
        assert (await here.get("Job", "fill")).status["conditions"][0]["reason"] == "DeadlineExceeded"
        assert await here.ready() == []
        await asyncio.sleep(100)
        assert await here.names("Job") + await here.names() == []


@simulated
async def test_completions_run_side_by_side_as_many_as_allowed(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await here.apply(job(completions=5, parallelism=2))
        for left in (5, 3, 1):
            await here.settled()
            assert len(await here.ready()) == min(2, left)
            await end(here, "Succeeded")
        await here.settled()
        assert (await here.get("Job", "fill")).status["conditions"][0]["type"] == "Complete"
