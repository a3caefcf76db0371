"""Every call is counted once, by verb, resource and outcome, and happens as if nobody counted."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import aclosing

import pytest

from penstock.cluster.errors import NotFound, Unreachable
from penstock.cluster.metered import Metered
from penstock.cluster.port import Cluster
from penstock.cluster.store import Store

from .every_verb import EVERY_VERB, NODE_SETS, named, pod_with_log, prepared
from .script import THINGS, Lists, Script, added, thing, watches
from .virtual_time import run


class Counted:
    """A metered cluster, and what was counted."""

    def __init__(self, cluster: Cluster) -> None:
        self.calls: list[tuple[str, str, str]] = []
        self.cluster = Metered(cluster, lambda verb, resource, outcome: self.calls.append((verb, resource, outcome)))


@pytest.mark.parametrize("verb", EVERY_VERB)
def test_every_verb_is_counted_under_its_name(verb: str) -> None:
    async def main() -> None:
        counted = Counted(await prepared())
        resource = await EVERY_VERB[verb](counted.cluster)
        assert counted.calls == [(verb, resource, "ok")]

    run(main())


def test_a_failure_is_counted_by_its_class_and_raised() -> None:
    async def main() -> None:
        counted = Counted(Store())
        with pytest.raises(NotFound):
            await counted.cluster.get(NODE_SETS, "none", "test")
        with pytest.raises(NotFound):
            await counted.cluster.delete(NODE_SETS, "none", namespace="test")
        with pytest.raises(NotFound):
            await anext(counted.cluster.logs("none", namespace="test", container="main"))
        sets = NODE_SETS.name
        assert counted.calls == [("get", sets, "NotFound"), ("delete", sets, "NotFound"), ("logs", "pods", "NotFound")]

    run(main())


def test_what_an_adapter_calls_an_error_for_itself_is_counted_under_the_name_that_all_know() -> None:
    class _Private(Unreachable):
        pass

    async def main() -> None:
        counted = Counted(Script(Lists(_Private("away")), watches(1)).cluster)
        with pytest.raises(_Private):
            await counted.cluster.list(THINGS)
        assert counted.calls == [("list", "things", "Unreachable")]

    run(main())


def test_a_watch_is_counted_when_it_is_over_by_how_it_ended() -> None:
    async def main() -> None:
        ends = watches(1, added(thing("a", 2))), watches(2, added(thing("b", 3)), Unreachable("cut"))
        counted = Counted(Script(*ends, watches(3, 1e9)).cluster)
        events = [event async for event in counted.cluster.watch(THINGS, since="1")]
        assert [event.resource_version for event in events] == ["2"]
        watch = counted.cluster.watch(THINGS, since="2")
        await anext(watch)
        assert Counter(counted.calls) == {("watch", "things", "ok"): 1}
        with pytest.raises(Unreachable):
            await anext(watch)
        assert counted.calls[1:] == [("watch", "things", "Unreachable")]

    run(main())


def test_a_watch_that_its_reader_closes_is_closed_behind_and_ended_well() -> None:
    async def main() -> None:
        script = Script(watches(1, added(thing("a", 2)), 1e9), watches(2))
        counted = Counted(script.cluster)
        async with aclosing(counted.cluster.watch(THINGS, since="1")) as events:
            await anext(events)
        assert (script.closed, counted.calls) == (1, [("watch", "things", "ok")])

    run(main())


def test_who_gives_up_is_counted_as_such() -> None:
    async def main() -> None:
        counted = Counted(Script(watches(1, 1e9), watches(2)).cluster)
        waiting = asyncio.ensure_future(anext(counted.cluster.watch(THINGS, since="1")))
        await asyncio.sleep(1)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert counted.calls == [("watch", "things", "cancelled")]

    run(main())


def test_lines_of_a_log_pass_through() -> None:
    async def main() -> None:
        counted = Counted(await prepared())
        await counted.cluster.create(*pod_with_log(named("talks")))
        lines = counted.cluster.logs("talks", namespace="test", container="main", tail=2)
        assert [line async for line in lines] == ["test/talks main 2"]

    run(main())
