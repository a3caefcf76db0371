"""Processes that outlive the command that started them, found again through a file and stopped for sure.

A number alone is no identity: the kernel gives it to somebody else one day. So the file also keeps when a process was
born, and the signal goes through a handle that was opened before that was compared.
"""

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from steps import ToolError

RECORD = "processes.json"
# Kept to the end: a Popen that is collected while its process runs may swallow the signal to stop.
_CHILDREN: list["subprocess.Popen[bytes]"] = []
_TAIL = 15  # lines of a log that a person wants to see


@dataclass(frozen=True, slots=True)
class Process:
    """A process that was started here."""

    name: str
    number: int
    born: str

    @property
    def alive(self) -> bool:
        """Whether it still runs; a zombie does not."""
        return birth(self.number) == self.born


def birth(number: int) -> str | None:
    """Tell when a process was born (boot and clock tick), or None when there is no such process any more."""
    try:
        stat = Path(f"/proc/{number}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, *fields = stat.rpartition(")")[2].split()  # the name before may hold anything
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return None if state in "ZX" else f"{boot} {fields[18]}"


def begin(directory: Path) -> None:
    """Make the directory ours; refuse one that is in use or holds somebody's files."""
    known = recorded(directory)
    # An empty record is somebody's who is about to start.
    if (directory / RECORD).exists() and (not known or any(process.alive for process in known)):
        raise ToolError(f"{directory} is in use; stop it first: python3 tools/kube down --directory {directory}")
    stop(directory)
    if directory.exists() and any(directory.iterdir()):
        raise ToolError(f"{directory} is not empty; name a directory that may be removed again")
    directory.mkdir(parents=True, exist_ok=True)
    directory.chmod(0o700)
    (directory / RECORD).touch(exist_ok=False)


def start(directory: Path, name: str, command: Sequence[str]) -> Process:
    """Start a process in the directory, its output in `<name>.log`, and write down who it is."""
    with (directory / f"{name}.log").open("w") as log:
        started = subprocess.Popen(
            command, cwd=directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    try:
        return record(directory, Process(name, started.pid, birth(started.pid) or ""))
    except BaseException:
        started.kill()  # nobody else would know of it
        raise
    finally:
        _CHILDREN.append(started)


def record(directory: Path, process: Process) -> Process:
    """Write down who was started."""
    aside = directory / f".{RECORD}"
    aside.write_text(json.dumps([asdict(known) for known in (*recorded(directory), process)], indent=2))
    aside.rename(directory / RECORD)
    return process


def recorded(directory: Path) -> list[Process]:
    """Read which processes were started in a directory."""
    try:
        text = (directory / RECORD).read_text()
    except FileNotFoundError:
        return []
    return [Process(**fields) for fields in json.loads(text or "[]")]


def stop(directory: Path) -> list[Process]:
    """Stop what was started in a directory, and only that; then remove the directory. Tells who was alive.

    Killed outright: whatever they would put in order first is removed the moment after.
    """
    alive = [process for process in recorded(directory) if kill(process)]
    if (directory / RECORD).exists():
        shutil.rmtree(directory)
    return alive


def kill(process: Process) -> bool:
    """Kill a process and wait until it is gone; False when it was gone already."""
    try:
        handle = os.pidfd_open(process.number)
    except ProcessLookupError:
        return False
    try:
        if not process.alive:
            return False
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        select.select([handle], [], [])
        return True
    finally:
        os.close(handle)


def last_words(directory: Path, name: str) -> str:
    """Return the end of a log, indented."""
    lines = (directory / f"{name}.log").read_text(errors="replace").splitlines()
    return "\n".join(f"    {line}" for line in lines[-_TAIL:])
