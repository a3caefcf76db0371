"""The life of one container in virtual time: begun, asked after, begun again, ended."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.cluster.virtual_time import run, until

from penstock.engine.attempts import Attempt
from penstock.engine.keeper import Keeper, Means
from penstock.engine.podspec import Container, Hook, Probe
from penstock.engine.probes import Answer
from penstock.engine.runtime import CannotStart
from penstock.engine.views import Runs, Terminated, Waiting

from .played_containers import EPOCH, Life, PlayedRuntime, attempts, running

ASK = {"exec": {"command": ["ask"]}, "periodSeconds": 10, "failureThreshold": 3}
HOOK = {"exec": {"command": ["do"]}}


@pytest.fixture(autouse=True)
def without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Virtual time stands still for threads: what would be done by one is done at once."""

    async def at_once(work: Callable[..., Any], *words: Any) -> Any:
        return work(*words)

    monkeypatch.setattr(asyncio, "to_thread", at_once)


@dataclass
class Stage:
    """A keeper with a runtime that pretends, and with everything that it is told and tells."""

    directory: Path
    container: dict[str, Any] = field(default_factory=dict)
    restart: Callable[[int], bool] = lambda _: True
    well: dict[str, bool] = field(default_factory=dict)
    """How the container answers each kind of probe; one that is not named is well."""
    hook_takes: float = 0.0
    hook_works: bool = True
    done: list[str] = field(default_factory=list)
    told: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.runtime = PlayedRuntime(self.directory / "runc")
        made = msgspec.convert({"name": "main", "image": "x", **self.container}, Container)
        self.keeper = Keeper(
            made,
            Means(
                attempts=attempts(self.directory / "pod", self.runtime),
                ask=self._ask,
                do=self._do,
                changed=lambda: None,
                tell=lambda kind, reason, _: self.told.append((kind, reason)),
                restart=self.restart,
                grace=30.0,
            ),
        )

    @property
    def life(self) -> Life:
        """The container that was started last."""
        return self.runtime.lives[-1]

    @property
    def state(self) -> object:
        """What is shown of it."""
        return self.keeper.view.state

    async def begun(self, times: int = 1) -> Life:
        """Wait until it has been started so many times."""
        await until(lambda: len(self.runtime.lives) >= times and isinstance(self.state, Runs), within=1000)
        return self.life

    async def _ask(self, container: Container, _: Attempt, probe: Probe) -> Answer:
        kinds = {
            "startup": container.startup_probe,
            "liveness": container.liveness_probe,
            "readiness": container.readiness_probe,
        }
        kind = next(name for name, one in kinds.items() if one is probe)
        self.done.append(kind)
        return Answer(self.well.get(kind, True), f"{kind} said so")

    async def _do(self, container: Container, _: Attempt, hook: Hook) -> Answer:
        self.done.append("postStart" if hook is container.lifecycle.post_start else "preStop")
        await asyncio.sleep(self.hook_takes)
        return Answer(self.hook_works)


def play(stage: Stage, story: Callable[[asyncio.Task[bool]], Awaitable[None]]) -> None:
    """Keep the container while a story goes on."""

    async def main() -> None:
        keeping = asyncio.create_task(stage.keeper.keep())
        try:
            await story(keeping)
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)

    run(main())


def clock() -> float:
    return asyncio.get_running_loop().time()


def test_it_is_shown_as_running_and_ready_and_its_end_as_it_was(tmp_path: Path) -> None:
    stage = Stage(tmp_path, restart=lambda _: False)

    async def story(keeping: asyncio.Task[bool]) -> None:
        life = await stage.begun()
        await asyncio.wait_for(stage.keeper.started.wait(), 1)
        assert (stage.keeper.view.ready, stage.keeper.view.started) == (True, True)
        assert stage.keeper.view.image_id == "sha256:x"
        life.end(3)
        assert await keeping is False
        assert isinstance(stage.state, Terminated)
        assert (stage.state.exit_code, stage.keeper.view.ready, stage.keeper.view.started) == (3, False, False)
        assert stage.keeper.view.last is None

    play(stage, story)


