"""Marks are written some at a time, once each, and nobody else's look waits long for them (NS-6).

What a real API server makes of them is in `tests/contract/test_worker_marks.py`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.cluster.virtual_time import run
from tests.unit.rendering.builders import node_set

from penstock.cluster.errors import Forbidden, Unreachable
from penstock.cluster.store import Store
from penstock.cluster.wrapper import Wrapper
from penstock.operator.nodeset.marking import AT_MOST, Marking
from penstock.operator.nodeset.marks import marks
from penstock.operator.nodeset.snapshot import Snapshot
from penstock.operator.resources import PODS, Pod
from penstock.slurm.rest.messages import NodeReport

from .scene import BEGINNING


class Workers:
    """Pods in a store whose calls take a second and may fail, and how often they were written."""

    def __init__(self) -> None:
        self.store, self.calls = Store(), Counter[str]()
        self.under_way = self.most = 0
        self.failing: dict[str, Exception] = {}
        self.marking = Marking(Wrapper(self.store, self._slowly), lambda: BEGINNING)

    @asynccontextmanager
    async def _slowly(self, verb: str, _resource: str) -> AsyncIterator[None]:
        self.calls[verb] += 1
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await asyncio.sleep(1)
            if verb in self.failing:
                raise self.failing[verb]
            yield
        finally:
            self.under_way -= 1

    async def make(self, count: int) -> None:
        """Make pods."""
        for number in range(count):
            about = {"name": f"n-{number}", "namespace": "hpc"}
            await self.store.create(PODS, {"metadata": about, "spec": {"containers": []}})

    async def look(self, *state: str) -> Snapshot:
        """What is now, with every node in the same state."""
        pods = (await self.store.list(PODS, limit=10_000)).items
        return snapshot(pods, *state)


def snapshot(pods: list[Pod], *state: str, owner: str = "uid") -> Snapshot:
    reports = {pod.metadata.name: NodeReport(name=pod.metadata.name, state=state) for pod in pods}
    return Snapshot(node_set=node_set("n", metadata={"uid": owner}), pods=pods, slurm=reports)


def test_a_look_writes_so_many_and_says_that_there_are_more() -> None:
    async def main() -> None:
        workers = Workers()
        await workers.make(AT_MOST + 1)
        assert await workers.marking.mark(await workers.look("IDLE"))
        assert workers.calls == {"apply_status": AT_MOST}
        assert not await workers.marking.mark(await workers.look("IDLE"))
        assert workers.calls == {"apply_status": AT_MOST + 1}
        assert marks(await workers.look("IDLE")) == []

    run(main())


def test_some_are_written_at_a_time() -> None:
    """Neither one after another nor all at once."""

    async def main() -> None:
        workers = Workers()
        await workers.make(AT_MOST)
        await workers.marking.mark(await workers.look("MIXED"))
        assert workers.most == 32

    run(main())


def test_what_the_watch_has_not_shown_is_not_written_again() -> None:
    """And is, as soon as it shows that the pod changed, or something else is to be said."""

    async def main() -> None:
        workers = Workers()
        await workers.make(2)
        before = await workers.look("MIXED")
        await workers.marking.mark(before)
        await workers.marking.mark(before)
        assert workers.calls == {"patch": 2, "apply_status": 2}
        await workers.marking.mark(snapshot([*before.pods], "IDLE"))
        assert workers.calls == {"patch": 2, "apply_status": 4}
        await workers.marking.mark(await workers.look("IDLE"))
        assert marks(await workers.look("IDLE")) == []

    run(main())


def test_two_node_sets_do_not_forget_for_each_other() -> None:
    async def main() -> None:
        workers = Workers()
        await workers.make(2)
        one, other = (await workers.look("IDLE")).pods
        first, second = (snapshot([pod], "IDLE", owner=pod.metadata.uid) for pod in (one, other))
        for now in (first, second, first, second):
            await workers.marking.mark(now)
        assert workers.calls == {"apply_status": 2}

    run(main())


@pytest.mark.parametrize("error", [Forbidden("pods/status"), Unreachable("nobody answers")])
def test_what_could_not_be_written_is_told_and_tried_again(error: Exception) -> None:
    async def main() -> None:
        workers = Workers()
        await workers.make(1)
        now = await workers.look("MIXED")
        workers.failing["apply_status"] = error
        with pytest.raises(type(error)):
            await workers.marking.mark(now)
        workers.failing.clear()
        await workers.marking.mark(now)
        assert marks(await workers.look("MIXED")) == []

    run(main())
