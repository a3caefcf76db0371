"""The life of one container: started, asked how it is, started again when it ends, stopped when the pod goes.

Every attempt has a directory of its own, made before the container is; so the highest number on disk is the attempt
that was going on when an engine died, and the next engine takes it over as it finds it.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from penstock.cluster.backoff import Backoff
from penstock.cluster.groups import TaskGroup
from penstock.engine.attempts import Attempt, Attempts, CannotBegin
from penstock.engine.clock import moment
from penstock.engine.podspec import Container, Hook, Probe
from penstock.engine.probes import Answer, verdicts
from penstock.engine.runtime import Ended, Running
from penstock.engine.views import Runs, Terminated, View, Waiting

_LOG = logging.getLogger(__name__)
_CALM = 600.0
"""Seconds after which a container that ran is not in a crash loop any more."""
_BACKOFF = Backoff(first=1.0, longest=60.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What a keeper needs of its pod."""

    attempts: Attempts
    ask: Callable[[Container, Attempt, Probe], Awaitable[Answer]]
    do: Callable[[Container, Attempt, Hook], Awaitable[Answer]]
    changed: Callable[[], None]
    tell: Callable[[str, str, str], None]
    """Event: its type, reason, message."""
    restart: Callable[[int], bool]
    """Whether a container that ended with this code is started again."""
    grace: float
    """Seconds between asking a container to end and making it."""


