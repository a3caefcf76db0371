"""Containers that are made before their time: started in their turn, once; gone with their pod if that never comes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from penstock.api.objects import Json
from penstock.engine.attempts import CannotBegin
from penstock.engine.podspec import Container
from penstock.engine.runtime import CannotStart

from .played_containers import PlayedRuntime, attempts

MAIN = Container(name="main", image="x")
ID = "0123456789abc-main-0"


def test_what_was_made_ahead_is_only_started_in_its_turn(tmp_path: Path) -> None:
    async def main() -> None:
        runtime = PlayedRuntime(tmp_path / "runc")
        tries = attempts(tmp_path / "pod", runtime)
        await tries.make_ahead(MAIN)
        assert (runtime.made, runtime.lives, tries.log("main")) == ([ID], [], None)
        attempt, _ = await tries.begin(MAIN)
        assert (attempt.number, attempt.container_id, attempt.adopted) == (0, ID, False)
        assert (runtime.made, [life.container_id for life in runtime.lives]) == ([ID], [ID])
        second, _ = await tries.begin(MAIN)
        assert second.number == 1

    asyncio.run(main())


@pytest.mark.parametrize(
    "said",
    [
        {"volumeMounts": [{"name": "v", "mountPath": "/v", "subPath": "made/by/others"}]},
        {"volumeMounts": [{"name": "v", "mountPath": "/v", "subPathExpr": "$(NAME)"}]},
        {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]},
        {"envFrom": [{"configMapRef": {"name": "c"}}]},
    ],
)
def test_what_others_may_change_first_is_not_made_ahead(tmp_path: Path, said: Json) -> None:
    """A part of a volume that an init container makes; a Secret that changes while it takes its time."""

    async def main() -> None:
        runtime = PlayedRuntime(tmp_path / "runc")
        tries = attempts(tmp_path / "pod", runtime)
        container = msgspec.convert({"name": "main", "image": "x", **said}, Container)
        await tries.make_ahead(container)
        assert runtime.made == []
        await tries.begin(container)
        assert runtime.made == [ID]

    asyncio.run(main())


def test_what_an_engine_before_us_left_is_not_made_over(tmp_path: Path) -> None:
    """It may run: whoever it was made for takes it over in its turn."""

    async def main() -> None:
        (tmp_path / "pod/main/0").mkdir(parents=True)
        runtime = PlayedRuntime(tmp_path / "runc")
        await attempts(tmp_path / "pod", runtime).make_ahead(MAIN)
        assert runtime.made == []

    asyncio.run(main())


def test_what_could_not_be_made_ahead_is_made_in_its_turn(tmp_path: Path) -> None:
    async def main() -> None:
        runtime = PlayedRuntime(tmp_path / "runc")
        runtime.refuses = CannotStart("no room")
        runtime.left_behind[ID] = None
        tries = attempts(tmp_path / "pod", runtime)
        with pytest.raises(CannotBegin, match="container main: no room"):
            await tries.make_ahead(MAIN)
        assert tries.log("main") is None
        runtime.refuses = None
        attempt, _ = await tries.begin(MAIN)
        assert (attempt.number, runtime.made) == (0, [ID, ID])

    asyncio.run(main())


def test_what_was_made_for_nothing_goes_with_its_pod(tmp_path: Path) -> None:
    async def main() -> None:
        runtime = PlayedRuntime(tmp_path / "runc")
        tries = attempts(tmp_path / "pod", runtime)
        await tries.make_ahead(MAIN)
        await tries.clear()
        assert (runtime.deleted, (tmp_path / "pod").exists()) == ([ID], False)

    asyncio.run(main())
