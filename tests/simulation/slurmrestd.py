"""The way to the model of Slurm: a transport that answers as slurmrestd does, or fails as networks do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

import msgspec

from penstock.api.objects import Json
from penstock.slurm import hostlist, tokens
from penstock.slurm.rest.errors import SlurmUnreachable
from penstock.slurm.rest.transport import Reply, Transport

from .loop import clock, now
from .slurm import Slurm

VERSION = "v0.0.45"


@dataclass(frozen=True, slots=True)
class Request:
    """One request and how it ended; status 0 when it did not come back."""

    at: float
    method: str
    path: str
    status: int


@dataclass(slots=True)
class SlurmRestd:
    """slurmrestd before a model of Slurm."""

    slurm: Slurm
    key: Callable[[], bytes]
    """The JWT key that slurmctld has."""
    up: Callable[[], bool] = lambda: True
    """Whether the daemons run at all."""
    away: bool = False
    slow: float = 0.0
    deaf: bool = False
    """Orders come to nothing, while questions are answered."""
    lost_replies: int = 0
    """So many of the next orders take effect, and nobody hears of it."""
    before: Callable[[], None] = lambda: None
    after: Callable[[], None] = lambda: None
    """What happens right before and right after the nodes were told."""
    requests: list[Request] = field(default_factory=list)

    def connect(self, url: str) -> Transport:
        """The way to it; all addresses lead here."""
        return ModelTransport(url, self)

    def asked(self, since: float = 0.0, *, method: str = "") -> list[Request]:
        """The requests there were."""
        return [one for one in self.requests if one.at >= since and method in {"", one.method}]

    async def send(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Reply:
        """Answer, or break off."""
        at = now()
        await asyncio.sleep(self.slow)
        unheard = self.away or (self.deaf and method == "POST") or not self.up()
        reply = None if unheard else self._answer(method, path, headers, body)
        if reply is not None and method == "POST" and self.lost_replies:
            self.lost_replies, reply = self.lost_replies - 1, None
        self.requests.append(Request(at, method, path, reply.status if reply else 0))
        if reply is None:
            raise SlurmUnreachable("slurmrestd: simulated: no answer")
        return reply

    def _answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Reply:
        try:
            tokens.read(headers["X-SLURM-USER-TOKEN"], self.key(), now=int(clock().timestamp()))
        except tokens.TokenError:
            return Reply(401, b"Authentication failure")
        address = urlsplit(path)
        prefix = f"/slurm/{VERSION}/"
        asked = {
            ("GET", f"{prefix}ping/"): lambda: _reply({"pings": []}),
            ("GET", f"{prefix}nodes/"): lambda: self._nodes(int(parse_qs(address.query).get("update_time", ["0"])[0])),
            ("GET", f"{prefix}partitions/"): lambda: _reply(
                {"partitions": [{"name": name} for name in sorted(self.slurm.partitions)]}
            ),
            ("POST", f"{prefix}nodes/"): lambda: self._update(msgspec.json.decode(body)),
            ("GET", f"{prefix}jobs/state/"): self._job_states,
        }.get((method, address.path))
        kind, _, name = address.path.removeprefix(prefix).partition("/")
        if asked is None and (method, kind) == ("GET", "node"):
            return _reply({"nodes": [self.slurm.nodes[name].report()] if name in self.slurm.nodes else []})
        if asked is None and kind == "job":
            return self._job(method, int(name), body)
        return asked() if asked else Reply(404, b"Unable to find requested URL endpoint")

    def _job_states(self) -> Reply:
        return _reply({"jobs": [{"job_id": str(job.number), "state": job.state} for job in self.slurm.jobs]})

    def _job(self, method: str, number: int, body: bytes) -> Reply:
        if number >= len(self.slurm.jobs):
            return _reply({"errors": [{"error_number": 2017, "error": "Invalid job id specified"}]}, status=404)
        if method == "POST" and msgspec.json.decode(body) == {"hold": False}:
            self.slurm.release(number)
        return _reply({"jobs": [self.slurm.jobs[number].report()]} if method == "GET" else {})

    def _nodes(self, since: int) -> Reply:
        self.before()
        if since - 1 >= self.slurm.updated:
            return Reply(304, b"")
        shown = [node.report() for node in self.slurm.nodes.values()]
        told = _reply({"nodes": shown, "last_update": {"set": True, "number": int(clock().timestamp())}})
        self.after()
        return told

    def _update(self, body: Json) -> Reply:
        try:
            self.slurm.change([name for text in body["name"] for name in hostlist.expand(text)], body)
        except KeyError:
            fault = {"error_number": 2018, "error": "Invalid node name specified"}
            return _reply({"errors": [fault]}, status=500)
        return _reply({})


class ModelTransport(Transport):
    """A transport without a network."""

    def __init__(self, url: str, server: SlurmRestd) -> None:
        super().__init__(url)
        self._server = server

    async def send(self, method: str, path: str, headers: dict[str, str], body: bytes = b"") -> Reply:
        """Ask the model."""
        try:
            async with asyncio.timeout(20):
                return await self._server.send(method, path, headers, body)
        except TimeoutError as problem:
            raise SlurmUnreachable(f"slurmrestd at {self.url}: no answer in time") from problem


def _reply(value: Json, status: int = 200) -> Reply:
    return Reply(status, msgspec.json.encode({"errors": [], **value}))
