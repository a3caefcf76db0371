"""A leader that the kernel stopped writes nothing when it wakes: real processes, real signals."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from . import leader_process
from .server import Server, serving

ROUNDS = 3
"""Without the last look at the clock every second round has a write too many."""


class Truth:
    """A server with one lease, that notes who writes and who held the lease then."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] = {}
        self.version = 0
        self.written: list[tuple[str, str]] = []
        self.looks: dict[str, int] = {}
        self._news = asyncio.Condition()

    @property
    def holder(self) -> str:
        """Who holds the lease."""
        return str(self.lease.get("spec", {}).get("holderIdentity", ""))

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Leases with versions, and anything else."""
        who = request.headers["Authorization"].removeprefix("Bearer ")
        code, body = self._lease(request.method, await request.text(), who) if "leases" in request.path else (0, {})
        if not code:
            self.written.append((who, self.holder))
            code, body = 201, {"metadata": {"name": "x"}}
        async with self._news:
            self._news.notify_all()
        return web.json_response(body, status=code)

    def _lease(self, method: str, text: str, who: str) -> tuple[int, dict[str, Any]]:
        if method == "GET":
            self.looks[who] = self.looks.get(who, 0) + 1
            return (200, self.lease) if self.lease else (404, {"reason": "NotFound"})
        body = json.loads(text)
        if method == "PATCH" and body["metadata"]["resourceVersion"] != str(self.version):
            return 409, {"reason": "Conflict"}
        self.version += 1
        spec = self.lease.get("spec", {}) | body["spec"]
        self.lease = {"metadata": {"name": "penstock", "resourceVersion": str(self.version)}, "spec": spec}
        return 200, self.lease

    async def until(self, what: str, condition: Any) -> None:
        """Wait for something to be true."""
        async with self._news:
            try:
                async with asyncio.timeout(20):
                    await self._news.wait_for(condition)
            except TimeoutError:
                raise AssertionError(f"never seen: {what}") from None


@asynccontextmanager
async def candidate(server: Server, name: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process that wants to lead."""
    process = await asyncio.create_subprocess_exec(sys.executable, leader_process.__file__, server.url, name)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGCONT)
        process.kill()
        await process.wait()


async def stop_the_leader(truth: Truth, processes: dict[str, asyncio.subprocess.Process]) -> None:
    """Stop whoever leads until the other does, then let them go on, and look around."""
    await truth.until("the leader writes", lambda: truth.written[-1:] == [(truth.holder, truth.holder)])
    stopped = truth.holder
    processes[stopped].send_signal(signal.SIGSTOP)
    await truth.until("the other took over", lambda: truth.written[-1][0] != stopped)
    looks = truth.looks[stopped]
    processes[stopped].send_signal(signal.SIGCONT)
    await truth.until("the first is back", lambda: truth.looks[stopped] > looks + 3)


def test_a_stopped_leader_writes_nothing_when_it_wakes() -> None:
    """Twenty writers are at every step between the decision and the wire when the signal comes."""

    async def main() -> None:
        truth = Truth()
        async with serving(truth.answer) as server, candidate(server, "one") as one, candidate(server, "two") as two:
            await truth.until("both are there", lambda: {"one", "two"} <= truth.looks.keys())
            for _ in range(ROUNDS):
                await stop_the_leader(truth, {"one": one, "two": two})
        assert [pair for pair in truth.written if pair[0] != pair[1]] == []

    asyncio.run(main())
