"""One attempt at running a container: where it is, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from penstock.engine import logs
from penstock.engine.clock import stamp
from penstock.engine.podspec import Container
from penstock.engine.runtime import Ended
from penstock.engine.views import Terminated

_LAST_WORDS = 4096
"""Bytes of a termination message that a status shows."""
_LAST_LINES = 80
_UNKNOWN = 137
"""What is said of a container whose exit code nobody knows: the code of one that was killed."""


class CannotBegin(Exception):
    """A container could not be started now; a later attempt may."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt at running a container."""

    number: int
    container_id: str
    directory: Path
    image_id: str = ""
    started_at: str = ""
    adopted: bool = False
    """An engine before us started it."""

    @property
    def log(self) -> Path:
        """What the container said."""
        return self.directory / "log"

    @property
    def message(self) -> Path:
        """Where the container may leave its last words."""
        return self.directory / "message"

    def terminated(self, ended: Ended, container: Container) -> Terminated:
        """How it ended, as a status shows it."""
        code = _UNKNOWN if ended.exit_code is None else ended.exit_code
        reason = "Completed" if code == 0 else "OOMKilled" if ended.out_of_memory else "Error"
        return Terminated(
            exit_code=code, signal=ended.signal or 0, reason=reason, container_id=self.container_id,
            message=ended.cause or self._last_words(container, failed=code != 0),
            started_at=stamp(ended.started_at) if ended.started_at else self.started_at or stamp(ended.finished_at),
            finished_at=stamp(ended.finished_at),
        )  # fmt: skip

    def _last_words(self, container: Container, *, failed: bool) -> str:
        try:
            with self.message.open("rb") as file:
                words = file.read(_LAST_WORDS).decode(errors="replace")
        except OSError:
            words = ""
        if words or not failed or container.termination_message_policy != "FallbackToLogsOnError":
            return words
        return logs.last(self.log, lines=_LAST_LINES)[-_LAST_WORDS // 2 :]
