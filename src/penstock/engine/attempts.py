"""The attempts at running a container: each has a number and a directory, made before the container is.

```
<pod>/containers/<name>/<number>/   config.json, container.json, exit/   as the runtime keeps them
                                    rootfs/ over upper/ and work/        the image, and what was changed
                                    log, message                         what it said, and its last words
```

The directory of the attempt before stays, for its log; older ones go.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from penstock.api.objects import Json
from penstock.engine import logs, mounts
from penstock.engine.clock import stamp
from penstock.engine.podspec import Container
from penstock.engine.runtime import CannotStart, Ended, Running, Runtime
from penstock.engine.views import Terminated
from penstock.images.errors import ImageError
from penstock.images.library import Image

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


Compose = Callable[[Container, Image, Attempt], Awaitable[Json]]
"""The configuration of a container, for runc; makes ready what it mounts."""


Turn = Callable[[], AbstractAsyncContextManager[None]]
"""Waits until something that keeps a processor busy may be done."""


class Attempts:
    """The attempts at the containers of one pod."""

    def __init__(
        self,
        uid: str,
        directory: Path,
        *,
        runtime: Runtime,
        find: Callable[[str], Image],
        compose: Compose,
        turn: Turn = nullcontext,
    ) -> None:
        """With a `turn` each container is made: that keeps a processor busy."""
        self._turn = turn
        self._uid = uid
        self._directory = directory
        self._runtime = runtime
        self._find = find
        self._compose = compose
        self._current: dict[str, Attempt] = {}

    async def begin(self, container: Container) -> tuple[Attempt, Running | Ended]:
        """The next attempt, running; or the last one of an engine before us, as it was found."""
        before = self._current.get(container.name)
        if before is None and (found := await self._adopt(container)):
            return found
        before = self._current.get(container.name)
        if before is not None:
            await self._close(before)
        async with self._turn():
            attempt = await self._next(container, 0 if before is None else before.number + 1)
            config = await self._configured(container, attempt)
            self._current[container.name] = attempt
            return attempt, await self._start(container, attempt, config)

    def log(self, container: str, *, previous: bool = False) -> Path | None:
        """The log of the present attempt at a container, or of the one before."""
        current = self._current.get(container)
        if current is None or (previous and current.number == 0):
            return None
        return current.log if not previous else self._place(container, current.number - 1).log

    async def clear(self) -> None:
        """End and remove everything, whoever made it."""
        if not self._directory.exists():
            return
        for place in sorted(self._directory.glob("*/*")):
            if place.name.isdecimal():
                attempt = self._place(place.parent.name, int(place.name))
                await self._runtime.delete(attempt.container_id, attempt.directory)
        await asyncio.to_thread(_remove, self._directory)
        self._current.clear()

    def _place(self, container: str, number: int) -> Attempt:
        directory = self._directory / container / str(number)
        return Attempt(number=number, container_id=f"{self._uid[:13]}-{container}-{number}", directory=directory)

    async def _adopt(self, container: Container) -> tuple[Attempt, Running | Ended] | None:
        numbers = _numbers(self._directory / container.name)
        if not numbers:
            return None
        attempt = self._place(container.name, numbers[-1])
        found = await self._runtime.adopt(attempt.container_id, attempt.directory)
        if found is None:
            # It never ran: this very attempt is made again.
            await asyncio.to_thread(_remove, attempt.directory)
            if attempt.number > 0:
                self._current[container.name] = self._place(container.name, attempt.number - 1)
            return None
        started = stamp(found.started_at) if found.started_at else ""
        attempt = Attempt(
            number=attempt.number, container_id=attempt.container_id, directory=attempt.directory,
            image_id=self._digest(container), started_at=started, adopted=True,
        )  # fmt: skip
        self._current[container.name] = attempt
        return attempt, found

    async def _next(self, container: Container, number: int) -> Attempt:
        for old in _numbers(self._directory / container.name)[:-1]:
            await asyncio.to_thread(_remove, self._directory / container.name / str(old))
        image, place = self._image(container), self._place(container.name, number)
        return Attempt(
            number=number, container_id=place.container_id, directory=place.directory,
            image_id=image.digest, started_at=stamp(),
        )  # fmt: skip

    async def _configured(self, container: Container, attempt: Attempt) -> Json:
        """The configuration of an attempt. One that cannot have any, for want of a Secret say, has not been made."""
        try:
            return await self._compose(container, self._image(container), attempt)
        except OSError as problem:
            await asyncio.to_thread(_remove, attempt.directory)
            raise CannotBegin("CreateContainerError", f"container {container.name}: {problem}") from problem
        except CannotBegin:
            await asyncio.to_thread(_remove, attempt.directory)
            raise

    async def _start(self, container: Container, attempt: Attempt, config: Json) -> Running:
        try:
            made = await self._runtime.create(
                attempt.container_id, attempt.directory, config, log=attempt.log, stdin=container.stdin
            )
            return await self._runtime.start(made)
        except (CannotStart, OSError) as problem:
            raise CannotBegin("RunContainerError", f"container {container.name}: {problem}") from problem

    async def _close(self, attempt: Attempt) -> None:
        """Keep of an attempt only what it said."""
        await self._runtime.delete(attempt.container_id, attempt.directory)
        await asyncio.to_thread(_strip, attempt.directory)

    def _digest(self, container: Container) -> str:
        """What the image is; empty when it is gone, for who runs needs it no longer."""
        try:
            return self._find(container.image).digest
        except ImageError:
            return ""

    def _image(self, container: Container) -> Image:
        try:
            return self._find(container.image)
        except ImageError as problem:
            raise CannotBegin("ErrImageNeverPull", f"container {container.name}: {problem}") from problem


def _numbers(directory: Path) -> list[int]:
    try:
        return sorted(int(path.name) for path in directory.iterdir() if path.name.isdecimal())
    except FileNotFoundError:
        return []


def _strip(directory: Path) -> None:
    mounts.unmount_below(directory)
    for name in ("rootfs", "upper", "work"):
        shutil.rmtree(directory / name, ignore_errors=True)


def _remove(directory: Path) -> None:
    mounts.unmount_below(directory)
    shutil.rmtree(directory, ignore_errors=True)
