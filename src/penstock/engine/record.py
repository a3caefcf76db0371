"""What is known of a container on disk: written before it is made and after, so that any engine finds it again.

Beside our own record (`container.json`) a bundle holds what conmon leaves: its process number, and in the end the exit
code of the container. runc's own state lives with the machine's run, not with the bundle.

None of it is synced: a machine that loses its power loses its containers too. What such an end left half written is as
good as not there.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from penstock.api.objects import Json
from penstock.engine import processes
from penstock.engine.processes import Identity

_NAME = "container.json"


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Our own record of a container."""

    container_id: str
    boot: str
    """Which run of the machine it belongs to; in another one, process numbers mean nothing."""
    conmon: Identity | None = None
    init: Identity | None = None
    groups: tuple[str, ...] = ()
    """Its control groups, as directories."""
    started_at: datetime | None = None
    """None: it was made, or was about to be, and never told to start."""


class RuncState(msgspec.Struct, frozen=True):
    """The part of runc's state.json that says who the container's first process is."""

    init_process_pid: int
    init_process_start: int
    created: datetime
    cgroup_paths: dict[str, str] = {}

    @property
    def init(self) -> Identity:
        """The first process."""
        return Identity(self.init_process_pid, self.init_process_start)

    @property
    def groups(self) -> tuple[str, ...]:
        """The control groups, as directories."""
        return tuple(dict.fromkeys(self.cgroup_paths.values()))


class Bundle:
    """The directory of one container."""

    def __init__(self, path: Path, container_id: str) -> None:
        self.path = path
        self.container_id = container_id

    @property
    def exits(self) -> Path:
        """Where conmon writes the exit code."""
        return self.path / "exit"

    @property
    def conmon_pid(self) -> Path:
        """Where conmon writes its own number."""
        return self.path / "conmon.pid"

    @property
    def init_pid(self) -> Path:
        """Where runc writes the number of the container's first process."""
        return self.path / "init.pid"

    def prepare(self, config: Json) -> None:
        """Make the directory, with the container's configuration and a first record."""
        self.exits.mkdir(parents=True, exist_ok=True)
        _replace(self.path / "config.json", msgspec.json.encode(config))
        self.write(Record(container_id=self.container_id, boot=processes.boot_id()))

    def write(self, record: Record) -> None:
        """Keep a record; a reader sees the old one or the new one."""
        _replace(self.path / _NAME, msgspec.json.encode(record))

    def read(self) -> Record | None:
        """The record; none when the container was never begun."""
        try:
            return msgspec.json.decode((self.path / _NAME).read_bytes(), type=Record)
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    def was_started(self) -> bool:
        """Whether it was made and told to start, and that was noted."""
        record = self.read()
        return record is not None and record.started_at is not None

    def exit_code(self) -> tuple[int, datetime] | None:
        """The exit code and when it was written; none while the container runs, or when its monitor died."""
        return _dated(self.exits / self.container_id)

    def starved(self, ask: Callable[[], bool]) -> bool:
        """Whether it was killed for want of memory; kept, for with the container the kernel forgets."""
        note = self.exits / "out-of-memory"
        if not note.exists() and ask():
            note.write_text("")
        return note.exists()

    def lose(self) -> datetime:
        """Note that the exit code will never be known; says since when."""
        note = self.exits / "lost"
        if not note.exists():
            note.write_text("")
        return _when(note)

    def group(self) -> str:
        """The control group that the configuration asks for; empty when there is none."""
        try:
            config: Json = msgspec.json.decode((self.path / "config.json").read_bytes())
        except (FileNotFoundError, msgspec.DecodeError):
            return ""
        return str(config.get("linux", {}).get("cgroupsPath", ""))

    def monitor(self) -> Identity | None:
        """The conmon of this container while it lives, also when we died before we could note it."""
        record = self.read()
        if record is None or record.boot != processes.boot_id():
            return None
        if record.conmon is not None:
            return record.conmon if processes.is_alive(record.conmon) else None
        try:
            found = processes.identify(int(self.conmon_pid.read_text()))
        except (FileNotFoundError, ValueError):
            return None
        # The number may be somebody else's by now, so its words must name this very bundle.
        return found if found and str(self.path) in processes.command_line(found) else None


def runc_state(root: Path, container_id: str) -> RuncState | None:
    """What runc knows; none when it has no such container, or was killed while it made one."""
    try:
        return msgspec.json.decode((root / container_id / "state.json").read_bytes(), type=RuncState)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def _dated(path: Path) -> tuple[int, datetime] | None:
    try:
        return int(path.read_text()), _when(path)
    except (FileNotFoundError, ValueError):
        return None


def _when(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)


def _replace(path: Path, content: bytes) -> None:
    draft = path.with_name(f".{path.name}.new")
    # Variables in a configuration may be secrets.
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
    draft.replace(path)
