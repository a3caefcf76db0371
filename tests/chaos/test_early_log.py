"""A log that is asked for too early is not there yet; nothing worse."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.cluster.errors import NotYet
from penstock.engine.streams import Streams


def test_the_log_of_an_attempt_that_has_no_directory_yet(tmp_path: Path) -> None:
    """It took the whole engine down: the operator follows the guard's log from the first moment on."""

    async def forever() -> None:
        await asyncio.get_running_loop().create_future()

    async def story() -> None:
        keeper = SimpleNamespace(
            container=SimpleNamespace(name="reconfigure"), attempt_over=forever,
            log=lambda **_: tmp_path / "reconfigure/2/log",
        )  # fmt: skip
        agent: Any = SimpleNamespace(task=lambda *_: SimpleNamespace(keeper=lambda _: keeper))
        runtime: Any = None
        with pytest.raises(NotYet, match="reconfigure"):
            await anext(Streams(agent, runtime).logs("slurm-controller-0", namespace="slurm", container="reconfigure"))

    asyncio.run(story())
