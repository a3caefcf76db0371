"""A watch: every event once, an end that is told from a break, and a dead link noticed."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from penstock.cluster.errors import ClusterError, Expired, Failing, Forbidden, Overloaded, Unreachable
from penstock.cluster.kube import KubeCluster, Limits
from penstock.cluster.port import EventType, Selection

from .server import PODS, Answer, bookmark, client, cut, event, pod, refuses, silence, streams

ADDED = event("ADDED", pod("a", 10))


async def told(cluster: KubeCluster) -> tuple[list[str], ClusterError | None]:
    """What a watch says until it ends, and how it ended."""
    events: list[str] = []
    try:
        async for item in cluster.watch(PODS, since="9"):
            name = item.object.metadata.name if item.object else "-"
            events.append(f"{item.type.value} {name} {item.resource_version}")
    except ClusterError as error:
        return events, error
    return events, None


CONNECTED = "BOOKMARK - 9"
"""What every watch begins with."""


def watched(answer: Answer) -> tuple[list[str], ClusterError | None]:
    """What a watch of such a server says."""

    async def main() -> tuple[list[str], ClusterError | None]:
        async with client(answer) as (cluster, _):
            return await told(cluster)

    return asyncio.run(main())


def test_a_watch_asks_for_bookmarks_and_for_an_end() -> None:
    async def main() -> None:
        async with client(streams(), limits=Limits()) as (cluster, server):
            where = Selection(namespace="n", labels="app=x")
            assert [item.type async for item in cluster.watch(PODS, where, since="9")] == [EventType.BOOKMARK]
            [seen] = server.seen
            assert seen.line == "GET /api/v1/namespaces/n/pods"
            assert 45 <= int(seen.query.pop("timeoutSeconds")) <= 60
            asked = {"watch": "1", "allowWatchBookmarks": "true", "resourceVersion": "9", "labelSelector": "app=x"}
            assert seen.query == asked

    asyncio.run(main())


def test_events_and_bookmarks_until_the_server_closes() -> None:
    events = [ADDED, event("MODIFIED", pod("a", 11)) + bookmark(15) + event("DELETED", pod("a", 20))]
    assert watched(streams(*events)) == (
        [CONNECTED, "ADDED a 10", "MODIFIED a 11", "BOOKMARK - 15", "DELETED a 20"],
        None,
    )


def test_objects_with_nulls_are_events_like_others() -> None:
    odd = pod("a", 10, data=None)
    odd["metadata"]["labels"] = None
    assert watched(streams(event("ADDED", odd))) == ([CONNECTED, "ADDED a 10"], None)


def test_history_that_is_gone_is_told_as_a_status() -> None:
    events, error = watched(refuses(410, "Expired"))
    assert (events, type(error)) == ([], Expired)


def test_history_that_is_gone_is_told_in_the_stream_after_what_came_before() -> None:
    gone = event("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"})
    events, error = watched(streams(ADDED + gone))
    assert (events, type(error)) == ([CONNECTED, "ADDED a 10"], Expired)
    assert str(error) == "watch pods: too old resource version"


@pytest.mark.parametrize(("code", "kind"), [(500, Failing), (429, Overloaded), (403, Forbidden)])
def test_other_errors_in_the_stream_are_what_they_are(code: int, kind: type[ClusterError]) -> None:
    _, error = watched(streams(event("ERROR", {"code": code, "message": "no"})))
    assert type(error) is kind


def test_a_watch_is_refused_like_any_request() -> None:
    assert type(watched(refuses(403))[1]) is Forbidden
    assert type(watched(refuses(500))[1]) is Failing


def test_a_line_that_is_cut_off_is_a_break_and_not_an_event() -> None:
    events, error = watched(streams(ADDED, event("MODIFIED", pod("a", 11))[:-20]))
    assert (events, type(error)) == ([CONNECTED, "ADDED a 10"], Unreachable)
    assert "middle of an event" in str(error)


def test_a_connection_that_breaks_is_not_an_end() -> None:
    events, error = watched(streams(ADDED, then=cut))
    assert (events, type(error)) == ([CONNECTED, "ADDED a 10"], Unreachable)
    assert "broke off" in str(error)


def test_a_link_that_falls_silent_is_noticed_when_the_watch_should_have_ended() -> None:
    events, error = watched(streams(ADDED, then=silence))
    assert (events, type(error)) == ([CONNECTED, "ADDED a 10"], Unreachable)
    assert str(error) == "watch pods: it should have ended after 1 s; the link is dead"


def test_lines_of_any_length_arrive_whole() -> None:
    """The longest object etcd takes has 1.5 MB; aiohttp's own lines end at 128 kB."""
    long = event("ADDED", pod("long", 11, data={"x": "y" * 1_500_000}))
    pieces = [long[start : start + 50_000] for start in range(0, len(long), 50_000)]
    pieces[-1] += ADDED[:7]
    assert watched(streams(*pieces, ADDED[7:])) == ([CONNECTED, "ADDED long 11", "ADDED a 10"], None)


@pytest.mark.parametrize("line", [b"hello\n", b"{}\n", b'{"type":"SUNDAY","object":{}}\n', b"<html>\n"])
def test_nonsense_ends_the_watch(line: bytes) -> None:
    events, error = watched(streams(ADDED + line))
    assert events == [CONNECTED, "ADDED a 10"]
    assert error is not None


def test_whoever_has_enough_closes_the_connection() -> None:
    async def main() -> None:
        async with client(streams(ADDED, then=silence)) as (cluster, server):
            async with aclosing(cluster.watch(PODS, since="9")) as events:
                assert [(await anext(events)).type for _ in range(2)] == [EventType.BOOKMARK, EventType.ADDED]
            await asyncio.wait_for(server.gone.wait(), 2)

    asyncio.run(main())
