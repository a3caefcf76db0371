"""What is made of a container's answers: Kubernetes' counting, and good news without delay."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable
from contextlib import aclosing

import pytest
from tests.cluster.virtual_time import run

from penstock.engine.podspec import Container, HttpGet, Port, Probe, TcpSocket
from penstock.engine.probes import Answer, over_http, over_tcp, port_number, verdicts

CONTAINER = Container(name="c", ports=(Port(container_port=6817, name="slurmctld"),))


def minds(probe: Probe, well: Callable[[float], bool], *, holds: bool | None, until: float) -> list[tuple[float, bool]]:
    """When a probe changes its mind about a container that is well at some times, and what it asked meanwhile."""

    async def main() -> list[tuple[float, bool]]:
        clock, seen = asyncio.get_running_loop().time, []
        began = clock()

        async def ask() -> Answer:
            return Answer(well(clock() - began))

        async def listen() -> None:
            async with aclosing(verdicts(probe, ask, holds=holds)) as found:
                async for answer in found:
                    at = round(clock() - began, 2)
                    seen.append((at, answer.good))

        listening = asyncio.create_task(listen())
        await asyncio.sleep(until)
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        return seen

    return run(main())


def test_a_daemon_that_is_well_after_a_moment_is_known_to_be_so_at_once() -> None:
    """Warm start: ten seconds of a period would be most of it."""
    [(at, good)] = minds(Probe(period_seconds=10), lambda now: now > 0.3, holds=False, until=60)
    assert good
    assert at < 0.6


def test_early_questions_do_not_make_a_container_fail_earlier() -> None:
    """Three failures, ten seconds apart: nobody is ended before twenty seconds, however often it was asked."""
    [(at, good)] = minds(Probe(period_seconds=10, failure_threshold=3), lambda _: False, holds=None, until=100)
    assert not good
    assert 20 <= at < 21


def test_one_failure_between_successes_is_forgiven() -> None:
    probe = Probe(period_seconds=1, failure_threshold=2)
    assert minds(probe, lambda now: not 5 <= now < 6, holds=True, until=30) == []


def test_failures_in_a_row_count_and_recovery_is_seen() -> None:
    probe = Probe(period_seconds=1, failure_threshold=3)
    seen = minds(probe, lambda now: not 5 <= now < 15, holds=True, until=30)
    assert [good for _, good in seen] == [False, True]
    assert 7 <= seen[0][0] <= 9
    assert 15 <= seen[1][0] <= 16.1


def test_successes_are_counted_too() -> None:
    probe = Probe(period_seconds=1, success_threshold=3)
    [(at, good)] = minds(probe, lambda _: True, holds=False, until=10)
    assert good
    assert at > 0


def test_the_first_question_waits_for_the_initial_delay() -> None:
    assert minds(Probe(initial_delay_seconds=20), lambda _: True, holds=None, until=30) == [(20.0, True)]


def test_an_answer_that_does_not_come_is_a_failure() -> None:
    async def main() -> Answer:
        async def ask() -> Answer:
            await asyncio.sleep(1000)
            return Answer(good=True)

        async with aclosing(verdicts(Probe(timeout_seconds=2, failure_threshold=1), ask, holds=True)) as found:
            return await anext(found)

    assert run(main()) == Answer(good=False, said="no answer within 2 s")


@pytest.mark.parametrize(
    "problem", [OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)), RuntimeError("can't start new thread")]
)
def test_a_question_that_cannot_be_asked_says_nothing_and_is_asked_again(problem: Exception) -> None:
    """A machine that is short of processes for a moment ends neither a container nor its probes."""

    async def main() -> Answer:
        answers: list[Answer | Exception] = [
            problem,
            problem,
            Answer(good=True),
            problem,
            Answer(good=False, said="ill"),
        ]

        async def ask() -> Answer:
            answer = answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

        async with aclosing(verdicts(Probe(failure_threshold=1), ask, holds=True)) as found:
            return await anext(found)

    assert run(main()) == Answer(good=False, said="ill")


def served(reply: bytes, question: Callable[[int], HttpGet | TcpSocket]) -> tuple[Answer, list[bytes]]:
    """What a probe makes of a server that says `reply`, and what the server heard."""

    async def main() -> tuple[Answer, list[bytes]]:
        heard: list[bytes] = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            heard.append(await reader.read(4096))
            writer.write(reply)
            writer.close()
            await writer.wait_closed()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            asked = question(server.sockets[0].getsockname()[1])
            asks = over_http if isinstance(asked, HttpGet) else over_tcp
            return await asks(asked, CONTAINER, "127.0.0.1", asyncio.open_connection), heard  # type: ignore[arg-type]

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("reply", "good"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", True),
        (b"HTTP/1.1 302 Found\r\n\r\n", True),
        (b"HTTP/1.1 404 Not Found\r\n\r\n", False),
        (b"HTTP/1.1 503 Service Unavailable\r\n\r\n", False),
        (b"SSH-2.0-OpenSSH_9.2\r\n", False),
        (b"", False),
    ],
)
def test_a_page_is_well_when_it_says_so(reply: bytes, good: bool) -> None:
    answer, heard = served(reply, lambda port: HttpGet(port=port, path="/livez"))
    assert answer.good == good
    assert heard[0].startswith(b"GET /livez HTTP/1.1\r\n")


def test_an_open_port_is_enough_for_tcp_and_a_closed_one_is_named() -> None:
    assert served(b"", lambda port: TcpSocket(port=port))[0].good

    async def main(port: int) -> Answer:
        return await over_tcp(TcpSocket(port=port), CONTAINER, "127.0.0.1", asyncio.open_connection)

    closed = asyncio.run(main(1))
    assert (closed.good, "port 1" in closed.said) == (False, True)


@pytest.mark.parametrize(("port", "number"), [(80, 80), ("slurmctld", 6817), ("8080", 8080)])
def test_ports_have_numbers_or_names(port: int | str, number: int) -> None:
    assert port_number(port, CONTAINER) == number


def test_a_port_that_nobody_named_is_an_error_with_the_names_there_are() -> None:
    with pytest.raises(OSError, match=r"no port named web.*slurmctld"):
        port_number("web", CONTAINER)


def test_headers_cannot_smuggle_lines() -> None:
    _, heard = served(b"HTTP/1.1 200 OK\r\n\r\n", lambda port: HttpGet(port=port, path="/a\r\nX: y"))
    assert b"\r\nX: y" not in heard[0]
