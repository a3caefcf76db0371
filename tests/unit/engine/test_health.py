"""What containers are asked and told inside of them: what cannot be started on this machine is a bad answer."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from penstock.engine.attempt import Attempt
from penstock.engine.health import Health
from penstock.engine.podspec import Container, Hook, Probe
from penstock.engine.probes import Answer, verdicts
from penstock.engine.runtime import Runtime

EXEC = {"exec": {"command": ["true"]}}
MAIN = Container(name="main")
Ask = Callable[[Health, Attempt], Awaitable[Answer]]


def asked(directory: Path, ask: Ask, *, runc: str = "true") -> Answer:
    """What a container says whose commands are run by some other program than runc."""

    async def main() -> Answer:
        sandbox: Any = SimpleNamespace(address="127.0.0.1")
        health = Health(Runtime(root=directory, runc=runc), sandbox, cast(Any, asyncio.open_connection))
        return await ask(health, Attempt(number=0, container_id="c", directory=directory))

    return asyncio.run(main())


@contextmanager
def without_descriptors() -> Iterator[None]:
    """Nobody in this process can open anything."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def told(health: Health, attempt: Attempt) -> Answer:
    return await health.do(MAIN, attempt, msgspec.convert(EXEC, Hook))


async def probed(health: Health, attempt: Attempt) -> Answer:
    probe = msgspec.convert(EXEC | {"failureThreshold": 1}, Probe)
    async with aclosing(verdicts(probe, lambda: health.ask(MAIN, attempt, probe), holds=None)) as found:
        return await anext(found)


@pytest.mark.parametrize("ask", [told, probed])
def test_what_cannot_be_started_is_a_bad_answer_with_its_words(tmp_path: Path, ask: Ask) -> None:
    async def starved(health: Health, attempt: Attempt) -> Answer:
        with without_descriptors():
            return await ask(health, attempt)

    assert asked(tmp_path, ask).good
    answer = asked(tmp_path, starved)
    assert not answer.good
    assert "Too many open files" in answer.said


def test_a_hook_that_names_a_port_which_nobody_has_is_a_bad_answer(tmp_path: Path) -> None:
    async def do(health: Health, attempt: Attempt) -> Answer:
        return await health.do(MAIN, attempt, msgspec.convert({"httpGet": {"port": "web"}}, Hook))

    answer = asked(tmp_path, do)
    assert (answer.good, "no port named web" in answer.said) == (False, True)
