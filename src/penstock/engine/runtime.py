"""Containers: made, started, found again, ended and removed, with conmon and runc.

```
create ──> start ──> ended          adopt: what an engine that died has left behind
   └──────────┴─────────┴──> delete  (right in every half-made state)
```

A container never depends on the engine: conmon is nobody's child, and all that is needed to find it again is on disk
before it exists. Signals go straight to the process, so neither ending one nor waiting for it starts a program.
"""

from __future__ import annotations

import asyncio
import shutil
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from penstock.api.objects import Json
from penstock.engine import cgroups, conmon, execution, makers, processes, release
from penstock.engine.conmon import CannotStart, readable
from penstock.engine.execution import Executed, Session
from penstock.engine.processes import Identity
from penstock.engine.record import Bundle, Record, runc_state
from penstock.engine.running import Ended, Running, end_members, lost, outcome
from penstock.engine.threads import finished

__all__ = ["CannotStart", "Ended", "Executed", "Running", "Runtime", "Session"]

_LAST_WORDS = 5.0
"""Seconds that conmon has, after the container's end, to write down the exit code; it needs milliseconds."""
_LEAVING = 5.0
"""Seconds that killed processes have to leave their groups; longer takes only who waits for a disk that is away."""
_UNHEARD = 1
"""With this a first process ends that was let go by an engine which died before it heard its word: it never ran."""
_NOBODY = Identity(0, 0)
"""A process that is gone for certain: number 0 is nobody's."""
_MAKING = 60.0
"""Seconds that conmon and runc have to make a container; a busy machine needs one or two."""


