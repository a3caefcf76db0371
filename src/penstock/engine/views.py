"""What is known of a container at a moment: what `kubectl get pod -o yaml` shows of it."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.api.objects import Json


@dataclass(frozen=True, slots=True)
class Waiting:
    """It does not run, and why."""

    reason: str
    message: str = ""

    def shown(self) -> Json:
        """As a status has it."""
        return {"waiting": _without_empty({"reason": self.reason, "message": self.message})}


@dataclass(frozen=True, slots=True)
class Runs:
    """It runs."""

    started_at: str

    def shown(self) -> Json:
        """As a status has it."""
        return {"running": {"startedAt": self.started_at}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminated:
    """It ran, and how it ended."""

    exit_code: int
    reason: str
    started_at: str
    finished_at: str
    container_id: str
    signal: int = 0
    message: str = ""

    def shown(self) -> Json:
        """As a status has it."""
        told = {
            "exitCode": self.exit_code, "reason": self.reason, "startedAt": self.started_at,
            "finishedAt": self.finished_at, "containerID": _url(self.container_id),
        }  # fmt: skip
        return {"terminated": told | _without_empty({"signal": self.signal, "message": self.message})}


State = Waiting | Runs | Terminated


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A container at a moment."""

    name: str
    image: str
    image_id: str = ""
    state: State = Waiting("PodInitializing")
    last: Terminated | None = None
    """How the attempt before ended."""
    ready: bool = False
    started: bool = False
    restarts: int = 0
    container_id: str = ""

    @property
    def succeeded(self) -> bool:
        """It has ended well."""
        return isinstance(self.state, Terminated) and self.state.exit_code == 0

    def shown(self) -> Json:
        """As a status has it."""
        return {
            "name": self.name, "image": self.image, "imageID": self.image_id, "ready": self.ready,
            "started": self.started, "restartCount": self.restarts, "state": self.state.shown(),
            "lastState": self.last.shown() if self.last else {},
        } | _without_empty({"containerID": _url(self.container_id)})  # fmt: skip


def _url(container_id: str) -> str:
    return f"penstock://{container_id}" if container_id else ""


def _without_empty(told: Json) -> Json:
    return {name: value for name, value in told.items() if value}
