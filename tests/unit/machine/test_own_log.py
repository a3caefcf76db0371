"""The log of a process in the background: bounded, with nothing lost of what is kept, while others write to it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.virtual_time import run, until

from penstock.machine import own_log

MOST = 1000
ASK = "import pathlib, sys, penstock.machine.own_log as it; print(it.is_ours(pathlib.Path(sys.argv[1])))"


@pytest.fixture
def log(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    """A log, and how a process that writes it has it open."""
    path = tmp_path / "penstock.log"
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    yield path, descriptor
    os.close(descriptor)


def test_a_long_log_is_moved_aside_under_those_who_write_it(log: tuple[Path, int]) -> None:
    path, descriptor = log
    before = path.with_name("penstock.log.1")
    os.write(descriptor, b"a" * MOST)
    assert not own_log.shorten(path, MOST)
    os.write(descriptor, b"b")
    assert own_log.shorten(path, MOST)
    os.write(descriptor, b"c")
    assert (before.read_bytes(), path.read_bytes()) == (b"a" * (MOST - 1) + b"b", b"c")
    assert before.stat().st_mode & 0o777 == 0o600, "it may be read by nobody else"
    os.write(descriptor, b"d" * MOST)
    assert own_log.shorten(path, MOST)
    assert before.read_bytes() == b"d" * MOST, "the last of it, once"


def test_a_log_that_is_not_there_is_not_too_long(tmp_path: Path) -> None:
    assert not own_log.shorten(tmp_path / "none", MOST)


def test_only_who_writes_to_the_log_looks_after_it(log: tuple[Path, int], tmp_path: Path) -> None:
    """With systemd, or in a terminal, what is said goes elsewhere; the file is an older one then."""
    path, _ = log
    for target, ours in ((path, "True"), (tmp_path / "other", "False")):
        with target.open("ab") as said:
            words = [sys.executable, "-c", ASK, str(path)]
            done = subprocess.run(  # noqa: S603 - our own words, no shell
                words, stderr=said, stdout=subprocess.PIPE, text=True, check=True
            )
        assert done.stdout.strip() == ours


def test_it_is_kept_short_for_as_long_as_it_is_written(log: tuple[Path, int], monkeypatch: pytest.MonkeyPatch) -> None:
    async def at_once(work: Callable[..., Any], *words: Any) -> Any:
        return work(*words)

    monkeypatch.setattr(asyncio, "to_thread", at_once)

    async def story() -> None:
        path, descriptor = log
        keeping = asyncio.create_task(own_log.keep_short(path, most=MOST))
        for _ in range(3):
            os.write(descriptor, b"a" * (MOST + 1))
            await until(lambda: path.stat().st_size == 0, within=3600)
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)

    run(story())
