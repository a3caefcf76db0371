"""Attempts at running a container: numbered, one directory each, found again by whoever comes next."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from penstock.api.objects import Json
from penstock.engine.attempts import Attempt, Attempts, CannotBegin
from penstock.engine.podspec import Container
from penstock.engine.runtime import CannotStart, Ended, Running
from penstock.images.library import Image

from .played_containers import EPOCH, Life, PlayedRuntime, attempts, image, running

MAIN = Container(name="main", image="x")
ID = "0123456789abc-main-{}"


def numbers(directory: Path) -> list[str]:
    return sorted(path.name for path in (directory / "main").iterdir())


def test_each_attempt_has_the_next_number_and_only_the_one_before_is_kept(tmp_path: Path) -> None:
    """For its log; what it was made of is gone."""

    async def main() -> None:
        runtime = PlayedRuntime(tmp_path / "runc")
        tries = attempts(tmp_path / "pod", runtime)
        for number in range(3):
            attempt, _ = await tries.begin(MAIN)
            assert (attempt.number, attempt.container_id) == (number, ID.format(number))
            assert attempt.image_id == "sha256:x"
        assert numbers(tmp_path / "pod") == ["1", "2"]
        assert not (tmp_path / "pod/main/1/rootfs").exists()
        assert runtime.deleted == [ID.format(0), ID.format(1)]
        now, before = tries.log("main"), tries.log("main", previous=True)
        assert now is not None
        assert before is not None
        assert (now.read_text(), before.read_text()) == ("main 2\n", "main 1\n")

    asyncio.run(main())


def test_a_first_attempt_has_no_log_of_one_before(tmp_path: Path) -> None:
    async def main() -> None:
        tries = attempts(tmp_path / "pod", PlayedRuntime(tmp_path / "runc"))
        assert tries.log("main") is None
        await tries.begin(MAIN)
        assert tries.log("main", previous=True) is None

    asyncio.run(main())


def test_a_container_that_runs_is_taken_over_as_it_is(tmp_path: Path) -> None:
    """The highest number is the attempt that was going on when an engine died."""

    async def main() -> None:
        (tmp_path / "pod/main/3").mkdir(parents=True)
        (tmp_path / "pod/main/4").mkdir()
        runtime = PlayedRuntime(tmp_path / "runc")
        life = Life(ID.format(4))
        runtime.left_behind[life.container_id] = running(life, tmp_path / "pod/main/4")
        tries = attempts(tmp_path / "pod", runtime)
        attempt, found = await tries.begin(MAIN)
        assert (attempt.number, attempt.adopted, runtime.lives) == (4, True, [life])
        assert isinstance(found, Running)
        assert (await tries.begin(MAIN))[0].number == 5

    asyncio.run(main())


def test_a_container_that_ended_while_nobody_looked_is_reported_as_such(tmp_path: Path) -> None:
    async def main() -> None:
        (tmp_path / "pod/main/0").mkdir(parents=True)
        runtime = PlayedRuntime(tmp_path / "runc")
        ended = Ended(exit_code=7, finished_at=EPOCH)
        runtime.left_behind[ID.format(0)] = ended
        attempt, found = await attempts(tmp_path / "pod", runtime).begin(MAIN)
        assert (attempt.adopted, found) == (True, ended)

    asyncio.run(main())


@pytest.mark.parametrize("number", [0, 2])
def test_an_attempt_that_never_ran_is_made_again_under_its_own_number(tmp_path: Path, number: int) -> None:
    """Or people would count a restart that nobody saw."""

    async def main() -> None:
        (tmp_path / f"pod/main/{number}").mkdir(parents=True)
        runtime = PlayedRuntime(tmp_path / "runc")
        runtime.left_behind[ID.format(number)] = None
        attempt, found = await attempts(tmp_path / "pod", runtime).begin(MAIN)
        assert (attempt.number, attempt.adopted) == (number, False)
        assert isinstance(found, Running)

    asyncio.run(main())


def test_a_running_container_is_taken_over_even_when_its_image_is_gone(tmp_path: Path) -> None:
    """It needs no image to run on; nobody would look after it otherwise."""

    async def main() -> None:
        (tmp_path / "pod/main/0").mkdir(parents=True)
        runtime = PlayedRuntime(tmp_path / "runc")
        life = Life(ID.format(0))
        runtime.left_behind[life.container_id] = running(life, tmp_path / "pod/main/0")
        attempt, _ = await attempts(tmp_path / "pod", runtime).begin(Container(name="main", image="missing"))
        assert (attempt.adopted, attempt.image_id) == (True, "")

    asyncio.run(main())


def test_a_missing_image_and_a_refusal_of_runc_say_what_they_are(tmp_path: Path) -> None:
    async def main() -> None:
        runtime = PlayedRuntime(tmp_path / "runc")
        with pytest.raises(CannotBegin, match="container main: there is no image called missing") as caught:
            await attempts(tmp_path / "pod", runtime).begin(Container(name="main", image="missing"))
        assert caught.value.reason == "ErrImageNeverPull"
        runtime.refuses = CannotStart("exec: no such file")
        with pytest.raises(CannotBegin, match="container main: exec: no such file") as caught:
            await attempts(tmp_path / "pod", runtime).begin(MAIN)
        assert caught.value.reason == "RunContainerError"

    asyncio.run(main())


def test_what_is_left_of_an_earlier_attempt_and_in_the_way_is_told_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        runtime = PlayedRuntime(tmp_path / "runc")
        tries = attempts(tmp_path / "pod", runtime)
        await tries.begin(MAIN)
        delete = runtime.delete

        async def busy(*_: object) -> None:
            raise OSError(16, "Device or resource busy")

        monkeypatch.setattr(runtime, "delete", busy)
        with pytest.raises(CannotBegin, match=r"container main: .*busy"):
            await tries.begin(MAIN)
        monkeypatch.setattr(runtime, "delete", delete)
        assert (await tries.begin(MAIN))[0].number == 1

    asyncio.run(main())


def test_an_attempt_that_runc_refuses_counts(tmp_path: Path) -> None:
    """It was made, so there is something to be seen of it."""

    async def main() -> None:
        runtime = PlayedRuntime(tmp_path / "runc")
        tries = attempts(tmp_path / "pod", runtime)
        runtime.refuses = CannotStart("no")
        with pytest.raises(CannotBegin):
            await tries.begin(MAIN)
        runtime.refuses = None
        attempt, _ = await tries.begin(MAIN)
        assert (attempt.number, runtime.deleted) == (1, [ID.format(0)])

    asyncio.run(main())


def test_an_attempt_that_cannot_be_put_together_does_not_count(tmp_path: Path) -> None:
    """A pod that waits for a Secret is not one that restarts; the log of the attempt before stays."""

    async def main() -> None:
        missing = False

        async def compose(container: Container, _: Image, attempt: Attempt) -> Json:
            attempt.directory.mkdir(parents=True, exist_ok=True)
            if missing:
                raise CannotBegin("CreateContainerConfigError", "Secret x is missing")
            return {"says": f"{container.name} {attempt.number}\n"}

        runtime = PlayedRuntime(tmp_path / "runc")
        tries = Attempts("0123456789abcdef", tmp_path / "pod", runtime=runtime, find=image, compose=compose)
        assert (await tries.begin(MAIN))[0].number == 0
        missing = True
        for _ in range(3):
            with pytest.raises(CannotBegin, match="Secret x is missing"):
                await tries.begin(MAIN)
            assert numbers(tmp_path / "pod") == ["0"]
        missing = False
        assert (await tries.begin(MAIN))[0].number == 1
        before = tries.log("main", previous=True)
        assert before is not None
        assert before.read_text() == "main 0\n"

    asyncio.run(main())


def test_clearing_ends_and_removes_everything_whoever_made_it(tmp_path: Path) -> None:
    async def main() -> None:
        for place in ("main/0", "main/1", "side/0"):
            (tmp_path / "pod" / place / "upper").mkdir(parents=True)
        runtime = PlayedRuntime(tmp_path / "runc")
        tries = attempts(tmp_path / "pod", runtime)
        await tries.clear()
        assert sorted(runtime.deleted) == [ID.format(0), ID.format(1), "0123456789abc-side-0"]
        assert not (tmp_path / "pod").exists()
        await tries.clear()

    asyncio.run(main())


def terminated(directory: Path, ended: Ended, **container: str) -> tuple[int, str, str]:
    attempt = Attempt(number=0, container_id="id", directory=directory)
    found = attempt.terminated(ended, Container(name="main", **container))  # type: ignore[arg-type]
    return found.exit_code, found.reason, found.message


def test_how_it_ended_in_a_statuss_words(tmp_path: Path) -> None:
    """Completed, Error, OOMKilled; nobody knows is told as killed, with the cause."""
    assert terminated(tmp_path, Ended(exit_code=0, finished_at=EPOCH)) == (0, "Completed", "")
    assert terminated(tmp_path, Ended(exit_code=3, finished_at=EPOCH)) == (3, "Error", "")
    assert terminated(tmp_path, Ended(exit_code=137, out_of_memory=True, finished_at=EPOCH))[1] == "OOMKilled"
    lost = Ended(exit_code=None, cause="its monitor died", finished_at=EPOCH)
    assert terminated(tmp_path, lost) == (137, "Error", "its monitor died")


def test_last_words_come_from_the_file_or_from_the_log_of_one_that_failed(tmp_path: Path) -> None:
    fallback = {"termination_message_policy": "FallbackToLogsOnError"}
    (tmp_path / "log").write_text("2026-11-16T08:00:00.000000000+00:00 stderr F it broke\n")
    failed, fine = Ended(exit_code=1, finished_at=EPOCH), Ended(exit_code=0, finished_at=EPOCH)
    assert terminated(tmp_path, failed)[2] == ""
    assert terminated(tmp_path, fine, **fallback)[2] == ""
    assert terminated(tmp_path, failed, **fallback)[2].strip() == "it broke"
    (tmp_path / "message").write_text("x" * 5000)
    assert terminated(tmp_path, failed, **fallback)[2] == "x" * 4096
