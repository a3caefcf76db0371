"""How a container is asked how it is, and what is made of the answers.

Kubernetes asks every `periodSeconds`, so a daemon that answers after 50 ms is known to be well after ten seconds. Here
a container that has not yet answered well is asked more often as well, at growing intervals; such early questions can
only bring good news: a failure counts once per period, as people have reckoned with it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from penstock.engine.podspec import Container, HttpGet, Probe, TcpSocket

_LOG = logging.getLogger(__name__)
UNABLE = (OSError, RuntimeError)
"""What a machine says that is short of processes, descriptors, memory or threads; Python has no better for the last."""
_AGAIN = 1.0
"""Seconds until who could not ask tries again."""
_EARLY, _LONGER = 0.05, 1.6
"""Seconds before the first early question is repeated, and by how much each further pause is longer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one question."""

    good: bool
    said: str = ""


Ask = Callable[[], Awaitable[Answer]]
Dial = Callable[[str, int], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]
"""Connects to an address and a port of a pod."""


async def verdicts(probe: Probe, ask: Ask, *, holds: bool | None) -> AsyncGenerator[Answer, None]:
    """Each change of mind about a container that is thought to be well or not at first; None: nobody knows yet."""
    clock = asyncio.get_running_loop().time
    await asyncio.sleep(probe.initial_delay_seconds)
    period, pause = max(probe.period_seconds, 1), _EARLY
    leaning, in_a_row, failed_at = holds, 0, float("-inf")
    while True:
        answer = await _bounded(ask, probe.timeout_seconds)
        if answer is None:
            await asyncio.sleep(_AGAIN)
            continue
        in_a_row = in_a_row if answer.good == leaning else 0
        leaning = answer.good
        if answer.good:
            in_a_row += 1
        elif clock() >= failed_at + period:
            in_a_row, failed_at = in_a_row + 1, clock()
        if answer.good != holds and in_a_row >= (probe.success_threshold if answer.good else probe.failure_threshold):
            holds = answer.good
            yield answer
        pause = _EARLY if holds else min(pause * _LONGER, period)
        due = failed_at + period - clock()
        await asyncio.sleep(period if holds else min(pause, due) if due > 0 else pause)


async def _bounded(ask: Ask, seconds: int) -> Answer | None:
    """The answer; None when nobody could ask. As with kubelet that says nothing: nobody is ended for it."""
    try:
        async with asyncio.timeout(max(seconds, 1)):
            return await ask()
    except TimeoutError:
        return Answer(good=False, said=f"no answer within {max(seconds, 1)} s")
    except UNABLE as problem:
        _LOG.warning("a probe could not be asked: %s", problem)
        return None


async def over_tcp(question: TcpSocket, container: Container, address: str, dial: Dial) -> Answer:
    """Whether a port is open."""
    try:
        _, writer = await dial(question.host or address, port_number(question.port, container))
    except OSError as error:
        return Answer(good=False, said=f"port {question.port}: {error.strerror or error}")
    await _hang_up(writer)
    return Answer(good=True)


async def over_http(question: HttpGet, container: Container, address: str, dial: Dial) -> Answer:
    """Whether a page answers with success, or leads elsewhere."""
    host, port = question.host or address, port_number(question.port, container)
    try:
        reader, writer = await dial(host, port)
        try:
            writer.write(_request(question, host, port))
            line = (await reader.readuntil(b"\r\n")).decode("latin-1").split(maxsplit=2)
        finally:
            await _hang_up(writer)
    except (OSError, EOFError, asyncio.LimitOverrunError) as error:
        return Answer(good=False, said=f"GET {question.path} on port {question.port}: {error}")
    code = int(line[1]) if len(line) > 1 and line[1].isdecimal() else 0
    return Answer(
        good=200 <= code < 400, said=f"GET {question.path} on port {question.port}: {' '.join(line[1:])}".strip()
    )


async def _hang_up(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


def _request(question: HttpGet, host: str, port: int) -> bytes:
    headers = {"Host": f"{host}:{port}", "User-Agent": "kube-probe/penstock", "Accept": "*/*", "Connection": "close"}
    headers |= {header.name: header.value for header in question.http_headers}
    lines = [f"GET {question.path or '/'} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*(line.replace("\r", " ").replace("\n", " ") for line in lines), "", ""]).encode()


def port_number(port: int | str, container: Container) -> int:
    """A port by its number, or by the name that the container gives it."""
    if isinstance(port, int):
        return port
    for one in container.ports:
        if one.name == port:
            return one.container_port
    if port.isdecimal():
        return int(port)
    raise OSError(
        f"container {container.name} has no port named {port}; it has {[one.name for one in container.ports]}"
    )
