"""`kill -9` of the engine: containers live on and are found again, and no half-made one stays."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

import pytest

from penstock.engine import conmon, processes
from penstock.engine.record import Bundle
from penstock.engine.runtime import Running
from tests.engine.containers import Lab, lab, until

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


def test_a_runc_that_is_in_the_middle_of_it_is_waited_for(tmp_path: Path) -> None:
    """Nobody noted the conmon that called it; what it would make after its removal would stay for ever."""
    slow, calls = tmp_path / "slow-runc", tmp_path / "called"
    slow.write_text(f'#!/bin/sh\necho "$@" >>{calls}\nsleep 0.5\nexec runc "$@"\n')
    slow.chmod(0o755)

    async def story() -> None:
        async with asyncio.timeout(60), lab(tmp_path) as it:
            bundle = Bundle(it.bundle("a"), "a")
            bundle.prepare(it.config("a", "sleep", "1000"))
            words = conmon.command(
                bundle, conmon="conmon", runc=str(slow), root=it.runtime.root,
                log=it.log("a"), log_limit=1000, terminal=False, stdin=False,
            )  # fmt: skip
            first = asyncio.create_task(conmon.launch(words))
            await until(calls.exists)
            first.cancel()
            bundle.conmon_pid.unlink(missing_ok=True)
            assert await it.runtime.adopt("a", it.bundle("a")) is None
            assert it.left_behind() == []

    asyncio.run(story())


def test_a_container_whose_engine_died_while_it_let_it_go_has_never_run(tmp_path: Path) -> None:
    """Its first process has nobody to say its word to, and ends with 1; that is no failure of the container."""

    async def story() -> None:
        async with asyncio.timeout(60), lab(tmp_path) as it:
            made = await it.create("a", "sh", "-c", "exit 1")
            place = Bundle(it.bundle("a"), "a")
            unnoted = place.read()
            assert unnoted is not None
            await it.runtime.start(made)
            place.write(unnoted)
            await processes.ended(made.conmon)
            assert await it.runtime.adopt("a", it.bundle("a")) is None
            assert it.left_behind() == []

    asyncio.run(story())
