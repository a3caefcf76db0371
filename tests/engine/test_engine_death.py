"""`kill -9` of the engine: containers live on and are found again, and no half-made one stays."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

import pytest

from penstock.engine import processes
from penstock.engine.runtime import Running
from tests.engine.containers import Lab, lab

TOP = Path(__file__).parents[2]


async def engine(it: Lab) -> Process:
    words = [sys.executable, "-m", "tests.engine.engine_that_dies", str(it.directory), it.name]
    return await asyncio.create_subprocess_exec(*words, cwd=TOP, stdout=PIPE)


async def killed(process: Process) -> None:
    process.kill()
    await process.wait()


def test_a_container_outlives_its_engine(tmp_path: Path) -> None:
    async def story() -> None:
        async with asyncio.timeout(60), lab(tmp_path) as it:
            first = await engine(it)
            assert first.stdout is not None
            assert await first.stdout.readline() == b"begin\n"
            pid = int(await first.stdout.readline())
            await killed(first)
            found = await it.runtime.adopt("a", it.bundle("a"))
            assert isinstance(found, Running)
            assert found.pid == pid
            assert processes.is_alive(found.init)
            assert (await it.runtime.execute("a", ["true"], timeout=10)).exit_code == 0
            await found.kill_all()
            assert (await found.ended()).exit_code == 137

    asyncio.run(story())


@pytest.mark.parametrize("after", [0.0, 0.005, 0.01, 0.02, 0.03, 0.04, 0.06, 0.09])
def test_whatever_moment_it_dies_the_next_one_finds_a_container_or_nothing(tmp_path: Path, after: float) -> None:
    async def story() -> None:
        async with asyncio.timeout(60), lab(tmp_path) as it:
            first = await engine(it)
            assert first.stdout is not None
            assert await first.stdout.readline() == b"begin\n"
            await asyncio.sleep(after)
            await killed(first)
            found = await it.runtime.adopt("a", it.bundle("a"))
            if found is None:
                assert it.left_behind() == []
            else:
                assert isinstance(found, Running)
                assert processes.is_alive(found.init)

    asyncio.run(story())
