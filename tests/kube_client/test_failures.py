"""What the server refuses becomes the exception that says what to do, in the server's own words."""

from __future__ import annotations

import asyncio

import pytest

from penstock.cluster import errors
from penstock.cluster.kube import KubeCluster, Limits

from .server import PODS, QUICK, Answer, Server, after, breaks, client, page, pod, refuses, says, serving, silence

BODY = {"metadata": {"name": "a", "namespace": "n"}}


def failure(*answers: Answer, write: bool = False) -> tuple[errors.ClusterError, Server]:
    """How a question fails, and what the server saw of it."""

    async def main() -> tuple[errors.ClusterError, Server]:
        async with client(*answers) as (cluster, server):
            with pytest.raises(errors.ClusterError) as caught:
                await (cluster.create(PODS, BODY) if write else cluster.get(PODS, "a", "n"))
            return caught.value, server

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (400, "BadRequest", errors.Refused),
        (401, "Unauthorized", errors.Forbidden),
        (403, "Forbidden", errors.Forbidden),
        (404, "NotFound", errors.NotFound),
        (405, "MethodNotAllowed", errors.Refused),
        (409, "AlreadyExists", errors.AlreadyExists),
        (409, "Conflict", errors.Conflict),
        (410, "Expired", errors.Expired),
        (410, "Gone", errors.Expired),
        (413, "RequestEntityTooLarge", errors.Refused),
        (415, "UnsupportedMediaType", errors.Refused),
        (422, "Invalid", errors.Refused),
        (500, "InternalError", errors.Failing),
        (503, "ServiceUnavailable", errors.Unreachable),
        (504, "Timeout", errors.Unreachable),
    ],
)
def test_a_refusal_has_its_exception_and_its_words(code: int, reason: str, kind: type[errors.ClusterError]) -> None:
    error, server = failure(refuses(code, reason), write=True)
    assert type(error) is kind
    assert str(error).startswith("create pods n/a: the server's own words")
    assert len(server.seen) == 1, "a write is not sent again"


def test_an_answer_of_something_in_between_is_quoted_in_part() -> None:
    error, _ = failure(says("<html>teapot</html>" + "x" * 9999, status=418))
    assert type(error) is errors.Refused
    assert str(error).startswith("get pods n/a: <html>teapot</html>")
    assert len(str(error)) < 600


def test_an_answer_that_is_not_json_is_no_answer() -> None:
    error, _ = failure(says("hello"))
    assert type(error) is errors.Unreachable


@pytest.mark.parametrize("code", [301, 302, 307, 308])
def test_redirects_are_not_followed(code: int) -> None:
    """They would take the token along."""

    async def main() -> None:
        async with serving(says(pod("a"))) as elsewhere:
            answer = says("", status=code, headers={"Location": elsewhere.url})
            async with client(answer) as (cluster, _):
                with pytest.raises(errors.Refused, match="redirects elsewhere"):
                    await cluster.get(PODS, "a", "n")
            assert elsewhere.seen == []

    asyncio.run(main())


def test_reading_outlasts_a_storm_of_failures() -> None:
    async def main() -> None:
        storm = [refuses(500), breaks(), refuses(503), refuses(429, retryAfterSeconds=0.01), refuses(502, message="")]
        async with client(*storm, says(pod("a"))) as (cluster, server):
            assert (await cluster.get(PODS, "a", "n")).metadata.name == "a"
            assert len(server.seen) == 6

    asyncio.run(main())


def test_reading_gives_up_when_its_patience_is_over() -> None:
    error, server = failure(refuses(500))
    assert type(error) is errors.Failing
    assert 10 < len(server.seen) < 50


@pytest.mark.parametrize(
    ("answer", "kind"),
    [(refuses(500), errors.Failing), (breaks(), errors.Unreachable), (breaks(silence), errors.Unreachable)],
    ids=["500", "cut", "silent"],
)
def test_a_write_that_may_have_happened_is_not_sent_again(answer: Answer, kind: type[errors.ClusterError]) -> None:
    error, server = failure(answer, says(pod("a")), write=True)
    assert type(error) is kind
    assert len(server.seen) == 1


def test_a_delete_on_a_connection_that_was_kept_is_not_sent_again() -> None:
    """What aiohttp would do: to it a DELETE is idempotent. To us the name may belong to a successor by then."""

    async def main() -> None:
        async with client(says(pod("a")), breaks(), says(pod("a"))) as (cluster, server):
            await cluster.get(PODS, "a", "n")
            with pytest.raises(errors.Unreachable, match="delete pods n/a: the connection broke off"):
                await cluster.delete(PODS, "a", namespace="n")
            assert [seen.method for seen in server.seen] == ["GET", "DELETE"]

    asyncio.run(main())


