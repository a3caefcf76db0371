"""A daemon on a machine of any host name, and on one that is renamed: it starts, and its pods stay its own."""

from __future__ import annotations

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


@contextmanager
def serving(environment: dict[str, str], *, host: str) -> Iterator[None]:
    """A daemon, on a machine that is called so for it alone."""
    words = ["unshare", "--uts", "sh", "-c", RENAME, host, *PENSTOCK, "serve"]
    with subprocess.Popen(words, env=environment, stderr=subprocess.DEVNULL) as daemon:
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
    kept = Path(environment["PENSTOCK_STATE"], "clusters", environment["PENSTOCK_CLUSTER"], "node")
    assert kept.read_text() == "lab-server"
