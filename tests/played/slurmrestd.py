"""A played slurmrestd: as many nodes as wanted, in a known state, that fails when told to.

In a test: `async with playing(["w1", "w2"]) as slurmrestd: Transport(slurmrestd.url)`. As a program for benches:
`python -m tests.played.slurmrestd --port 0 --nodes 'compute-[0-4999]'` prints its URL as the last line when it is
ready, and its counts of requests as JSON at GET /counts and when it is told to end.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import signal
import sys
from collections import Counter, defaultdict, deque
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from penstock.slurm import hostlist

from .slurm_answers import AWAY, BROKEN, DENIED, Answer, Writer
from .slurm_desk import Desk
from .slurm_model import Model, Release
from .wire import Request, answer, read_request

_REMEMBERED = 100_000
"""Requests; the counts know of all."""


class Fault(Enum):
    """How a request goes wrong."""

    ERROR = auto()
    """500 and nothing said."""
    HANG = auto()
    """No answer, link open, until `heal`."""
    CLOSE = auto()
    """The connection breaks before the answer. What was ordered is done."""
    HALF = auto()
    """The answer breaks off in its middle."""
    DENIED = auto()
    """The token is not accepted, as with another key or a wrong clock."""
    AWAY = auto()
    """slurmrestd is there, slurmctld is not. The real one says so after ten seconds, this one at once."""


_PROBLEMS = {Fault.DENIED: DENIED, Fault.AWAY: AWAY}


@dataclass(slots=True)
class Trouble:
    """A fault for some requests, a number of times or until `heal`."""

    fault: Fault
    times: float
    method: str
    path: str

    def takes(self, method: str, path: str) -> bool:
        """Whether this request goes wrong, and one time less is left."""
        if self.times < 1 or self.method not in {"", method} or not path.startswith(self.path):
            return False
        self.times -= 1
        return True


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that was answered, or not (status 0)."""

    method: str
    path: str
    """Without the version: `nodes/`, `node/w1`."""
    status: int
    body: bytes


@dataclass(slots=True)
class Slurmrestd:
    """What is played, where, and what was asked."""

    desk: Desk
    url: str = ""
    asked: deque[Asked] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    troubles: list[Trouble] = field(default_factory=list)
    _counts: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    _healed: asyncio.Event = field(default_factory=asyncio.Event)
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    def model(self) -> Model:
        """The nodes and jobs, to be looked at and changed."""
        return self.desk.model

    @property
    def writer(self) -> Writer:
        """Who wrote the answers."""
        return self.desk.writer

    def fail(self, fault: Fault, *, times: float = float("inf"), method: str = "", path: str = "") -> None:
        """Let requests go wrong: the next `times`, all or those of a method and a beginning of a path."""
        self.troubles.append(Trouble(fault, times, method, path))
        self._healed.clear()

    def heal(self) -> None:
        """Answer well again; those who hang are answered now."""
        self.troubles.clear()
        self._healed.set()

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """Requests by method and path, and by status: {"GET nodes/": {"200": 1, "304": 59}}."""
        return {what: dict(by_status) for what, by_status in sorted(self._counts.items())}

    async def until(self, enough: Callable[[Slurmrestd], bool], *, seconds: float = 10.0) -> None:
        """Wait until what was asked is enough."""
        async with self._changed, asyncio.timeout(seconds):
            await self._changed.wait_for(lambda: enough(self))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, kept open until an error, as the real one has it."""
        with contextlib.closing(writer), contextlib.suppress(ConnectionError, asyncio.CancelledError):
            while request := await read_request(reader):
                good = await self._respond(request, writer)
                await writer.drain()
                if not good:
                    return

    async def _respond(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        if request.path == "/counts":
            writer.write(answer(200, json.dumps(self.counts).encode()))
            return True
        path = request.path.partition("/slurm/")[2].partition("/")[2]
        fault = next((one.fault for one in self.troubles if one.takes(request.method, path)), None)
        if fault is Fault.HANG:
            await self._note(request, path, 0)
            await self._healed.wait()
        problem = _PROBLEMS.get(fault) if fault else None
        found = BROKEN if fault is Fault.ERROR else self.desk.answer(request, problem)
        lost = fault in {Fault.CLOSE, Fault.HALF}
        await self._note(request, path, 0 if lost else found.status)
        whole = answer(found.status, found.body, found.content_type, close=found.status >= 400)
        writer.write(whole[: len(whole) // 2 if fault is Fault.HALF else 0] if lost else whole + self._echo(found))
        return not lost and found.status < 400

    def _echo(self, found: Answer) -> bytes:
        if found.status < 400 or self.model.release is not Release.R26_05:
            return b""
        return answer(found.status, found.words, "text/plain", close=True)

    async def _note(self, request: Request, path: str, status: int) -> None:
        self.asked.append(Asked(request.method, path, status, request.body))
        kind = "node/*" if path.startswith("node/") else path
        self._counts[f"{request.method} {kind}"][str(status)] += 1
        async with self._changed:
            self._changed.notify_all()


@contextlib.asynccontextmanager
async def playing(
    names: Iterable[str] = (), *, release: Release = Release.R26_05, key: bytes | None = None, port: int = 0
) -> AsyncIterator[Slurmrestd]:
    """Serve on loopback, with idle nodes of these names."""
    played = Slurmrestd(Desk(Model(release=release), key))
    played.model.add(names)
    links: set[asyncio.StreamWriter] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        links.add(writer)
        try:
            await played.serve(reader, writer)
        finally:
            links.discard(writer)

    server = await asyncio.start_server(connected, "127.0.0.1", port)
    played.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield played
    finally:
        server.close()
        played.heal()
        for link in list(links):
            link.close()
        await server.wait_closed()


async def _play(nodes: str, port: int, release: Release) -> None:
    over, loop = asyncio.Event(), asyncio.get_running_loop()
    for one in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(one, over.set)
    async with playing(hostlist.expand(nodes), port=port, release=release) as played:
        played.writer.nodes(release.value[0])  # encoded before the first one waits for it
        sys.stdout.write(f"{played.url}\n")
        sys.stdout.flush()
        await over.wait()
        sys.stdout.write(f"{json.dumps(played.counts)}\n")


def main(arguments: Sequence[str] | None = None) -> None:
    """Play until told to end."""
    parser = argparse.ArgumentParser(prog="python -m tests.played.slurmrestd", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="of loopback; any free one when not given")
    parser.add_argument("--nodes", default="", metavar="HOSTLIST", help="idle nodes, such as 'compute-[0-4999]'")
    parser.add_argument("--release", choices=[one.name for one in Release], default=Release.R26_05.name)
    chosen = parser.parse_args(arguments)
    asyncio.run(_play(chosen.nodes, chosen.port, Release[chosen.release]))


if __name__ == "__main__":
    main()
