"""One cluster for all tests: a real control plane, a machine, our operator, and the newest Slurm."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest

from tests.machine.conftest import cluster

from .kube_site import KubeSite, kube_site

__all__ = ["cluster", "shared"]


@pytest.fixture(scope="session")
def shared() -> Iterator[KubeSite]:
    """Bring it up for all tests."""
    directory = Path(mkdtemp(prefix="pk", dir="/tmp"))
    with socket.create_server(("127.0.0.1", 0)) as one:
        port = one.getsockname()[1]
    try:
        with kube_site(directory, "forky", port) as site:
            yield site
    finally:
        shutil.rmtree(directory)
