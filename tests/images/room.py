"""A container of an image, by namespaces alone: enough to see that what is inside works."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from penstock.images.library import Image

FURNISH = Path(__file__).with_name("room.sh")
NAMESPACES = ("--mount", "--pid", "--net", "--uts", "--ipc", "--fork", "--kill-child")


class Room:
    """What is written in a room stays when it is entered again."""

    def __init__(self, image: Image, workplace: Path) -> None:
        self._image, self._work = image, workplace
        for name in ("upper", "work", "root"):
            (workplace / name).mkdir(parents=True, exist_ok=True)

    def inside(self, path: str) -> Path:
        """Where a changed file is for us outside."""
        return self._work / "upper" / path.lstrip("/")

    def write(self, path: str, text: str) -> None:
        """Put a file into the room before it is entered."""
        self.inside(path).parent.mkdir(parents=True, exist_ok=True)
        self.inside(path).write_text(text)

    def run(self, *command: str, env: Mapping[str, str] | None = None) -> str:
        """Run a command to its end and return what it said; it must end well."""
        with self.started(*command, env=env) as running:
            said, _ = running.communicate(timeout=120)
        assert running.returncode == 0, f"{command} ended with {running.returncode}:\n{said}"
        return said

    @contextmanager
    def started(self, *command: str, env: Mapping[str, str] | None = None) -> Iterator[subprocess.Popen[str]]:
        """Run a command; whatever still runs at the end of the block is killed with all of its children."""
        start = ["/usr/bin/unshare", *NAMESPACES, "/bin/sh", str(FURNISH), str(self._image.rootfs), str(self._work)]
        running = subprocess.Popen(
            [*start, *command],
            env=dict(entry.split("=", 1) for entry in self._image.env) | dict(env or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        with running:
            try:
                yield running
            finally:
                kill(running)


def kill(running: subprocess.Popen[str]) -> None:
    """Kill the first process of a room, with which all others end, and unshare, which may not have got that far."""
    try:
        children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
    except FileNotFoundError:
        children = []
    for child in children:
        os.kill(int(child), signal.SIGKILL)
    running.kill()
