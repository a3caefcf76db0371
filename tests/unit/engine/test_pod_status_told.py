"""One pod led through its life, in virtual time, with a real store: what happens, and what the store is told."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
from tests.cluster.virtual_time import run, until

from penstock.api.objects import Json
from penstock.cluster.errors import NotFound, Unreachable
from penstock.cluster.store import Store
from penstock.engine.health import Health
from penstock.engine.pod import House, PodTask
from penstock.engine.podspec import PODS, Pod
from penstock.engine.probes import Answer
from penstock.engine.runtime import Ended
from penstock.engine.sandbox import Sandbox, SandboxProblem

from .played_containers import EPOCH, Life, PlayedRuntime, attempts

WHOLE = PODS.reading(cast(Any, dict))


@pytest.fixture(autouse=True)
def without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Virtual time stands still for threads: what would be done by one is done at once."""

    async def at_once(work: Callable[..., Any], *words: Any) -> Any:
        return work(*words)

    monkeypatch.setattr(asyncio, "to_thread", at_once)


@dataclass
class Surroundings:
    """A sandbox that pretends."""

    address: str = ""
    problem: SandboxProblem | None = None
    removed: bool = False

    async def make(self, _: Pod) -> None:
        """Give it an address, or say what is missing."""
        if self.problem:
            raise self.problem
        self.address = "10.0.0.2"

    async def remove(self) -> None:
        """Take everything away."""
        self.address, self.removed = "", True


class WellEnough:
    """Nobody is ever unwell, unless a test says so."""

    good = True

    async def ask(self, *_: object) -> Answer:
        """A probe."""
        return Answer(good=self.good)

    async def do(self, *_: object) -> Answer:
        """A hook."""
        return Answer(good=True)


@dataclass
class Stage:
    """A pod in a store, and who leads it."""

    directory: Path
    spec: Json
    store: Store = field(default_factory=Store)
    around: Surroundings = field(default_factory=Surroundings)
    health: WellEnough = field(default_factory=WellEnough)
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.runtime = PlayedRuntime(self.directory / "runc")
        self.task: PodTask

    async def begin(self) -> asyncio.Task[None]:
        """Make the pod and lead it."""
        body = {"metadata": {"name": "p", "namespace": "slurm"}, "spec": {"nodeName": "here", **self.spec}}
        await self.store.create(PODS, body)
        return await self.go_on()

    async def go_on(self) -> asyncio.Task[None]:
        """Lead the pod that is there."""
        pod = await self.store.get(PODS, "p", "slurm")
        house = House(
            cluster=self.store,
            sandbox=lambda _: cast(Sandbox, self.around),
            attempts=lambda pod, _: attempts(self.directory / "pod", self.runtime, uid=pod.metadata.uid),
            health=lambda _: cast(Health, self.health),
            tell=lambda _pod, _kind, reason, _note: self.told.append(reason),
            moved=lambda: None,
        )
        self.task = PodTask(pod, house)
        return asyncio.create_task(self.task.run())

    async def shown(self) -> Json:
        """What the store knows of it; nothing when it is gone."""
        try:
            return cast(Json, (await self.store.get(WHOLE, "p", "slurm")))
        except NotFound:
            return {}

    async def until(self, holds: Callable[[Json], object]) -> Json:
        """Let time pass until the store has been told so."""
        async with asyncio.timeout(1000):
            while not holds(body := await self.shown()):  # noqa: ASYNC110 - a store in one process, in virtual time
                await asyncio.sleep(0.01)
        return body

    async def delete(self, grace: int | None = None) -> None:
        """Ask for its end, and pass on what the store says then."""
        await self.store.delete(PODS, "p", namespace="slurm", grace_seconds=grace)
        try:
            self.task.update(await self.store.get(PODS, "p", "slurm"))
        except NotFound:
            self.task.leave(abruptly=True)

    def life(self, name: str) -> Life:
        """The present life of a container."""
        return [one for one in self.runtime.lives if f"-{name}-" in one.container_id][-1]

    @property
    def begun(self) -> list[str]:
        """Containers in the order in which they were started."""
        return [one.container_id.split("-", 1)[1].rsplit("-", 1)[0].rpartition("-")[2] for one in self.runtime.lives]


def play(stage: Stage, story: Callable[[asyncio.Task[None]], Awaitable[None]]) -> None:
    async def main() -> None:
        leading = await stage.begin()
        try:
            await story(leading)
        finally:
            leading.cancel()
            await asyncio.gather(leading, return_exceptions=True)

    run(main())


def one(name: str, **said: Any) -> Json:
    return {"name": name, "image": "x", **said}


def phase(body: Json) -> str:
    return str(body.get("status", {}).get("phase"))


def is_ready(body: Json) -> bool:
    return any(c["type"] == "Ready" and c["status"] == "True" for c in body.get("status", {}).get("conditions", ()))


