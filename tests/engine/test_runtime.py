"""Containers by conmon and runc: their life, their end, and what is left of them (nothing)."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.engine import processes
from penstock.engine.processes import Identity
from penstock.engine.record import Bundle, Record
from penstock.engine.runtime import CannotStart, Ended, Running
from tests.engine.containers import Lab, lab, machine, until

Story = Callable[[Lab], Coroutine[Any, Any, None]]


def told(tmp_path: Path, story: Story) -> None:
    """Let a story happen, within a minute."""

    async def everything() -> None:
        async with asyncio.timeout(60), lab(tmp_path) as it:
            await story(it)

    asyncio.run(everything())


def test_a_container_runs_says_something_and_ends(tmp_path: Path) -> None:
    async def story(it: Lab) -> None:
        running = await it.run("a", "sh", "-c", "echo hello; echo trouble >&2; exit 7")
        ended, again = await asyncio.gather(running.ended(), running.ended())
        assert (ended.exit_code, ended.signal, ended.out_of_memory) == (7, None, False)
        assert ended == again == await running.ended()
        assert running.started_at is not None
        assert ended.started_at == running.started_at
        assert ended.finished_at >= running.started_at.replace(microsecond=0)
        lines = it.log("a").read_text().splitlines()
        assert sorted(line.split(" ", 1)[1] for line in lines) == ["stderr F trouble", "stdout F hello"]
        await it.delete("a")
        await it.delete("a")
        assert await it.runtime.adopt("a", it.bundle("a")) == ended

    told(tmp_path, story)


def test_nothing_happens_before_the_start(tmp_path: Path) -> None:
    async def story(it: Lab) -> None:
        made = await it.create("a", "sh", "-c", "echo hello")
        assert made.started_at is None
        assert processes.is_alive(made.init)
        assert it.log("a").read_text() == ""
        ended = await (await it.runtime.start(made)).ended()
        assert ended.exit_code == 0

    told(tmp_path, story)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nosuch"], '"nosuch": executable file not found in $PATH'),
        (["/etc/passwd"], "permission denied"),
        (["/nowhere/at/all"], "no such file or directory"),
    ],
)
def test_what_cannot_start_says_why_in_runcs_words_and_leaves_nothing(
    tmp_path: Path, words: list[str], said: str
) -> None:
    async def story(it: Lab) -> None:
        with pytest.raises(CannotStart) as problem:
            await it.create("a", *words)
        assert said in str(problem.value)
        assert "level=error" not in str(problem.value)
        assert it.left_behind() == []
        assert await it.runtime.adopt("a", it.bundle("a")) is None

    told(tmp_path, story)


def test_a_machine_without_conmon_says_what_to_install(tmp_path: Path) -> None:
    async def story(it: Lab) -> None:
        it.runtime = type(it.runtime)(root=tmp_path / "runc", conmon="conmon-that-is-not-there")
        with pytest.raises(CannotStart, match="apt-get install conmon runc"):
            await it.create("a", "true")

    told(tmp_path, story)


def test_a_container_is_asked_to_end_and_made_to(tmp_path: Path) -> None:
    async def story(it: Lab) -> None:
        polite = await it.run("a", "sh", "-c", "trap 'exit 3' TERM; echo ready; while :; do sleep 0.05; done")
        await until(lambda: "ready" in it.log("a").read_text())
        await polite.kill(signal.SIGTERM)
        assert (await polite.ended()).exit_code == 3
        await polite.kill(signal.SIGTERM)
        deaf = await it.run("b", "sleep", "1000")
        await deaf.kill_all()
        ended = await deaf.ended()
        assert (ended.exit_code, ended.signal) == (137, signal.SIGKILL)
        await deaf.kill_all()

    told(tmp_path, story)


def test_all_processes_end_also_those_among_the_machines_own(tmp_path: Path) -> None:
    """With hostPID the kernel ends nobody when the first process goes."""

    async def story(it: Lab) -> None:
        running = await it.run("a", "sh", "-c", "setsid sleep 98765 & echo ready; wait", spec={"hostPID": True})
        await until(lambda: "ready" in it.log("a").read_text())
        child = next(one for one in processes.family(running.init) if one != running.init)
        await running.kill_all()
        await asyncio.gather(processes.ended(child), running.ended())
        assert not processes.is_alive(child)

    told(tmp_path, story)


def test_a_dead_monitor_is_noticed_and_its_container_ended(tmp_path: Path) -> None:
    async def story(it: Lab) -> None:
        running = await it.run("a", "sleep", "1000")
        waiting = asyncio.create_task(running.ended())
        processes.send(running.conmon, signal.SIGKILL)
        ended = await waiting
        assert (ended.exit_code, ended.cause) == (None, "its monitor died, so the container was ended")
        assert not processes.is_alive(running.init)
        assert await running.ended() == ended
        found = await it.runtime.adopt("a", it.bundle("a"))
        assert isinstance(found, Ended)
        assert (found.exit_code, found.finished_at) == (None, ended.finished_at)

    told(tmp_path, story)


def test_a_killed_process_is_an_end_like_any_other(tmp_path: Path) -> None:
    async def story(it: Lab) -> None:
        running = await it.run("a", "sleep", "1000")
        os.kill(running.pid, signal.SIGKILL)
        assert (await running.ended()).signal == signal.SIGKILL

    told(tmp_path, story)


@pytest.mark.skipif("memory" not in machine().cgroups.controllers, reason="this machine cannot limit memory")
def test_an_end_for_want_of_memory_is_told_and_remembered(tmp_path: Path) -> None:
    async def story(it: Lab) -> None:
        container = {"resources": {"limits": {"memory": "16Mi"}}}
        running = await it.run("a", "sh", "-c", "exec tail /dev/zero", container=container)
        ended = await running.ended()
        assert (ended.exit_code, ended.out_of_memory) == (137, True)
        await it.delete("a")
        found = await it.runtime.adopt("a", it.bundle("a"))
        assert isinstance(found, Ended)
        assert found.out_of_memory

    told(tmp_path, story)


def test_an_end_that_nobody_saw_is_found_later(tmp_path: Path) -> None:
    async def story(it: Lab) -> None:
        running = await it.run("a", "sh", "-c", "exit 5")
        await processes.ended(running.conmon)
        found = await Lab(tmp_path, name=it.name).runtime.adopt("a", it.bundle("a"))
        assert isinstance(found, Ended)
        assert found.exit_code == 5

    told(tmp_path, story)


def test_a_running_container_is_found_again(tmp_path: Path) -> None:
    async def story(it: Lab) -> None:
        running = await it.run("a", "sleep", "1000")
        found = await Lab(tmp_path, name=it.name).runtime.adopt("a", it.bundle("a"))
        assert found == running
        await found.kill_all()
        assert (await running.ended()).exit_code == 137

    told(tmp_path, story)


def test_one_that_was_made_and_never_started_is_removed(tmp_path: Path) -> None:
    async def story(it: Lab) -> None:
        made = await it.create("a", "sleep", "1000")
        assert await it.runtime.adopt("a", it.bundle("a")) is None
        assert not processes.is_alive(made.init)
        assert it.left_behind() == []

    told(tmp_path, story)


def test_a_start_that_was_not_noted_any_more_is_found_out(tmp_path: Path) -> None:
    async def story(it: Lab) -> None:
        made = await it.create("a", "sleep", "1000")
        place = Bundle(it.bundle("a"), "a")
        before = place.read()
        assert before is not None
        await it.runtime.start(made)
        place.write(before)
        found = await it.runtime.adopt("a", it.bundle("a"))
        assert isinstance(found, Running)
        assert found.started_at is not None

    told(tmp_path, story)


def test_a_restart_of_the_machine_ends_what_ran_without_touching_strangers(tmp_path: Path) -> None:
    async def story(it: Lab) -> None:
        stranger = await it.run("stranger", "sleep", "1000")
        record = Record(
            container_id="a", boot="another", conmon=stranger.conmon, init=stranger.init, started_at=stranger.started_at
        )
        it.bundle("a").mkdir(parents=True)
        (it.bundle("a") / "exit").mkdir()
        (it.bundle("a") / "container.json").write_bytes(msgspec.json.encode(record))
        found = await it.runtime.adopt("a", it.bundle("a"))
        assert isinstance(found, Ended)
        assert (found.exit_code, found.cause) == (None, "the machine was restarted")
        await it.delete("a")
        assert processes.is_alive(stranger.init)
        assert processes.is_alive(stranger.conmon)

    told(tmp_path, story)


def test_a_number_that_went_to_somebody_else_is_neither_taken_nor_killed(tmp_path: Path) -> None:
    async def story(it: Lab) -> None:
        stranger, gone = await it.run("stranger", "sleep", "1000"), await it.run("a", "sleep", "1000")
        await gone.kill_all()
        await gone.ended()
        place = Bundle(it.bundle("a"), "a")
        record = place.read()
        assert record is not None
        (place.exits / "a").unlink()
        place.write(
            msgspec.structs.replace(
                record, groups=(), conmon=Identity(stranger.conmon.pid, 1), init=Identity(stranger.init.pid, 1)
            )
        )
        found = await it.runtime.adopt("a", it.bundle("a"))
        assert isinstance(found, Ended)
        assert found.exit_code is None
        await it.delete("a")
        assert processes.is_alive(stranger.init)
        assert processes.is_alive(stranger.conmon)

    told(tmp_path, story)


@pytest.mark.parametrize("after", [0.0, 0.005, 0.02, 0.04, 0.08])
def test_a_cancelled_creation_leaves_nothing(tmp_path: Path, after: float) -> None:
    async def story(it: Lab) -> None:
        making = asyncio.create_task(it.create("a", "sleep", "1000"))
        await asyncio.sleep(after)
        making.cancel()
        done = (await asyncio.gather(making, return_exceptions=True))[0]
        if isinstance(done, asyncio.CancelledError):
            assert it.left_behind() == []

    told(tmp_path, story)


def test_many_at_once(tmp_path: Path) -> None:
    async def story(it: Lab) -> None:
        names = [f"c{number}" for number in range(20)]
        running = await asyncio.gather(*(it.run(name, "sleep", "1000") for name in names))
        assert len({one.pid for one in running}) == 20
        await asyncio.gather(*(it.delete(name) for name in names))
        assert {(await one.ended()).exit_code for one in running} == {137}

    told(tmp_path, story)


def test_paths_may_be_long_and_odd(tmp_path: Path) -> None:
    async def story(it: Lab) -> None:
        odd = tmp_path / ("x" * 100) / "with space,and more"
        odd.mkdir(parents=True)
        config = it.config("a", "sh", "-c", "echo hi")
        made = await it.runtime.create("a", odd, config, log=odd / "a log")
        ended = await (await it.runtime.start(made)).ended()
        assert ended.exit_code == 0
        assert (odd / "a log").read_text().endswith("stdout F hi\n")
        await it.runtime.delete("a", odd)
        with pytest.raises(CannotStart, match="a colon for the end of a path"):
            await it.runtime.create("a", odd, config, log=odd / "a:b")

    told(tmp_path, story)


def test_a_terminal_of_its_own(tmp_path: Path) -> None:
    async def story(it: Lab) -> None:
        running = await it.run("a", "sh", "-c", "tty; echo $TERM", container={"tty": True})
        await running.ended()
        texts = [line.split(" ", 3)[3].strip() for line in it.log("a").read_text().splitlines()]
        assert texts == ["/dev/pts/0", "xterm"]

    told(tmp_path, story)