class Runtime:
    """conmon and runc; `root`, where runc keeps what it knows, must not outlive a reboot: put it below /run."""

    def __init__(self, *, root: Path, conmon: str = "conmon", runc: str = "runc") -> None:
        self.root = root
        self._conmon = conmon
        # conmon looks for no program: it wants a path.
        self._runc = shutil.which(runc, path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin") or runc

    async def create(
        self,
        container_id: str,
        bundle: Path,
        config: Json,
        *,
        log: Path,
        log_limit: int = 10_000_000,
        stdin: bool = False,
    ) -> Running:
        """Make a container that waits for `start`; its directory and the log's are made when missing.

        Cancelled, or refused by runc, it leaves nothing but the bundle.
        """
        making = self._make(container_id, bundle, config, log=log, log_limit=log_limit, stdin=stdin)
        try:
            # Removed only when runc is done: a container that appears after its removal would stay for ever.
            return await finished(making)
        except BaseException:
            await finished(self.delete(container_id, bundle))
            raise

    async def start(self, container: Running) -> Running:
        """Let a container run that was made."""
        try:
            async with asyncio.timeout(_MAKING):
                await release.release(self.root, container.container_id, container.init)
        except release.NotReleased as problem:
            raise CannotStart(str(problem)) from problem
        except TimeoutError:
            raise CannotStart(f"the container did not begin within {_MAKING:.0f} s") from None
        started = replace(container, started_at=datetime.now(UTC))
        Bundle(container.bundle, container.container_id).write(_recorded(started))
        return started

    async def adopt(self, container_id: str, bundle: Path) -> Running | Ended | None:
        """What became of a container that an earlier engine made; None: it never ran, and nothing is left of it."""
        place = Bundle(bundle, container_id)
        record = place.read()
        started_at = record.started_at or self._started_unnoted(container_id) if record else None
        if record is None or started_at is None:
            await self.delete(container_id, bundle)
            return None
        if record.boot != processes.boot_id():
            found = outcome(place, started_at=started_at)
            return found or lost(place, started_at=started_at, cause="the machine was restarted")
        container = self._found(place, record, started_at)
        if processes.is_alive(container.conmon):
            return container
        ended = await container.ended()
        if record.started_at is None and ended.exit_code == _UNHEARD:
            await self.delete(container_id, bundle)
            return None
        return ended

    async def kill(self, container: Running, number: int) -> None:
        """Signal the first process of a container; one that is gone is fine."""
        await container.kill(number)

    async def kill_all(self, container: Running) -> None:
        """End every process of a container."""
        await container.kill_all()

    async def delete(self, container_id: str, bundle: Path) -> None:
        """End a container and remove what runc and the kernel hold of it; the bundle stays, and says how it ended."""
        place = Bundle(bundle, container_id)
        if not place.was_started():
            await makers.end(bundle)
        state, monitor = runc_state(self.root, container_id), place.monitor()
        groups = _groups(place, state.groups if state else ())
        if state is not None:
            processes.send(state.init, signal.SIGKILL)
        await asyncio.to_thread(end_members, groups)
        if monitor is not None:
            await _dismiss(monitor, patience=_LAST_WORDS if state else 0.0)
        if (self.root / container_id).exists():
            await self._forget(container_id)
        await _removed(groups)

    async def execute(
        self,
        container_id: str,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        cwd: str | None = None,
        stdin: bytes = b"",
        timeout: float,  # noqa: ASYNC109 - a probe's own limit, after which what it started must be ended too
        limit: int = 16_384,
    ) -> Executed:
        """Run a command in a container to its end; the first `limit` bytes of each output are kept."""
        words = execution.command(self._base(), container_id, argv, env=env, user=user, cwd=cwd)
        return await execution.run(words, stdin=stdin, timeout=timeout, limit=limit)

    async def session(
        self,
        container_id: str,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        cwd: str | None = None,
        tty: bool = False,
        stdin: bool = True,
    ) -> Session:
        """Run a command in a container for somebody who talks with it."""
        words = execution.command(self._base(), container_id, argv, env=env, user=user, cwd=cwd, tty=tty)
        return await execution.open_session(words, tty=tty, stdin=stdin)

    async def _make(
        self, container_id: str, path: Path, config: Json, *, log: Path, log_limit: int, stdin: bool
    ) -> Running:
        bundle = Bundle(path, container_id)
        bundle.prepare(config)
        log.parent.mkdir(parents=True, exist_ok=True)
        terminal = bool(config.get("process", {}).get("terminal"))
        words = conmon.command(
            bundle, conmon=self._conmon, runc=self._runc, root=self.root,
            log=log, log_limit=log_limit, terminal=terminal, stdin=stdin,
        )  # fmt: skip
        try:
            async with asyncio.timeout(_MAKING):
                await conmon.launch(words)
        except TimeoutError:
            raise CannotStart(f"conmon and runc did not make it within {_MAKING:.0f} s") from None
        state, monitor = runc_state(self.root, container_id), bundle.monitor()
        if state is None or monitor is None:
            raise CannotStart("the container, or its monitor, was ended while it was made")
        groups = tuple(Path(group) for group in state.groups)
        made = Running(container_id=container_id, bundle=path, init=state.init, conmon=monitor, groups=groups)
        bundle.write(_recorded(made))
        return made

    def _started_unnoted(self, container_id: str) -> datetime | None:
        """When a container was started whose start nobody could note any more, for the engine died that moment."""
        state = runc_state(self.root, container_id)
        return state.created if state is not None and not release.waits(self.root, container_id) else None

    def _found(self, place: Bundle, record: Record, started_at: datetime) -> Running:
        """A container that was started, from what the disk tells."""
        state = runc_state(self.root, place.container_id)
        init, monitor = record.init or (state and state.init), record.conmon or place.monitor()
        groups = record.groups or (state.groups if state else ())
        return Running(
            container_id=place.container_id, bundle=place.path, init=init or _NOBODY, conmon=monitor or _NOBODY,
            groups=tuple(Path(group) for group in groups), started_at=started_at,
        )  # fmt: skip

    async def _forget(self, container_id: str) -> None:
        try:
            await self._runc_do("delete", "--force", container_id)
        except CannotStart:
            # runc was killed while it made the container and finds no sense in what is there; nothing runs any more.
            await asyncio.to_thread(shutil.rmtree, self.root / container_id, ignore_errors=True)

    async def _runc_do(self, *words: str) -> None:
        done = await execution.run([*self._base(), *words], timeout=_MAKING)
        if done.exit_code != 0:
            raise CannotStart(readable(done.error.decode(errors="replace")))

    def _base(self) -> list[str]:
        return [self._runc, "--root", str(self.root)]


def _recorded(container: Running) -> Record:
    return Record(
        container_id=container.container_id,
        boot=processes.boot_id(),
        conmon=container.conmon,
        init=container.init,
        groups=tuple(str(group) for group in container.groups),
        started_at=container.started_at,
    )


def _groups(place: Bundle, known: Sequence[str]) -> list[Path]:
    """The container's control groups, also when runc was killed before it could note them."""
    wanted = place.group().strip("/")
    return [Path(group) for group in known] or (cgroups.here().paths(wanted) if wanted else [])


async def _removed(groups: Sequence[Path]) -> None:
    """Remove control groups. Who was killed may still be on its way out of one, and the kernel tells nobody of that."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_LEAVING):
            while await asyncio.to_thread(cgroups.remove, groups):  # noqa: ASYNC110 - see above
                await asyncio.sleep(0.01)


async def _dismiss(monitor: Identity, *, patience: float) -> None:
    """See conmon go; it does by itself once its container has ended."""
    try:
        async with asyncio.timeout(patience):
            await processes.ended(monitor)
    except TimeoutError:
        processes.send(monitor, signal.SIGKILL)
        await processes.ended(monitor)