def test_a_pod_runs_is_told_of_and_leaves_nothing_behind(tmp_path: Path) -> None:
    stage = Stage(tmp_path, {"containers": [one("a"), one("b")]})

    async def story(leading: asyncio.Task[None]) -> None:
        body = await stage.until(is_ready)
        assert (phase(body), body["status"]["podIP"]) == ("Running", "10.0.0.2")
        before = stage.task.ready
        await stage.delete()
        assert (before, stage.task.ready) == (True, False)
        await leading
        assert [life.signals for life in stage.runtime.lives] == [[signal.SIGTERM]] * 2
        assert (await stage.shown(), stage.around.removed) == ({}, True)
        assert not (tmp_path / "pod").exists()

    play(stage, story)


def test_surroundings_are_waited_for_and_a_poke_hurries(tmp_path: Path) -> None:
    stage = Stage(tmp_path, {"containers": [one("a")]})
    stage.around.problem = SandboxProblem("FailedMount", "ConfigMap x is missing")

    async def story(_: asyncio.Task[None]) -> None:
        body = await stage.until(lambda body: "ConfigMap x is missing" in str(body.get("status")))
        assert (phase(body), stage.runtime.lives) == ("Pending", [])
        assert "FailedMount" in stage.told
        await asyncio.sleep(300)
        stage.around.problem, before = None, asyncio.get_running_loop().time()
        stage.task.poke()
        await stage.until(is_ready)
        assert asyncio.get_running_loop().time() - before < 1

    play(stage, story)


SLOW = one("side", restartPolicy="Always", startupProbe={"exec": {"command": ["test"]}, "failureThreshold": 1000})


def test_who_comes_after_a_sidecar_is_made_while_that_starts_up_and_runs_when_it_has(tmp_path: Path) -> None:
    """Kubernetes' order of starting is kept, however long it takes; runc's work is done by then."""
    stage = Stage(tmp_path, {"initContainers": [SLOW], "containers": [one("main")]})
    stage.health.good = False

    async def story(_: asyncio.Task[None]) -> None:
        await until(lambda: len(stage.runtime.made) == 2)
        await asyncio.sleep(300)
        assert (stage.begun, phase(await stage.shown())) == (["side"], "Pending")
        stage.health.good = True
        await stage.until(is_ready)
        assert (stage.begun, len(stage.runtime.made)) == (["side", "main"], 2)

    play(stage, story)


def test_what_was_made_while_a_sidecar_started_up_goes_with_the_pod(tmp_path: Path) -> None:
    stage = Stage(tmp_path, {"initContainers": [SLOW], "containers": [one("main")]})
    stage.health.good = False

    async def story(leading: asyncio.Task[None]) -> None:
        await until(lambda: len(stage.runtime.made) == 2)
        await stage.delete()
        await leading
        assert (stage.begun, {*stage.runtime.made} - {*stage.runtime.deleted}) == (["side"], set())
        assert not (tmp_path / "pod").exists()

    play(stage, story)


def test_a_pod_that_waits_for_its_surroundings_can_leave(tmp_path: Path) -> None:
    stage = Stage(tmp_path, {"containers": [one("a")]})
    stage.around.problem = SandboxProblem("FailedMount", "no")

    async def story(leading: asyncio.Task[None]) -> None:
        await stage.until(lambda body: phase(body) == "Pending")
        await stage.delete()
        await leading
        assert (await stage.shown(), stage.runtime.lives) == ({}, [])

    play(stage, story)


def test_each_in_its_order_and_back_again(tmp_path: Path) -> None:
    """Init containers one after the other; a sidecar stays, and goes last."""
    stage = Stage(
        tmp_path,
        {
            "initContainers": [one("first"), one("side", restartPolicy="Always"), one("second")],
            "containers": [one("main")],
        },
    )

    async def story(leading: asyncio.Task[None]) -> None:
        await until(lambda: stage.begun == ["first"])
        await asyncio.sleep(10)
        assert stage.begun == ["first"]
        stage.life("first").end(0)
        await until(lambda: stage.begun == ["first", "side", "second"])
        stage.life("second").end(0)
        await stage.until(is_ready)
        assert stage.begun == ["first", "side", "second", "main"]
        stage.runtime.lives[-1].polite = False
        await stage.delete(grace=5)
        await until(lambda: stage.life("main").signals == [signal.SIGTERM])
        assert stage.life("side").signals == []
        await leading
        assert stage.life("main").signals[-1] == signal.SIGKILL
        assert stage.life("side").outcome is not None

    play(stage, story)