def test_who_ends_well_and_may_end_has_ended_well(tmp_path: Path) -> None:
    stage = Stage(tmp_path, restart=lambda code: code != 0)

    async def story(keeping: asyncio.Task[bool]) -> None:
        (await stage.begun()).end(1)
        (await stage.begun(2)).end(0)
        assert await keeping is True
        assert stage.keeper.view.restarts == 1
        assert stage.keeper.view.last is not None
        assert stage.keeper.view.last.exit_code == 1

    play(stage, story)


def test_the_first_restart_comes_at_once_and_each_further_one_later(tmp_path: Path) -> None:
    """Up to a minute; people are told that it waits, and how it ended last."""
    stage = Stage(tmp_path)

    async def story(_: asyncio.Task[bool]) -> None:
        times = []
        for number in range(1, 12):
            life = await stage.begun(number)
            times.append(clock())
            life.end(1)
            if number > 1:
                await until(lambda: isinstance(stage.state, Waiting))
                assert isinstance(stage.state, Waiting)
                assert stage.state.reason == "CrashLoopBackOff"
                assert stage.keeper.view.last is not None
        first, *others = (after - before for before, after in pairwise(times))
        assert first < 0.1
        assert 1.0 <= others[0] <= 2.1
        assert 30.0 <= max(others) <= 60.1

    play(stage, story)


def test_one_that_ran_for_long_is_started_again_at_once(tmp_path: Path) -> None:
    stage = Stage(tmp_path)

    async def story(_: asyncio.Task[bool]) -> None:
        for number in range(1, 6):
            (await stage.begun(number)).end(1)
        life = await stage.begun(6)
        await asyncio.sleep(601)
        life.end(1)
        before = clock()
        await stage.begun(7)
        assert clock() - before < 0.1

    play(stage, story)