class Keeper:
    """Keeps one container. `keep` it in a task; `stop` it from another."""

    def __init__(self, container: Container, means: Means) -> None:
        self.container = container
        self.view = View(name=container.name, image=container.image)
        self.started = asyncio.Event()
        """Set once it has started up: what comes after it may begin."""
        self.begun = asyncio.Event()
        """Set once it was run for the first time, or could not be."""
        self.attempt: Attempt | None = None
        self._means = means
        self._running: Running | None = None
        self._stopping = asyncio.Event()
        self._over = asyncio.Event()
        self._task: asyncio.Task[object] | None = None
        self._failures = 0

    async def make_ahead(self) -> None:
        """Have it made while others still run before it; what cannot be done now is done, and told of, in its turn."""
        with suppress(CannotBegin):
            await self._means.attempts.make_ahead(self.container)

    async def keep(self) -> bool:
        """Keep it running until it has ended for good, or is stopped; whether it ended well."""
        self._task = asyncio.current_task()
        try:
            while not self._stopping.is_set():
                ended = await self._once()
                if ended is not None and (self._stopping.is_set() or not self._means.restart(ended.exit_code)):
                    return ended.exit_code == 0
                await self._pause(ended)
            return False
        finally:
            self._over.set()

    async def stop(self, deadline: float) -> None:
        """Have it end: its hook first, then politely, and by force when the loop's clock says `deadline`."""
        clock = asyncio.get_running_loop().time
        self._stopping.set()
        if self._running is None or self.attempt is None:
            # It waits, or is about to begin: what is half made goes with the pod's directory.
            if self._task and not self._over.is_set():
                self._task.cancel()
            return
        running, hook = self._running, self.container.lifecycle.pre_stop
        if hook and deadline > clock():
            try:
                async with asyncio.timeout_at(deadline):
                    await self._told_of(hook, self.attempt, "PreStop")
            except TimeoutError:
                self._means.tell("Warning", "FailedPreStopHook", f"{self.container.name}: its hook did not end in time")
        await self._end(running, max(deadline - clock(), 0))

    async def attempt_over(self) -> None:
        """Wait for the end of what runs now; at once when nothing does."""
        if self._running is not None:
            await self._running.ended()

    def log(self, *, previous: bool = False) -> Path | None:
        """The log of the present attempt, or of the one before."""
        return self._means.attempts.log(self.container.name, previous=previous)

    async def _once(self) -> Terminated | None:
        """One attempt, from its start to its end; None when it could not begin."""
        try:
            self.attempt, found = await self._means.attempts.begin(self.container)
        except CannotBegin as problem:
            self._show(state=Waiting(problem.reason, str(problem)))
            self._means.tell("Warning", problem.reason, str(problem))
            return None
        finally:
            self.begun.set()
        self._show(restarts=self.attempt.number, container_id=self.attempt.container_id, image_id=self.attempt.image_id)
        if isinstance(found, Running):
            found = await self._attend(self.attempt, found)
        return self._record(self.attempt, found)

    async def _attend(self, attempt: Attempt, running: Running) -> Ended:
        """Look after a container while it runs."""
        self._running = running
        self._show(state=Runs(attempt.started_at))
        asking = asyncio.create_task(self._ask_after(attempt, running))
        try:
            return await running.ended()
        finally:
            self._running = None
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    async def _ask_after(self, attempt: Attempt, running: Running) -> None:
        """Its hook, its probes; whoever finds it unwell ends it, and the next attempt begins."""
        try:
            hook = self.container.lifecycle.post_start
            if hook and not attempt.adopted and not (await self._told_of(hook, attempt, "PostStart")).good:
                await self._end(running, self._means.grace)
                return
            if not await self._starts_up(attempt, running):
                return
            self._show(started=True, ready=self.container.readiness_probe is None)
            self.started.set()
            async with TaskGroup() as group:
                group.create_task(self._mind_liveness(attempt, running))
                group.create_task(self._mind_readiness(attempt))
        except Exception:
            _LOG.exception("container %s: looking after it failed", self.container.name)

    async def _starts_up(self, attempt: Attempt, running: Running) -> bool:
        probe = self.container.startup_probe
        if probe is None:
            return True
        async for answer in verdicts(probe, lambda: self._means.ask(self.container, attempt, probe), holds=None):
            if not answer.good:
                await self._unwell(running, probe, "Startup", answer)
            return answer.good
        return False

    async def _mind_liveness(self, attempt: Attempt, running: Running) -> None:
        if probe := self.container.liveness_probe:
            async for answer in verdicts(probe, lambda: self._means.ask(self.container, attempt, probe), holds=True):
                if not answer.good:
                    await self._unwell(running, probe, "Liveness", answer)
                    return

    async def _mind_readiness(self, attempt: Attempt) -> None:
        if probe := self.container.readiness_probe:
            async for answer in verdicts(probe, lambda: self._means.ask(self.container, attempt, probe), holds=False):
                if not answer.good:
                    self._means.tell(
                        "Warning", "Unhealthy", f"container {self.container.name} is not ready: {answer.said}"
                    )
                self._show(ready=answer.good)

    async def _unwell(self, running: Running, probe: Probe, kind: str, answer: Answer) -> None:
        told = f"{kind} probe failed: container {self.container.name} is ended and started again: {answer.said}"
        self._means.tell("Warning", "Unhealthy", told)
        grace = probe.termination_grace_period_seconds
        await self._end(running, self._means.grace if grace is None else grace)

    async def _told_of(self, hook: Hook, attempt: Attempt, kind: str) -> Answer:
        answer = await self._means.do(self.container, attempt, hook)
        if not answer.good:
            self._means.tell("Warning", f"Failed{kind}Hook", f"{self.container.name}: {answer.said}")
        return answer

    async def _end(self, running: Running, grace: float) -> None:
        if grace > 0:
            await running.kill(signal.SIGTERM)
            try:
                await asyncio.wait_for(asyncio.shield(running.ended()), grace)
            except TimeoutError:
                pass
            else:
                return
        await running.kill_all()
        await running.ended()

    def _record(self, attempt: Attempt, ended: Ended) -> Terminated:
        state = attempt.terminated(ended, self.container)
        self._show(state=state, ready=False, started=False)
        self.started.clear()
        return state

    async def _pause(self, ended: Terminated | None) -> None:
        """Wait before the next attempt, longer each time; the first restart of one that ran for long comes at once."""
        if ended is None or not _ran_for_long(ended):
            self._failures += 1
        else:
            self._failures = 0
        delay = _BACKOFF.delay(self._failures) if self._failures else 0.0
        if ended is not None:
            told = f"back-off {delay:.0f} s before container {self.container.name} is started again"
            self._show(state=Waiting("CrashLoopBackOff", told) if self._failures > 1 else self.view.state)
        await asyncio.sleep(delay if self._failures > 1 or ended is None else 0)

    def _show(self, **what: object) -> None:
        changed = replace(self.view, **what)  # type: ignore[arg-type]
        if isinstance(self.view.state, Terminated) and changed.state != self.view.state:
            changed = replace(changed, last=self.view.state)
        if changed != self.view:
            self.view = changed
            self._means.changed()


def _ran_for_long(ended: Terminated) -> bool:
    return (moment(ended.finished_at) - moment(ended.started_at)).total_seconds() > _CALM
