"""`python -m tests.sim` as tests run it: in a process of its own, so that what it breaks stays there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def sim(*words: str) -> tuple[int, str]:
    """Run it; how it ended, and what it said. How far it is goes to whoever looks on."""
    command = [sys.executable, "-m", "tests.sim", *words]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603 - our own words
    return done.returncode, done.stdout
