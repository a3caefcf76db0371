"""Commands in a running container: probes, hooks, and people."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from penstock.engine.runtime import Executed
from tests.engine.containers import Lab, lab, until

Story = Callable[[Lab], Coroutine[Any, Any, None]]


def with_container(tmp_path: Path, story: Story) -> None:
    async def everything() -> None:
        async with asyncio.timeout(60), lab(tmp_path) as it:
            # Its first process takes over orphans, as an init does.
            await it.run("a", "sh", "-c", "while :; do sleep 0.2; done")
            await story(it)

    asyncio.run(everything())


async def execute(it: Lab, script: str, *, timeout: float = 20.0, **said: Any) -> Executed:  # noqa: ASYNC109
    return await it.runtime.execute("a", ["sh", "-c", script], timeout=timeout, **said)


def test_a_command_has_an_exit_code_and_two_outputs(tmp_path: Path) -> None:
    async def story(it: Lab) -> None:
        done = await execute(it, "cat; echo out; echo err >&2; exit 3", stdin=b"in\n")
        assert (done.exit_code, done.output, done.error) == (3, b"in\nout\n", b"err\n")
        assert (done.said, done.timed_out) == ("in\nout\nerr", False)

    with_container(tmp_path, story)


def test_a_command_runs_as_whom_where_and_with_what_it_is_told(tmp_path: Path) -> None:
    async def story(it: Lab) -> None:
        done = await execute(it, "id -u; id -g; pwd; echo $A$HOSTNAME", user="1000:1001", cwd="/tmp", env={"A": "x=1 "})
        assert done.output.decode().splitlines() == ["1000", "1001", "/tmp", "x=1 a"]
        words = ["echo", "--env", "$(id)", "-x", "; rm"]
        assert (await it.runtime.execute("a", words, timeout=20)).output == b"--env $(id) -x ; rm\n"

    with_container(tmp_path, story)


def test_what_takes_too_long_is_ended_with_all_it_started(tmp_path: Path) -> None:
    async def story(it: Lab) -> None:
        script = "echo begun; sleep 7777 & (sleep 7774 &); setsid sleep 7778 & sh -c 'sleep 7779 & wait'"
        done = await execute(it, script, timeout=1.5)
        assert (done.timed_out, done.output) == (True, b"begun\n")
        assert sleepers() == []

    with_container(tmp_path, story)


def test_a_cancelled_command_is_ended_too(tmp_path: Path) -> None:
    async def story(it: Lab) -> None:
        doing = asyncio.create_task(execute(it, "echo; sleep 7776"))
        await until(sleepers)
        doing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await doing
        assert sleepers() == []

    with_container(tmp_path, story)


def test_much_output_is_read_and_little_kept(tmp_path: Path) -> None:
    async def story(it: Lab) -> None:
        done = await execute(it, "head -c 3000000 /dev/zero; echo end >&2", limit=100)
        assert (done.exit_code, done.output, done.error) == (0, b"\0" * 100, b"end\n")

    with_container(tmp_path, story)


def test_what_cannot_be_run_says_why(tmp_path: Path) -> None:
    async def story(it: Lab) -> None:
        missing = await it.runtime.execute("a", ["nosuch"], timeout=20)
        assert missing.exit_code not in (0, None)
        assert "executable file not found" in missing.said
        with pytest.raises(ValueError, match="no command"):
            await it.runtime.execute("a", [], timeout=20)
        await it.delete("a")
        gone = await it.runtime.execute("a", ["true"], timeout=20)
        assert gone.exit_code not in (0, None)

    with_container(tmp_path, story)


def test_one_talks_with_a_command_over_pipes(tmp_path: Path) -> None:
    async def story(it: Lab) -> None:
        words = ["sh", "-c", "read a; echo got $a; read b; echo $b >&2; exit 4"]
        async with await it.runtime.session("a", words) as session:
            assert session.stdin is not None
            assert session.stderr is not None
            session.stdin.write(b"one\n")
            assert await session.stdout.readline() == b"got one\n"
            session.stdin.write(b"two\n")
            assert await session.stderr.read() == b"two\n"
            assert await session.wait() == 4
        async with await it.runtime.session("a", ["cat"], stdin=False) as silent:
            assert silent.stdin is None
            assert await silent.stdout.read() == b""

    with_container(tmp_path, story)


def test_one_talks_with_a_command_over_a_terminal_of_any_size(tmp_path: Path) -> None:
    async def story(it: Lab) -> None:
        script = "tty; while :; do stty size; read -t 0.05 a && exit 5; done"
        async with await it.runtime.session("a", ["bash", "-c", script], tty=True) as session:
            assert session.stdin is not None
            assert session.stderr is None
            assert (await session.stdout.readline()).startswith(b"/dev/pts/")
            assert (await session.stdout.readline()).strip() == b"0 0"
            session.resize(rows=41, columns=123)
            while (await session.stdout.readline()).strip() != b"41 123":
                pass
            session.stdin.write(b"x\n")
            await session.stdout.read()
            assert await session.wait() == 5
        session.resize(rows=1, columns=1)

    with_container(tmp_path, story)


def test_who_leaves_a_session_ends_its_command(tmp_path: Path) -> None:
    async def story(it: Lab) -> None:
        for tty in (False, True):
            async with await it.runtime.session("a", ["sh", "-c", "echo; exec sleep 7775"], tty=tty) as session:
                await session.stdout.readline()
                await until(sleepers)
            assert sleepers() == []

    with_container(tmp_path, story)


def sleepers() -> list[str]:
    """Processes that sleep for a time that only these tests use."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words, state = (place / "cmdline").read_bytes(), (place / "stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if words.startswith(b"sleep\x00777") and state not in "ZX":
            found.append(place.name)
    return found