def test_a_sidecar_that_dies_is_started_again_whatever_the_pods_policy(tmp_path: Path) -> None:
    side = one("side", restartPolicy="Always")
    stage = Stage(tmp_path, {"initContainers": [side], "containers": [one("main")], "restartPolicy": "Never"})

    async def story(_: asyncio.Task[None]) -> None:
        await stage.until(is_ready)
        stage.life("side").end(1)
        await until(lambda: stage.begun.count("side") == 2)
        stage.life("main").end(0)
        body = await stage.until(lambda body: phase(body) == "Succeeded")
        assert body["status"]["initContainerStatuses"][0]["restartCount"] == 1
        assert stage.life("side").signals == [signal.SIGTERM]
        await asyncio.sleep(1000)
        assert phase(await stage.shown()) == "Succeeded"
        assert stage.begun.count("side") == 2

    play(stage, story)


@pytest.mark.parametrize(
    ("policy", "code", "restarts"),
    [("Always", 0, True), ("Always", 1, True), ("OnFailure", 0, False), ("OnFailure", 1, True), ("Never", 1, False)],
)
def test_who_is_started_again(tmp_path: Path, policy: str, code: int, restarts: bool) -> None:
    stage = Stage(tmp_path, {"containers": [one("a")], "restartPolicy": policy})

    async def story(_: asyncio.Task[None]) -> None:
        await stage.until(is_ready)
        stage.life("a").end(code)
        await asyncio.sleep(100)
        assert (len(stage.runtime.lives) > 1) == restarts
        expected = "Running" if restarts else "Failed" if code else "Succeeded"
        assert phase(await stage.shown()) == expected

    play(stage, story)


@pytest.mark.parametrize(("policy", "again"), [("Always", True), ("OnFailure", True), ("Never", False)])
def test_a_failed_init_container_is_tried_again_unless_never(tmp_path: Path, policy: str, again: bool) -> None:
    spec = {"initContainers": [one("init")], "containers": [one("main")], "restartPolicy": policy}
    stage = Stage(tmp_path, spec)

    async def story(_: asyncio.Task[None]) -> None:
        await until(lambda: stage.begun == ["init"])
        stage.life("init").end(1)
        if again:
            await until(lambda: stage.begun == ["init", "init"])
            stage.life("init").end(0)
            await stage.until(is_ready)
        else:
            await stage.until(lambda body: phase(body) == "Failed")
            assert stage.begun == ["init"]

    play(stage, story)


def test_one_that_the_store_has_forgotten_goes_at_once(tmp_path: Path) -> None:
    """Its name may be somebody else's already."""
    stage = Stage(tmp_path, {"containers": [one("a")], "terminationGracePeriodSeconds": 600})
    stage.runtime.polite = False

    async def story(leading: asyncio.Task[None]) -> None:
        await stage.until(is_ready)
        before = asyncio.get_running_loop().time()
        await stage.delete(grace=0)
        await leading
        assert asyncio.get_running_loop().time() - before < 1
        assert stage.life("a").signals == [signal.SIGKILL]

    play(stage, story)


def test_halting_ends_the_containers_and_not_the_pod(tmp_path: Path) -> None:
    """`penstock down`: the next `penstock up` runs it again."""
    stage = Stage(tmp_path, {"containers": [one("a")]})

    async def story(_: asyncio.Task[None]) -> None:
        await stage.until(is_ready)
        await stage.task.halt(asyncio.get_running_loop().time() + 30)
        assert stage.life("a").signals == [signal.SIGTERM]
        assert stage.around.removed
        assert phase(await stage.shown()) == "Running"
        assert len(stage.runtime.lives) == 1

    play(stage, story)


def test_whoever_comes_next_finds_a_pod_that_has_ended_and_leaves_it_so(tmp_path: Path) -> None:
    """An engine died after the container did: its end is told, and it is not started again."""
    stage = Stage(tmp_path, {"containers": [one("a")], "restartPolicy": "Never"})

    async def story(leading: asyncio.Task[None]) -> None:
        await stage.until(is_ready)
        leading.cancel()
        await asyncio.gather(leading, return_exceptions=True)
        container_id = stage.life("a").container_id
        stage.runtime.left_behind[container_id] = Ended(exit_code=0, finished_at=EPOCH)
        again = await stage.go_on()
        await stage.until(lambda body: phase(body) == "Succeeded")
        assert len(stage.runtime.lives) == 1
        again.cancel()
        await asyncio.gather(again, return_exceptions=True)

    play(stage, story)


def test_a_store_that_refuses_a_status_is_told_again(tmp_path: Path) -> None:
    """Nothing that happened goes untold for a moment's trouble."""
    stage = Stage(tmp_path, {"containers": [one("a")]})
    refused: list[object] = []

    async def story(_: asyncio.Task[None]) -> None:
        await stage.until(is_ready)
        apply_status = stage.store.apply_status

        async def refuse(*words: Any, **said: Any) -> Any:
            if len(refused) < 3:
                refused.append(words)
                raise Unreachable("not just now")
            return await apply_status(*words, **said)

        stage.store.apply_status = refuse  # type: ignore[method-assign]
        stage.life("a").end(1)
        await stage.until(lambda body: body["status"]["containerStatuses"][0]["restartCount"] == 1)
        assert len(refused) == 3

    play(stage, story)
