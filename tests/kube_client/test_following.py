"""The copy over the real client, through everything that a network and a server can do to it."""

from __future__ import annotations

import asyncio

from penstock.cluster.backoff import Backoff
from penstock.cluster.informer import Informer

from .server import PODS, bookmark, breaks, client, cut, event, page, pod, refuses, silence, streams


def test_the_copy_survives_a_bad_day() -> None:
    day = [
        refuses(503),
        page(pod("a"), more="x"),
        refuses(410, "Expired"),
        page(pod("a"), pod("b"), more="y"),
        page(pod("c")),
        streams(event("MODIFIED", pod("a", 10)), then=cut),
        breaks(),
        streams(event("ADDED", pod("d", 11)) + bookmark(12), event("DELETED", pod("b", 13))[:-9]),
        streams(event("DELETED", pod("b", 13)), then=silence),
        streams(event("ERROR", {"code": 410, "message": "gone"})),
        page(pod("a", 10), pod("d", 20), version=30),
        refuses(429, retryAfterSeconds=0.01),
        streams(event("ADDED", pod("e", 31)), bookmark(35), then=silence),
        streams(then=silence),
    ]
    told: list[tuple[str | None, str | None]] = []

    async def main() -> None:
        async with client(*day) as (cluster, server), asyncio.TaskGroup() as group:
            informer = Informer(cluster, PODS, backoff=Backoff(first=0.01, longest=0.05))
            informer.subscribe(lambda *pair: told.append(tuple(i and i.metadata.name for i in pair)))
            task = group.create_task(informer.run())
            await server.asked(len(day))
            assert {pod.metadata.name: pod.metadata.resource_version for pod in informer.all()} == {
                "a": "10",
                "d": "20",
                "e": "31",
            }
            task.cancel()
        since = [seen.query["resourceVersion"] for seen in server.seen if "watch" in seen.query]
        assert since == ["9", "10", "10", "12", "13", "30", "30", "35"]

    asyncio.run(main())
    first = [(None, "a"), (None, "b"), (None, "c")]
    assert told == [*first, ("a", "a"), (None, "d"), ("b", None), ("c", None), ("d", "d"), (None, "e")]
