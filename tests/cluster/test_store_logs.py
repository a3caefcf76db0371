"""The store knows which containers there are; whoever runs them has their logs."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from penstock.cluster.errors import ClusterError, NotFound, NotYet, Unreachable
from penstock.cluster.store import LogSource, Store

from .every_verb import PODS, Told, named, pod_with_log
from .virtual_time import run


class Running:
    """Containers that talk on, until they break."""

    def __init__(self) -> None:
        self.closed = 0

    async def logs(self, name: str, *, namespace: str, container: str, tail: int = 0) -> AsyncGenerator[str, None]:
        """Lines, and a break."""
        try:
            yield f"{namespace}/{name} {container} {tail}"
            yield "more"
            raise Unreachable("the container's output is gone")
        finally:
            self.closed += 1


async def following(logs: LogSource | None, name: str, container: str = "main") -> AsyncGenerator[str, None]:
    """The log of one of three pods: one on a machine, one on none, one that is not there."""
    store = Store(logs=logs)
    await store.create(*pod_with_log(named("here")))
    containers = {"containers": [{"name": "main"}], "initContainers": [{"name": "first"}]}
    await store.create(PODS, {"metadata": named("nowhere"), "spec": containers})
    await store.create(PODS, {"metadata": named("both"), "spec": {**containers, "nodeName": "machine"}})
    return store.logs(name, namespace="test", container=container, tail=3)


def test_the_lines_of_who_runs_the_container_and_its_end() -> None:
    async def main() -> None:
        assert [line async for line in await following(Told(), "here")] == ["test/here main 3"]
        assert [line async for line in await following(Told(), "both", "first")] == ["test/both first 3"]

    run(main())


def test_a_break_is_told_and_who_has_enough_closes_the_source() -> None:
    async def main() -> None:
        running = Running()
        lines = await following(running, "here")
        assert [await anext(lines), await anext(lines)] == ["test/here main 3", "more"]
        with pytest.raises(Unreachable, match="output is gone"):
            await anext(lines)
        async with aclosing(await following(running, "here")) as lines:
            await anext(lines)
        assert running.closed == 2

    run(main())


@pytest.mark.parametrize(
    ("name", "container", "kind", "words"),
    [
        ("none", "main", NotFound, 'pods "none" not found'),
        ("here", "other", NotFound, "container other is not valid for pod here"),
        ("nowhere", "main", NotYet, "on no machine yet"),
        ("nowhere", "other", NotFound, "not valid"),
    ],
)
def test_what_is_not_there_is_not_asked_for(name: str, container: str, kind: type[ClusterError], words: str) -> None:
    async def main() -> None:
        with pytest.raises(kind, match=words):
            await anext(await following(Told(), name, container))

    run(main())


def test_a_store_whose_containers_nobody_runs_says_so() -> None:
    async def main() -> None:
        with pytest.raises(NotFound, match="nobody runs the containers of this store, so main has no log"):
            await anext(await following(None, "here"))

    run(main())
