"""The real Slurm of every suite in images/suites.toml, built on first use into the cache."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from .slurm_parser import SlurmParser

ROOT = Path(__file__).resolve().parents[2]
SUITES = list(tomllib.loads((ROOT / "images/suites.toml").read_text())["suites"])


@pytest.fixture(scope="session", params=SUITES)
def slurm(request: pytest.FixtureRequest) -> SlurmParser:
    """Give the parser of one suite; a test that asks for it runs once per suite."""
    command = [sys.executable, str(ROOT / "tools/rootfs.py"), request.param]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if built.returncode:
        pytest.fail(f"no root file system of {request.param}:\n{built.stdout}{built.stderr}", pytrace=False)
    return SlurmParser(Path(built.stdout.splitlines()[-1]))
