"""The same questions to the played slurmrestd and to the real ones, so that the play does not drift."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.real_slurm.conftest import ROOT, SUITES
from tests.real_slurm.mini_cluster import CONF, file, mini_cluster
from tests.real_slurm.slurm_parser import SlurmParser

from .site import Site
from .slurm_model import Release
from .slurmrestd import playing

NODES = ("w1", "w2", "w3")
PLAYED = {f"played {one.name}": one for one in Release}


@pytest.fixture(scope="module", params=[*PLAYED, *SUITES])
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    """Give a slurmrestd with three nodes: a played one is new for every question, a real one lasts for the module."""
    if request.param in PLAYED:
        yield _played(PLAYED[request.param])
    else:
        with _real(request.param) as found:
            yield found


def _played(release: Release) -> Site:
    key = os.urandom(32)

    @asynccontextmanager
    async def enter() -> AsyncIterator[str]:
        async with playing(NODES, release=release, key=key) as slurmrestd:
            yield slurmrestd.url

    return Site("played", enter, key, NODES, release.value[0])


def _steady(wanted: dict[str, Any]) -> dict[str, Any]:
    """Nodes that somebody called down stay so, though their slurmds are well and say so now and then."""
    conf = CONF.replace("ReturnToService=2", "ReturnToService=1")
    return {**wanted, "files": wanted["files"] | {"/etc/slurm/slurm.conf": file(conf.encode(), mode=0o644)}}


@contextmanager
def _real(suite: str) -> Iterator[Site]:
    command = [sys.executable, str(ROOT / "tools/rootfs.py"), suite]
    built = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - ours
    assert built.returncode == 0, f"no root file system of {suite}:\n{built.stdout}{built.stderr}"
    parser = SlurmParser(Path(built.stdout.splitlines()[-1]))
    with mini_cluster(parser.root, nodes=len(NODES), adapt=_steady) as cluster:

        @asynccontextmanager
        async def enter() -> AsyncIterator[str]:
            yield f"unix://{cluster.socket}"

        signs = cluster.socket.parent
        signs.chmod(0o1777)  # jobs are not slurmrestd
        version = "v0.0.45" if parser.version.startswith("26.05") else "v0.0.42"

        def begun(number: int) -> bool:
            return (signs / f"begun-{number}").exists()

        yield Site(parser.version, enter, cluster.jwt_key, NODES, version, begun)
