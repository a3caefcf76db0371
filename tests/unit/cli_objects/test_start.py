"""Help is quick: it loads nothing that is slow to load."""

from __future__ import annotations

import subprocess
import sys

import pytest

SLOW = ("asyncio", "msgspec", "aiohttp", "yaml", "ssl", "penstock.api", "penstock.cluster")
PROGRAM = """
import sys
from penstock.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print("loaded:", *[name for name in {slow} if name in sys.modules])
"""


@pytest.mark.parametrize("command", ["get", "exec", "explain"])
def test_help_loads_nothing_slow(command: str) -> None:
    words = [sys.executable, "-c", PROGRAM.format(slow=SLOW), command, "--help"]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout  # noqa: S603 - our own command
    assert said.startswith(f"usage: penstock {command}")
    assert said.splitlines()[-1] == "loaded:"
