"""A log is followed line by line, however quiet it is, and what it cannot be followed for is said."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest
from aiohttp import web

from penstock.cluster.errors import ClusterError, Failing, Forbidden, NotFound, NotYet, Overloaded, Refused, Unreachable
from penstock.cluster.kube import KubeCluster
from penstock.cluster.port import LONGEST_LOG_LINE

from .server import QUICK, Answer, after, breaks, client, cut, refuses, says, silence, streams


async def read(cluster: KubeCluster) -> tuple[list[str], ClusterError | None]:
    """What a log says until it ends, and how it ended."""
    lines: list[str] = []
    try:
        async for line in cluster.logs("a", namespace="n", container="main", tail=5):
            lines.append(line)  # noqa: PERF401 - what came before an error counts
    except ClusterError as error:
        return lines, error
    return lines, None


def followed(answer: Answer) -> tuple[list[str], ClusterError | None]:
    """What such a server has us say."""

    async def main() -> tuple[list[str], ClusterError | None]:
        async with client(answer) as (cluster, _), asyncio.timeout(10):
            return await read(cluster)

    return asyncio.run(main())


def test_a_log_is_asked_for_as_kubernetes_documents_it() -> None:
    async def main() -> None:
        async with client(streams()) as (cluster, server):
            assert await read(cluster) == ([], None)
            [seen] = server.seen
            assert seen.line == "GET /api/v1/namespaces/n/pods/a/log"
            # No timeout: the server would take it for the end of the log.
            assert seen.query == {"container": "main", "follow": "true", "tailLines": "5"}
            async with aclosing(cluster.logs("a", namespace="n", container="main")) as lines:
                assert [line async for line in lines] == []
            assert server.seen[1].query["tailLines"] == "0"

    asyncio.run(main())


def test_lines_come_as_they_fall_into_blocks() -> None:
    assert followed(streams(b"one\ntwo\nth", b"r", b"ee\n\nfi", b"ve")) == (["one", "two", "three", "", "five"], None)


def test_letters_that_are_cut_by_blocks_stay_whole_and_bytes_that_are_no_letters_do_no_harm() -> None:
    assert followed(streams("grü".encode()[:-1], "ü".encode()[1:] + b"n\n\xff\n")) == (["grün", "\ufffd"], None)


def test_a_line_without_end_is_cut_and_the_next_one_is_not() -> None:
    blocks = [b"x" * 50_000] * 20
    lines, error = followed(streams(*blocks, b"y\nnext\n"))
    assert (lines, error) == (["x" * LONGEST_LOG_LINE, "next"], None)


def test_a_log_may_be_silent_for_longer_than_any_answer_before_it_begins_and_after() -> None:
    """Kubelet sends not even headers before the first line."""

    async def pause(_: web.Request) -> None:
        await asyncio.sleep(1.5)

    late = after(1.5, streams(b"at last\n", then=pause))
    assert QUICK.answer < 1.5 > QUICK.watch + QUICK.grace
    assert followed(late) == (["at last"], None)


def test_a_connection_that_breaks_is_not_an_end() -> None:
    lines, error = followed(streams(b"one\ntw", then=cut))
    assert (lines, type(error)) == (["one"], Unreachable)
    assert "logs of pods n/a, container main: the connection broke off" in str(error)
    assert type(followed(breaks())[1]) is Unreachable


def test_a_quiet_link_is_looked_after_by_tcp() -> None:
    """A log has no promised end that a dead link would miss, so the kernel has to ask: after at most half a minute."""

    async def main() -> None:
        async with client(streams(b"one\n", then=silence)) as (cluster, server):
            async with aclosing(cluster.logs("a", namespace="n", container="main")) as lines:
                assert await anext(lines) == "one"
                assert 0 < seconds_to_keepalive(int(server.url.rpartition(":")[2])) <= 30
            await asyncio.wait_for(server.gone.wait(), 2)

    asyncio.run(main())


def seconds_to_keepalive(port: int) -> float:
    """When the kernel asks next whether the other end of the connection to a port is there; 0: never."""
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, _, remote, _, _, timer, *_ = line.split()
        kind, _, hundredths = timer.partition(":")
        if int(remote.rpartition(":")[2], 16) == port:
            return int(hundredths, 16) / 100 if kind == "02" else 0.0
    raise AssertionError(f"no connection to {port}")


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (refuses(404, "NotFound", 'pods "a" not found'), NotFound),
        (refuses(400, "BadRequest", "container main is not valid for pod a"), NotFound),
        (refuses(400, "BadRequest", 'container "main" in pod "a" is terminated'), NotFound),
        (refuses(400, "BadRequest", 'container "main" in pod "a" is waiting to start: ContainerCreating'), NotYet),
        (refuses(400, "BadRequest", 'container "main" in pod "a" is waiting to start - no logs yet'), NotYet),
        (refuses(400, "BadRequest", 'container "main" in pod "a" is not available'), NotYet),
        (says("", status=204), NotYet),
        (refuses(400, "BadRequest", "a container name must be specified for pod a"), Refused),
        (refuses(422, "Invalid", "tailLines: Invalid value: -1"), Refused),
        (refuses(403, "Forbidden"), Forbidden),
        (refuses(429, retryAfterSeconds=7), Overloaded),
        (refuses(500, "InternalError", "dial tcp: connection refused"), Failing),
        (refuses(502, "", ""), Unreachable),
    ],
)
def test_what_is_not_there_what_is_not_there_yet_and_what_is_wrong(answer: Answer, kind: type[ClusterError]) -> None:
    lines, error = followed(answer)
    assert (lines, type(error)) == ([], kind)
    assert str(error).startswith("logs of pods n/a, container main: ")


def test_not_yet_is_waited_for_as_if_it_were_away() -> None:
    """Whoever can only wait need not tell the two apart."""
    assert issubclass(NotYet, Unreachable)


def test_a_refusal_that_does_not_come_to_an_end_is_not_waited_for_for_ever() -> None:
    async def half(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=500)
        await response.prepare(request)
        await response.write(b"half a ref")
        await silence(request)
        return response

    assert type(followed(half)[1]) is Unreachable


@pytest.mark.parametrize("name", ["", "..", "a/status"])
def test_a_name_that_would_lead_elsewhere_is_never_sent(name: str) -> None:
    async def main() -> None:
        async with client(streams()) as (cluster, server):
            with pytest.raises(Refused, match="cannot be the name"):
                await anext(cluster.logs(name, namespace="n", container="main"))
            assert server.seen == []

    asyncio.run(main())