def test_what_cannot_begin_says_why_and_is_tried_again(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.runtime.refuses = CannotStart("exec: nothing there")

    async def story(_: asyncio.Task[bool]) -> None:
        await until(lambda: isinstance(stage.state, Waiting) and "nothing there" in stage.state.message)
        assert ("Warning", "RunContainerError") in stage.told
        stage.runtime.refuses = None
        await stage.begun()

    play(stage, story)


def test_stopping_tells_the_hook_then_asks_and_waits_for_its_end(tmp_path: Path) -> None:
    stage = Stage(tmp_path, {"lifecycle": {"preStop": HOOK}}, hook_takes=5.0)

    async def story(keeping: asyncio.Task[bool]) -> None:
        life, began = await stage.begun(), clock()
        await stage.keeper.stop(clock() + 30)
        assert (stage.done, life.signals) == (["preStop"], [signal.SIGTERM])
        assert clock() - began == pytest.approx(5.0, abs=0.1)
        await keeping
        assert len(stage.runtime.lives) == 1

    play(stage, story)


@pytest.mark.parametrize("takes", [0.0, 1000.0])
def test_who_stays_is_killed_when_the_time_is_over_whatever_the_hook_does(tmp_path: Path, takes: float) -> None:
    stage = Stage(tmp_path, {"lifecycle": {"preStop": HOOK}}, hook_takes=takes)
    stage.runtime.polite = False

    async def story(_: asyncio.Task[bool]) -> None:
        life, began = await stage.begun(), clock()
        await stage.keeper.stop(clock() + 30)
        assert clock() - began == pytest.approx(30.0, abs=0.1)
        assert life.signals == ([signal.SIGKILL] if takes else [signal.SIGTERM, signal.SIGKILL])
        assert (("Warning", "FailedPreStopHook") in stage.told) == bool(takes)

    play(stage, story)


def test_with_no_time_left_it_is_killed_at_once(tmp_path: Path) -> None:
    stage = Stage(tmp_path, {"lifecycle": {"preStop": HOOK}})

    async def story(_: asyncio.Task[bool]) -> None:
        life = await stage.begun()
        await stage.keeper.stop(clock())
        assert (stage.done, life.signals) == ([], [signal.SIGKILL])

    play(stage, story)


def test_stopping_between_two_attempts_ends_the_waiting(tmp_path: Path) -> None:
    stage = Stage(tmp_path)

    async def story(keeping: asyncio.Task[bool]) -> None:
        for number in range(1, 8):
            (await stage.begun(number)).end(1)
        await until(lambda: isinstance(stage.state, Waiting))
        before = clock()
        await stage.keeper.stop(clock() + 30)
        await asyncio.gather(keeping, return_exceptions=True)
        assert clock() - before < 0.1
        assert len(stage.runtime.lives) == 7

    play(stage, story)


def test_nothing_is_asked_before_it_has_started_up(tmp_path: Path) -> None:
    probes = {"startupProbe": {**ASK, "failureThreshold": 30}, "livenessProbe": ASK, "readinessProbe": ASK}
    stage = Stage(tmp_path, probes, well={"startup": False})

    async def story(_: asyncio.Task[bool]) -> None:
        await stage.begun()
        await asyncio.sleep(100)
        assert set(stage.done) == {"startup"}
        before = stage.keeper.view.started
        stage.well["startup"] = True
        await until(lambda: stage.keeper.view.ready)
        assert (before, stage.keeper.view.started) == (False, True)
        assert len(stage.runtime.lives) == 1

    play(stage, story)


@pytest.mark.parametrize("kind", ["startup", "liveness"])
def test_who_does_not_answer_three_times_is_ended_and_begun_again(tmp_path: Path, kind: str) -> None:
    """Three periods, not three early questions; with the probe's own grace, if it has one."""
    probe = {**ASK, "terminationGracePeriodSeconds": 2}
    stage = Stage(tmp_path, {f"{kind}Probe": probe}, well={kind: False})
    stage.runtime.polite = False

    async def story(_: asyncio.Task[bool]) -> None:
        life, began = await stage.begun(), clock()
        await life.over.wait()
        assert life.signals == [signal.SIGTERM, signal.SIGKILL]
        assert clock() - began == pytest.approx(20 + 2, abs=0.5)
        assert ("Warning", "Unhealthy") in stage.told
        stage.well[kind] = True
        await stage.begun(2)
        assert stage.keeper.view.restarts == 1

    play(stage, story)


def test_readiness_comes_and_goes_and_ends_nothing(tmp_path: Path) -> None:
    stage = Stage(tmp_path, {"readinessProbe": {**ASK, "failureThreshold": 1}}, well={"readiness": False})

    async def story(_: asyncio.Task[bool]) -> None:
        await stage.begun()
        for good in (True, False, True):
            stage.well["readiness"] = good
            await until(lambda good=good: stage.keeper.view.ready is good)  # type: ignore[misc]
        assert (len(stage.runtime.lives), stage.life.signals) == (1, [])

    play(stage, story)


def test_a_first_hook_that_fails_ends_the_container(tmp_path: Path) -> None:
    stage = Stage(tmp_path, {"lifecycle": {"postStart": HOOK}}, hook_works=False)

    async def story(_: asyncio.Task[bool]) -> None:
        await until(lambda: ("Warning", "FailedPostStartHook") in stage.told)
        stage.hook_works = True
        await until(lambda: stage.keeper.view.ready)
        assert stage.runtime.lives[0].signals == [signal.SIGTERM]

    play(stage, story)


def test_one_that_was_found_running_is_not_told_to_begin_again(tmp_path: Path) -> None:
    """Its hook ran when it was started; its start is what it was."""
    stage = Stage(tmp_path, {"lifecycle": {"postStart": HOOK}})
    (tmp_path / "pod/main/2").mkdir(parents=True)

    async def story(_: asyncio.Task[bool]) -> None:
        await stage.begun()
        await until(lambda: stage.keeper.view.ready)
        assert (stage.done, stage.keeper.view.restarts) == ([], 2)
        assert stage.keeper.view.container_id == "0123456789abc-main-2"
        assert isinstance(stage.state, Runs)
        assert stage.state.started_at == "2026-11-16T08:00:00Z"

    async def main() -> None:
        life = Life("0123456789abc-main-2", began=EPOCH)
        stage.runtime.left_behind[life.container_id] = running(life, tmp_path / "pod/main/2")
        keeping = asyncio.create_task(stage.keeper.keep())
        await story(keeping)
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)

    run(main())
