"""Where the time of a warm start goes, seen from outside: processes, ports and what the kernel and conmon wrote."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path

from machine.bare import ORDER, is_listened_on
from machine.subject import Subject
from penstock.engine import processes
from penstock.machine import process

_LISTEN = dict(ORDER) | {"slurmrestd": 6820, "login": 22, "slurmd": 6818}
_AGAIN = 0.03
_TICKS = 100
"""Per second: the unit of a process's start time."""


class Timeline:
    """Seconds since the command was begun, by what happened."""

    def __init__(self, it: Subject, began: float) -> None:
        self.seconds: dict[str, float] = {}
        self._it = it
        self._began = began
        self._waiting = dict(_LISTEN)

    def follow(self, workers: int, *, patience: float = 120.0) -> None:
        """Look until all nodes are idle."""
        while "all nodes idle" not in self.seconds:
            if time.time() - self._began > patience:
                raise TimeoutError(f"no {workers} idle nodes after {patience:.0f} s; so far: {self.seconds}")
            self._look_at_ports()
            if "slurmctld" not in self._waiting and self._it.idle_nodes(self._began) == workers:
                self._note("all nodes idle")
            time.sleep(_AGAIN)

    def finish(self) -> None:
        """Add what can be told afterwards."""
        boot = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
        for role in ("supervise", "serve"):
            if known := process.found(self._it.layout, role):
                self.seconds[f"process `penstock {role}`"] = boot + known.start_time / _TICKS - self._began
        if self._it.layout.socket.exists():
            self.seconds["API listens"] = self._it.layout.socket.stat().st_mtime - self._began
        noted = self._it.layout.run / "serve.json"
        self.seconds["serve has its lock (imports done)"] = noted.stat().st_mtime - self._began
        for one in self._it.containers():
            label = f"{one.name} of {one.pod[:4]}" if one.name == "slurmd" else one.name
            label += f", attempt {one.place.name}" if one.place.name != "0" else ""
            if one.record.conmon and one.record.started_at:
                self.seconds[f"{label}: conmon begins"] = boot + one.record.conmon.start_time / _TICKS - self._began
                self.seconds[f"{label}: started"] = one.record.started_at.timestamp() - self._began
        self._read_logs()

    def table(self) -> str:
        """In the order of time."""
        rows = sorted(self.seconds.items(), key=lambda item: item[1])
        return "".join(f"    {seconds:7.2f} s  {what}\n" for what, seconds in rows)

    def _look_at_ports(self) -> None:
        for one in self._it.containers():
            if one.name in self._waiting and processes.identify(one.pid):
                tables = [Path(f"/proc/{one.pid}/net/{name}") for name in ("tcp", "tcp6")]
                if any(is_listened_on(self._waiting[one.name], _read(table)) for table in tables):
                    self._note(f"{one.name} listens")
                    del self._waiting[one.name]

    def _read_logs(self) -> None:
        """What slurmctld says: when a node comes. conmon puts the time before each line."""
        for one in self._it.containers("slurmctld"):
            for line in _read(one.place / "log").splitlines():
                stamp, _, said = line.partition(" ")
                for words in ("Registering slurmctld", "now responding", "Running as primary"):
                    if words in said:
                        at = datetime.fromisoformat(stamp).timestamp() - self._began
                        self.seconds.setdefault(f"slurmctld says: {said.split(': ', 1)[-1][:60]}", at)

    def _note(self, what: str) -> None:
        self.seconds[what] = time.time() - self._began


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
