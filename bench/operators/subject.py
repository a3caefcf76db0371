"""The operator that is measured: started, looked at from outside through /proc and its own addresses, stopped."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import aiohttp

_TICKS = os.sysconf("SC_CLK_TCK")
_GRACE = 15.0
"""Seconds to end by itself, which lets it give up its lease."""
_GLANCE = 0.02
"""Seconds between two looks at an address."""


class Subject:
    """One process of an operator. Give its command without a shell around it: the figures are this process's."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self._log = log
        with log.open("a") as output:
            self.started_at = time.perf_counter()
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )

    def check(self) -> None:
        """Complain when it has ended by itself."""
        if self._process.poll() is not None:
            words = self._log.read_text(errors="replace")[-3000:]
            raise RuntimeError(f"the operator ended with {self._process.returncode}; its last words:\n{words}")

    def cpu_seconds(self) -> float:
        """CPU time so far, of user and system."""
        self.check()
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def memory(self) -> tuple[float, float]:
        """Resident memory now and at its highest, in MiB."""
        self.check()
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        found = dict(re.findall(r"^(VmRSS|VmHWM):\s+(\d+) kB", status, re.MULTILINE))
        return int(found["VmRSS"]) / 1024, int(found["VmHWM"]) / 1024

    async def answers(self, url: str, pattern: str = "") -> float:
        """Seconds from its start until an address answers 200, with this in it."""
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as session:
            while True:
                self.check()
                try:
                    async with session.get(url) as answer:
                        if answer.status == 200 and re.search(pattern, await answer.text()):
                            return time.perf_counter() - self.started_at
                except (aiohttp.ClientError, TimeoutError):
                    pass
                await asyncio.sleep(_GLANCE)

    def stop(self) -> None:
        """End it, gently first."""
        self._process.terminate()
        try:
            self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
