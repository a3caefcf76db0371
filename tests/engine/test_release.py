"""A container that was made begins when it is let: once, and for runc as for us."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from penstock.engine import processes, release
from penstock.engine.runtime import CannotStart, Ended, Running
from tests.engine.containers import Lab, lab


def told(tmp_path: Path, story: Callable[[Lab], Coroutine[Any, Any, None]]) -> None:
    """Let a story happen, within a minute."""

    async def everything() -> None:
        async with asyncio.timeout(60), lab(tmp_path) as it:
            await story(it)

    asyncio.run(everything())


def status(it: Lab, container_id: str) -> str:
    """What runc says of a container."""
    words = ["runc", "--root", str(it.runtime.root), "state", container_id]
    said = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
    return str(said["status"])


def test_what_we_start_has_been_started_for_runc_too(tmp_path: Path) -> None:
    """It takes commands in it, and it can be found again by who comes after us."""

    async def story(it: Lab) -> None:
        made = await it.create("a", "sleep", "1000")
        assert (status(it, "a"), release.waits(it.runtime.root, "a")) == ("created", True)
        await it.runtime.start(made)
        assert (status(it, "a"), release.waits(it.runtime.root, "a")) == ("running", False)
        assert (await it.runtime.execute("a", ["true"], timeout=30)).exit_code == 0

    told(tmp_path, story)


def test_nobody_is_started_twice(tmp_path: Path) -> None:
    async def story(it: Lab) -> None:
        made = await it.create("a", "sleep", "1000")
        await it.runtime.start(made)
        with pytest.raises(CannotStart, match="has been started before, or is gone"):
            await it.runtime.start(made)

    told(tmp_path, story)


def test_who_ended_before_its_start_is_not_waited_for(tmp_path: Path) -> None:
    async def story(it: Lab) -> None:
        made = await it.create("a", "sleep", "1000")
        processes.send(made.init, signal.SIGKILL)
        await processes.ended(made.init)
        with pytest.raises(CannotStart, match="ended before it could be started"):
            await it.runtime.start(made)

    told(tmp_path, story)


def test_an_engine_that_dies_right_after_the_start_is_followed_by_one_that_knows(tmp_path: Path) -> None:
    """The start is not noted yet; the container runs, and is not made a second time."""

    async def story(it: Lab) -> None:
        made = await it.create("a", "sleep", "1000")
        await release.release(it.runtime.root, "a", made.init)
        found = await it.runtime.adopt("a", it.bundle("a"))
        assert isinstance(found, Running)
        assert found.init == made.init
        await found.kill_all()
        assert isinstance(await found.ended(), Ended)

    told(tmp_path, story)
