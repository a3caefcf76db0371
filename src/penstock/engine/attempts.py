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
import logging
import shutil
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

from penstock.api.objects import Json
from penstock.engine import mounts
from penstock.engine.attempt import Attempt, CannotBegin
from penstock.engine.clock import stamp
from penstock.engine.podspec import Container
from penstock.engine.runtime import CannotStart, Ended, Running, Runtime
from penstock.images.errors import ImageError
from penstock.images.library import Image

__all__ = ["Attempt", "Attempts", "CannotBegin", "Compose", "Turn"]

_LOG = logging.getLogger(__name__)

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
        self._ahead: dict[str, tuple[Attempt, Running]] = {}

    async def make_ahead(self, container: Container) -> None:
        """Make the first attempt at a container before its time, so that it only has to be started when that comes.

        Nothing happens where what comes before it may still change what it is made of, or an engine before us left it.
        """
        if not _is_settled(container) or _numbers(self._directory / container.name):
            return
        try:
            async with self._turn():
                self._ahead[container.name] = await self._made(container, 0)
        finally:
            self._current.pop(container.name, None)  # It has not begun: there is no log of it to be read.

    async def begin(self, container: Container) -> tuple[Attempt, Running | Ended]:
        """The next attempt, running; or the last one of an engine before us, as it was found.

        What is left of an earlier one may be in the way for a moment: then it could not begin now.
        """
        with _about(container):
            return await self._begun(container)

    async def _begun(self, container: Container) -> tuple[Attempt, Running | Ended]:
        if ahead := self._ahead.pop(container.name, None):
            return await self._started(container, *ahead)
        before = self._current.get(container.name)
        if before is None and (found := await self._adopt(container)):
            return found
        before = self._current.get(container.name)
        if before is not None:
            await self._close(before)
        async with self._turn():
            attempt, made = await self._made(container, 0 if before is None else before.number + 1)
        return await self._started(container, attempt, made)

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
        self._ahead.clear()

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

    async def _next(self, container: Container, number: int, image: Image) -> Attempt:
        for old in _numbers(self._directory / container.name)[:-1]:
            await asyncio.to_thread(_remove, self._directory / container.name / str(old))
        place = self._place(container.name, number)
        return Attempt(
            number=number, container_id=place.container_id, directory=place.directory,
            image_id=image.digest,
        )  # fmt: skip

    async def _configured(self, container: Container, attempt: Attempt, image: Image) -> Json:
        """The configuration of an attempt. One that cannot have any, for want of a Secret say, has not been made."""
        try:
            return await self._compose(container, image, attempt)
        except OSError as problem:
            await asyncio.to_thread(_remove, attempt.directory)
            raise CannotBegin("CreateContainerError", f"container {container.name}: {problem}") from problem
        except CannotBegin:
            await asyncio.to_thread(_remove, attempt.directory)
            raise

    async def _made(self, container: Container, number: int) -> tuple[Attempt, Running]:
        image = self._image(container)
        attempt = await self._next(container, number, image)
        config = await self._configured(container, attempt, image)
        self._current[container.name] = attempt
        with _about(container):
            return attempt, await self._runtime.create(
                attempt.container_id, attempt.directory, config, log=attempt.log, stdin=container.stdin
            )

    async def _started(self, container: Container, attempt: Attempt, made: Running) -> tuple[Attempt, Running]:
        started = self._current[container.name] = replace(attempt, started_at=stamp())
        with _about(container):
            return started, await self._runtime.start(made)

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


def _is_settled(container: Container) -> bool:
    """Whether time changes nothing about what a container is made of.

    Parts of volumes may be made by others first, and variables from elsewhere may change.
    """
    parts = any(mount.sub_path or mount.sub_path_expr for mount in container.volume_mounts)
    return not parts and not container.env_from and all(one.value_from is None for one in container.env)


@contextmanager
def _about(container: Container) -> Iterator[None]:
    """Let what runc refuses say whose it is."""
    try:
        yield
    except (CannotStart, OSError) as problem:
        if isinstance(problem, OSError):
            _LOG.warning("container %s cannot begin", container.name, exc_info=problem)  # runc would have said why
        raise CannotBegin("RunContainerError", f"container {container.name}: {problem}") from problem


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
