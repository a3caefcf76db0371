"""A daemon by itself: on a machine of any host name, or of a new one, and with a log that has grown for years."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from uuid import uuid4

import pytest

from tests.engine.containers import until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="host names are root's")

RENAME = 'printf %s "$0" >/proc/sys/kernel/hostname && exec "$@"'
"""`hostname` is choosy, the kernel is not."""
PENSTOCK = (sys.executable, "-m", "penstock")
PATIENCE = 60.0


@pytest.fixture
def environment() -> Iterator[dict[str, str]]:
    """Of a cluster of its own, gone in the end; its socket's path must be short."""
    with TemporaryDirectory(prefix="ps") as directory:
        made = {
            **os.environ,
            "PENSTOCK_STATE": f"{directory}/state",
            "PENSTOCK_RUN": f"{directory}/run",
            "PENSTOCK_CLUSTER": f"name-{uuid4().hex[:8]}",
        }
        yield made
        subprocess.run([*PENSTOCK, "down", "--purge", "--yes"], env=made, check=True, capture_output=True)


def state(environment: dict[str, str]) -> Path:
    return Path(environment["PENSTOCK_STATE"], "clusters", environment["PENSTOCK_CLUSTER"])


@contextmanager
def serving(environment: dict[str, str], *, host: str = "here") -> Iterator[None]:
    """A daemon, on a machine that is called so for it alone; it writes its log as one in the background does."""
    words = ["unshare", "--uts", "sh", "-c", RENAME, host, *PENSTOCK, "serve"]
    log = state(environment) / "penstock.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as said, subprocess.Popen(words, env=environment, stderr=said) as daemon:
        try:
            yield
        finally:
            daemon.terminate()


def asked(environment: dict[str, str], *words: str) -> str:
    """What a command says once somebody answers it."""
    deadline = monotonic() + PATIENCE
    while True:
        done = subprocess.run([*PENSTOCK, *words], env=environment, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout
        assert monotonic() < deadline, done.stderr
        sleep(0.1)


def test_any_host_name_will_do_and_the_first_is_kept(environment: dict[str, str]) -> None:
    with serving(environment, host="Lab_Server"):
        assert asked(environment, "get", "nodes", "-o", "name") == "node/lab-server\n"
    with serving(environment, host="renamed"):
        assert asked(environment, "get", "nodes", "-o", "name") == "node/lab-server\n"
    assert (state(environment) / "node").read_text() == "lab-server"


def test_a_log_that_has_grown_for_years_is_cut(environment: dict[str, str]) -> None:
    log = state(environment) / "penstock.log"
    log.parent.mkdir(parents=True)
    with log.open("wb") as file:
        file.truncate(50_000_000)
    with serving(environment):
        asyncio.run(until(lambda: log.stat().st_size < 1_000_000, within=PATIENCE))
    assert log.with_name("penstock.log.1").stat().st_size >= 10_000_000
