"""What containers are asked and told inside of them, and what becomes of it where nothing can be started."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec

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


def test_a_hook_that_cannot_be_started_is_a_bad_answer_with_its_words(tmp_path: Path) -> None:
    async def starved(health: Health, attempt: Attempt) -> Answer:
        with without_descriptors():
            return await told(health, attempt)

    assert asked(tmp_path, told).good
    answer = asked(tmp_path, starved)
    assert not answer.good
    assert "Too many open files" in answer.said


def test_a_probe_that_cannot_be_started_says_nothing_and_is_asked_again(tmp_path: Path) -> None:
    """Nobody is ended because the machine is short of something for a moment."""
    probe = msgspec.convert(EXEC | {"failureThreshold": 1}, Probe)

    async def starved_at_first(health: Health, attempt: Attempt) -> Answer:
        times = iter([True])

        async def ask() -> Answer:
            if next(times, False):
                with without_descriptors():
                    return await health.ask(MAIN, attempt, probe)
            return await health.ask(MAIN, attempt, probe)

        async with aclosing(verdicts(probe, ask, holds=None)) as found:
            return await anext(found)

    assert asked(tmp_path, starved_at_first).good


def test_a_hook_that_names_a_port_which_nobody_has_is_a_bad_answer(tmp_path: Path) -> None:
    async def do(health: Health, attempt: Attempt) -> Answer:
        return await health.do(MAIN, attempt, msgspec.convert({"httpGet": {"port": "web"}}, Hook))

    answer = asked(tmp_path, do)
    assert (answer.good, "no port named web" in answer.said) == (False, True)