def test_a_write_that_the_server_put_off_is_sent_again_when_it_said() -> None:
    async def main() -> None:
        later = says({"message": "busy"}, status=429, headers={"Retry-After": "1"})
        soon = refuses(429, retryAfterSeconds=0.2)
        limits = Limits(patience=5.0, backoff=QUICK.backoff)
        async with client(later, soon, says(pod("a")), limits=limits) as (cluster, server):
            began = asyncio.get_running_loop().time()
            await cluster.create(PODS, BODY)
            assert 1.2 <= asyncio.get_running_loop().time() - began < 3
            assert len(server.seen) == 3

    asyncio.run(main())


def test_a_server_that_asks_for_more_patience_than_there_is_is_overloaded() -> None:
    error, server = failure(says("Too many requests", status=429, headers={"Retry-After": "30"}), write=True)
    assert isinstance(error, errors.Overloaded)
    assert (error.retry_after, len(server.seen)) == (30.0, 1)


def test_an_eviction_that_a_budget_forbids_is_told_at_once() -> None:
    async def main() -> None:
        answer = refuses(429, "TooManyRequests", "it would violate the pod's disruption budget", retryAfterSeconds=0.01)
        async with client(answer) as (cluster, server):
            with pytest.raises(errors.Overloaded, match="evict pods n/a: it would violate") as caught:
                await cluster.evict("a", namespace="n")
            assert (caught.value.retry_after, len(server.seen)) == (0.01, 1)

    asyncio.run(main())


def test_a_write_to_a_server_that_is_not_up_yet_waits_for_it() -> None:
    """Nothing was sent, so nothing can happen twice."""

    async def main() -> None:
        async with serving(says(pod("a"))) as server:
            connection, port = server.connection(), int(server.url.rpartition(":")[2])
        async with KubeCluster(connection, QUICK) as cluster, asyncio.TaskGroup() as group:
            made = group.create_task(cluster.create(PODS, BODY))
            await asyncio.sleep(0.2)
            async with serving(says(pod("a")), port=port):
                assert (await made).metadata.name == "a"

    asyncio.run(main())


def test_a_server_that_is_not_there_is_unreachable() -> None:
    async def main() -> None:
        async with serving(says("")) as server:
            connection = server.connection()
        async with KubeCluster(connection, QUICK) as cluster:
            with pytest.raises(errors.Unreachable, match="get pods n/a: Cannot connect to host"):
                await cluster.get(PODS, "a", "n")

    asyncio.run(main())


def test_a_server_that_does_not_answer_is_waited_for_so_long() -> None:
    error, _ = failure(breaks(silence), write=True)
    assert str(error) == "create pods n/a: no answer within 0.5 s"


def test_requests_share_a_bound_and_watches_have_none() -> None:
    async def main() -> None:
        limits = Limits(requests_at_once=3)
        answers = [breaks(silence), breaks(silence), after(0.05, page())]
        async with client(*answers, limits=limits) as (cluster, server):
            async with asyncio.TaskGroup() as group:
                watches = [group.create_task(anext(cluster.watch(PODS, since="1"))) for _ in range(2)]
                await server.asked(2)
                await asyncio.gather(*(cluster.list(PODS) for _ in range(12)))
                for watch in watches:
                    watch.cancel()
            assert server.most_at_once == 2 + 3

    asyncio.run(main())


def test_any_number_of_watches_leaves_room_for_requests() -> None:
    """Each holds a connection for as long as it lasts; aiohttp itself would stop at 100."""

    async def main() -> None:
        answers = [*[breaks(silence)] * 150, says(pod("a"))]
        async with client(*answers, limits=Limits()) as (cluster, server):
            async with asyncio.timeout(10), asyncio.TaskGroup() as group:
                watches = [group.create_task(anext(cluster.watch(PODS, since="1"))) for _ in range(150)]
                await server.asked(150)
                await asyncio.gather(cluster.get(PODS, "a", "n"), cluster.create(PODS, BODY))
                for watch in watches:
                    watch.cancel()
            assert server.most_at_once >= 151

    asyncio.run(main())


def test_waiting_for_another_try_takes_nobodys_place() -> None:
    async def main() -> None:
        limits = Limits(requests_at_once=1)
        answers = [refuses(429, retryAfterSeconds=0.5), says(pod("a"))]
        async with client(*answers, limits=limits) as (cluster, _), asyncio.TaskGroup() as group:
            patient = group.create_task(cluster.get(PODS, "a", "n"))
            await asyncio.sleep(0.1)
            await cluster.get(PODS, "a", "n")
            assert not patient.done()

    asyncio.run(main())


def test_cancelling_a_request_closes_its_connection() -> None:
    async def main() -> None:
        async with client(breaks(silence)) as (cluster, server):
            task = asyncio.create_task(cluster.get(PODS, "a", "n"))
            await server.asked(1)
            task.cancel()
            await asyncio.wait_for(server.gone.wait(), 2)
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())


def test_no_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    async def main() -> None:
        async with client(says(pod("a"))) as (cluster, _):
            await cluster.get(PODS, "a", "n")

    asyncio.run(main())
