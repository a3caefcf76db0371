"""A wall clock for one process that a test can set: `wall_clock.c` before the C library, compiled when it is needed."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from .control_plane import run

SOURCE = Path(__file__).with_suffix(".c")


@dataclass(frozen=True, slots=True)
class WallClock:
    """The clock on somebody's wall. Time itself, the monotonic clock, goes on as ever."""

    library: Path
    file: Path

    @property
    def env(self) -> dict[str, str]:
        """The environment of a process that reads this clock."""
        return {"LD_PRELOAD": str(self.library), "WALL_CLOCK": str(self.file)}

    def jump(self, *, hours: int) -> None:
        """Be so many hours ahead of the others, or behind them, from this moment on."""
        # In place: the process has mapped this very file.
        with self.file.open("r+b", buffering=0) as file:
            file.write((hours * 3600).to_bytes(8, "little", signed=True))


def wall_clock(directory: Path, name: str, *, hours: int = 0) -> WallClock:
    """Hang up a clock."""
    compiler = shutil.which("cc")
    assert compiler, "a C compiler is missing; get it by: python3 tools/prepare.py apt gcc libc6-dev"
    library, file = directory / f"{name}.so", directory / f"{name}.seconds"
    said = run(compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", str(library), str(SOURCE))
    assert said.returncode == 0, said.stderr
    file.write_bytes(bytes(8))
    clock = WallClock(library, file)
    clock.jump(hours=hours)
    return clock
