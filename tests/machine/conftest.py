"""A running cluster of every suite in images/suites.toml, brought up and taken down by the command itself."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from .jobs import idle
from .site import WORKERS, Site, eventually, is_ready, site
from .traces import links, traces

ROOT = Path(__file__).resolve().parents[2]
SUITES = list(tomllib.loads((ROOT / "images/suites.toml").read_text())["suites"])


@pytest.fixture(scope="session", params=SUITES)
def shared(request: pytest.FixtureRequest) -> Iterator[Site]:
    """Bring a cluster up for all tests of a suite; when it is down, nothing of it is left."""
    with site(request.param) as place:
        before = links()
        assert traces(place) == []
        try:
            place.up()
            # What sees nothing while all is there would see nothing afterwards, either.
            assert {line.split()[0] for line in traces(place)} == {"process", "mount", "network", "control", "file"}
            yield place
            if mistakes := place.mistakes():
                pytest.fail(mistakes, pytrace=False)
        finally:
            place.down()
        assert traces(place) == []
        assert links() == before


@pytest.fixture
def cluster(shared: Site, request: pytest.FixtureRequest) -> Site:
    """Have the default cluster as `penstock up` makes it: two workers, all of it ready, no jobs."""
    failed = request.session.testsfailed
    if failed != shared.failed_before:
        # Whatever a test left half done must not trouble the next one.
        shared.up()
        shared.slurm("scancel", "--partition=compute")
    shared.failed_before = failed
    there = {pod["metadata"]["name"] for pod in shared.all("pods", f"app.kubernetes.io/instance={WORKERS}")}
    if not there <= (wanted := {f"{WORKERS}-0", f"{WORKERS}-1"}):
        # The busiest stay when a set shrinks, whatever their numbers: only who makes them anew has the first two.
        shared.says("scale", f"nodeset/{WORKERS}", "--replicas=0")
        shared.until("nodesets", WORKERS, lambda one: one["status"]["replicas"] == 0)
    if shared.get("nodesets", WORKERS)["spec"]["replicas"] != len(wanted):
        shared.says("scale", f"nodeset/{WORKERS}", f"--replicas={len(wanted)}")
    for kind in ("accountings", "controllers", "restapis", "nodesets", "loginsets"):
        for one in shared.all(kind):
            shared.until(kind, one["metadata"]["name"], is_ready)
    # A job that finds its node still busy with the end of another one waits for Slurm's next round, half a minute.
    eventually(lambda: idle(shared), lambda found: found >= {"compute-0", "compute-1"})
    return shared
