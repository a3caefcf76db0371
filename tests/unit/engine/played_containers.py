"""Containers that only pretend: a runtime without conmon and runc, in which tests say who lives and how it ends."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from penstock.api.objects import Json
from penstock.engine.attempts import Attempt, Attempts
from penstock.engine.podspec import Container
from penstock.engine.processes import Identity
from penstock.engine.runtime import CannotStart, Ended, Running, Runtime
from penstock.images.errors import MissingImage
from penstock.images.library import Image

EPOCH = datetime(2026, 11, 16, 8, 0, tzinfo=UTC)
_NOBODY = Identity(0, 0)


def now() -> datetime:
    """The time of day, as the loop's clock goes."""
    return EPOCH + timedelta(seconds=asyncio.get_running_loop().time())


@dataclass
class Life:
    """A container, from its start to its end."""

    container_id: str
    polite: bool = True
    """It ends when it is asked to."""
    signals: list[int] = field(default_factory=list)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    outcome: Ended | None = None
    began: datetime = field(default_factory=now)

    def end(self, code: int | None = 0, *, cause: str = "", out_of_memory: bool = False) -> None:
        """Let it end."""
        if self.outcome is None:
            self.outcome = Ended(
                exit_code=code, finished_at=now(), started_at=self.began, cause=cause, out_of_memory=out_of_memory
            )
            self.over.set()

    def take(self, number: int) -> None:
        """A signal comes."""
        self.signals.append(number)
        if number == signal.SIGKILL:
            self.end(137)
        elif self.polite:
            self.end(128 + number)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedRunning(Running):
    """A running container, as its life goes."""

    life: Life

    async def ended(self) -> Ended:
        """When its life is over."""
        await self.life.over.wait()
        assert self.life.outcome is not None
        return self.life.outcome

    async def kill(self, number: int) -> None:
        """A signal for it."""
        self.life.take(number)

    async def kill_all(self) -> None:
        """No way out."""
        self.life.take(signal.SIGKILL)


class PlayedRuntime(Runtime):
    """Makes containers that pretend, and remembers them."""

    def __init__(self, root: Path) -> None:
        super().__init__(root=root)
        self.lives: list[Life] = []
        """In the order in which they were started."""
        self.made: list[str] = []
        """Who was made, started or not."""
        self.deleted: list[str] = []
        self.left_behind: dict[str, Running | Ended | None] = {}
        """What an engine before this one left."""
        self.refuses: CannotStart | None = None
        self.polite = True

    async def create(self, container_id: str, bundle: Path, config: Json, **_: Any) -> Running:
        """Make one."""
        self.made.append(container_id)
        if self.refuses:
            raise self.refuses
        _fill(bundle, str(config.get("says", "")))
        return running(Life(container_id, polite=self.polite), bundle)

    async def start(self, container: Running) -> Running:
        """Let it live."""
        assert isinstance(container, PlayedRunning)
        self.lives.append(container.life)
        return container

    async def adopt(self, container_id: str, bundle: Path) -> Running | Ended | None:  # noqa: ARG002
        """What was left behind."""
        found = self.left_behind[container_id]
        if isinstance(found, PlayedRunning):
            self.lives.append(found.life)
        return found

    async def delete(self, container_id: str, bundle: Path) -> None:  # noqa: ARG002
        """End it, and note that."""
        self.deleted.append(container_id)
        for life in self.lives:
            if life.container_id == container_id:
                life.end(137)


def _fill(bundle: Path, says: str) -> None:
    (bundle / "rootfs").mkdir(parents=True, exist_ok=True)
    (bundle / "log").write_text(says)


def running(life: Life, bundle: Path) -> PlayedRunning:
    """A container that runs."""
    return PlayedRunning(
        container_id=life.container_id, bundle=bundle, init=_NOBODY, conmon=_NOBODY, started_at=life.began, life=life
    )


def image(name: str) -> Image:
    """An image of any name but `missing`."""
    if name == "missing":
        raise MissingImage("there is no image called missing; build it")
    return Image(
        name=name, digest=f"sha256:{name}", rootfs=Path("/nowhere"), env=(), entrypoint=(), command=(), user="",
        working_dir="", labels={}, names=(name,), role="", suite="", version="", built=0.0, preferred=0.0, size=0,
        packages=(), key="",
    )  # fmt: skip


def attempts(
    directory: Path, runtime: Runtime, *, find: Callable[[str], Image] = image, uid: str = "0123456789abcdef"
) -> Attempts:
    """The attempts of a pod, with containers that pretend."""

    async def compose(container: Container, _: Image, attempt: Attempt) -> Json:
        return {"says": f"{container.name} {attempt.number}\n"}

    return Attempts(uid, directory, runtime=runtime, find=find, compose=compose)
