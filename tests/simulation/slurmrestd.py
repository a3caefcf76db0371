"""The way to the model of Slurm: a transport that answers as slurmrestd does, or fails as networks do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from urllib.parse import parse_qs, urlsplit

import msgspec

from penstock.api.objects import Json
from penstock.slurm import hostlist, tokens
from penstock.slurm.rest.errors import SlurmSilent
from penstock.slurm.rest.jobs import NO_SIGNAL
from penstock.slurm.rest.transport import Reply, Transport

from .loop import clock, now
from .slurm import OPERATOR, Slurm
from .slurm_orders import changed, requeued, signalled
from .slurm_windows import reserved

VERSION = "v0.0.45"


@dataclass(frozen=True, slots=True)
class Request:
    """One request and how it ended; status 0 when it did not come back."""

    at: float
    method: str
    path: str
    status: int
    who: str = OPERATOR


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
    transfer: float = 0.0
    """Seconds that an answer about all nodes is on its way, after Slurm has given it."""
    deaf: bool = False
    """Orders come to nothing, while questions are answered."""
    lost_replies: int = 0
    """So many of the next orders take effect, and nobody hears of it."""
    version: str = VERSION
    """The one version of the API that it speaks."""
    untold: frozenset[str] = frozenset()
    """Nodes that it leaves out."""
    before: Callable[[], None] = lambda: None
    after: Callable[[], None] = lambda: None
    """What happens right before and right after the nodes were told."""
    counted: Callable[[AbstractSet[str]], None] = lambda _nodes: None
    """What happens right after it was told who has jobs, of some nodes."""
    requests: list[Request] = field(default_factory=list)
    pending: int = 0
    """Requests that are not answered yet."""
    asking: Request | None = None
    """The request that is being answered."""
    _known: tuple[str, bytes, int] = ("", b"", 0)
    """A token that was found good, the key that it is good for, and until when."""

    def connect(self, url: str, who: str = OPERATOR) -> Transport:
        """The way to it; all addresses lead here."""
        return ModelTransport(url, self, who)

    def asked(self, since: float = 0.0, *, method: str = "") -> list[Request]:
        """The requests there were."""
        return [one for one in self.requests if one.at >= since and method in {"", one.method}]

    def on_its_way(self, request: Request) -> float:
        """Seconds that an answer takes from Slurm to who asked."""
        return self.transfer if request.method == "GET" and "/nodes/" in request.path else 0.0

    async def send(self, method: str, path: str, headers: dict[str, str], body: bytes, who: str) -> Reply:
        """Answer, or break off."""
        self.asking = asking = Request(now(), method, path, 0, who)
        if self.slow:
            await asyncio.sleep(self.slow)
            self.asking = asking
        unheard = self.away or (self.deaf and method != "GET") or not self.up()
        reply = None if unheard else self._answer(method, path, headers, body)
        if reply is not None and method != "GET" and self.lost_replies:
            self.lost_replies, reply = self.lost_replies - 1, None
        self.requests.append(replace(asking, status=reply.status if reply else 0))
        await asyncio.sleep(self.on_its_way(asking))
        if reply is None:
            raise SlurmSilent("slurmrestd: simulated: no answer")
        return reply

    def _is_good(self, token: str) -> bool:
        key, at = self.key(), int(clock().timestamp())
        if self._known[:2] != (token, key) or at >= self._known[2]:
            try:
                claims = tokens.read(token, key, now=at)
            except tokens.TokenError:
                return False
            # It is the same for a while; reading it takes longer than all the rest.
            self._known = (token, key, claims.expires_at)
        return True

    def _answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Reply:
        if not self._is_good(headers["X-SLURM-USER-TOKEN"]):
            return Reply(401, b"Authentication failure")
        address = urlsplit(path)
        prefix = f"/slurm/{self.version}/"
        questions: dict[tuple[str, str], Callable[[], Reply]] = {
            ("GET", f"{prefix}ping/"): lambda: _reply({"pings": []}),
            ("GET", f"{prefix}nodes/"): lambda: self._nodes(int(parse_qs(address.query).get("update_time", ["0"])[0])),
            ("GET", f"{prefix}partitions/"): lambda: _reply(
                {
                    "partitions": [
                        {"name": name, "partition": {"state": [state]}}
                        for name, state in sorted(self.slurm.partitions.items())
                    ]
                }
            ),
            ("POST", f"{prefix}nodes/"): lambda: self._update(msgspec.json.decode(body)),
            ("GET", f"{prefix}jobs/state/"): self._job_states,
            ("DELETE", f"{prefix}jobs/"): lambda: self._signal(msgspec.json.decode(body)),
            ("POST", f"{prefix}jobs/requeue"): lambda: _reply(*requeued(self.slurm, msgspec.json.decode(body))),
        }
        asked = questions.get((method, address.path))
        kind, _, name = address.path.removeprefix(prefix).partition("/")
        if asked is None and (method, kind) == ("GET", "node"):
            told = _reply({"nodes": [self.slurm.nodes[name].report()] if name in self.slurm.nodes else []})
            self.after()
            return told
        if asked is None and kind == "job":
            return self._job(method, int(name), body)
        if kind == "reservation":
            return _reply(*reserved(self.slurm, method, name, msgspec.json.decode(body or b"{}")))
        return asked() if asked else Reply(404, b"Unable to find requested URL endpoint")

    def _signal(self, body: Json) -> Reply:
        told = _reply(signalled(self.slurm, body))
        if body["signal"] == NO_SIGNAL:
            self.counted({name for text in body.get("nodes", ()) for name in hostlist.expand(text)})
        return told

    def _job_states(self) -> Reply:
        return _reply({"jobs": [{"job_id": str(job.number), "state": job.state} for job in self.slurm.remembered]})

    def _job(self, method: str, number: int, body: bytes) -> Reply:
        if number >= len(self.slurm.jobs) or self.slurm.jobs[number] not in self.slurm.remembered:
            return _reply({"errors": [{"error_number": 2017, "error": "Invalid job id specified"}]}, status=404)
        if method == "POST":
            changed(self.slurm, number, msgspec.json.decode(body))
        return _reply({"jobs": [self.slurm.jobs[number].report()]} if method == "GET" else {})

    def _nodes(self, since: int) -> Reply:
        self.before()
        self.slurm.open_windows()
        if since - 1 >= self.slurm.updated:
            return Reply(304, b"")
        shown = [node.report() for node in self.slurm.nodes.values() if node.name not in self.untold]
        told = _reply({"nodes": shown, "last_update": {"set": True, "number": int(clock().timestamp())}})
        self.after()
        return told

    def _update(self, body: Json) -> Reply:
        try:
            self.slurm.change([name for text in body["name"] for name in hostlist.expand(text)], body, who=OPERATOR)
        except KeyError:
            fault = {"error_number": 2018, "error": "Invalid node name specified"}
            return _reply({"errors": [fault]}, status=500)
        return _reply({})


class ModelTransport(Transport):
    """A transport without a network."""

    def __init__(self, url: str, server: SlurmRestd, who: str) -> None:
        super().__init__(url)
        self._server = server
        self._who = who

    async def send(self, method: str, path: str, headers: dict[str, str], body: bytes = b"") -> Reply:
        """Ask the model."""
        self._server.pending += 1
        try:
            async with asyncio.timeout(20):
                return await self._server.send(method, path, headers, body, self._who)
        except TimeoutError as problem:
            raise SlurmSilent(f"slurmrestd at {self.url}: no answer in time") from problem
        finally:
            self._server.pending -= 1


def _reply(value: Json, status: int = 200) -> Reply:
    return Reply(status, msgspec.json.encode({"errors": [], **value}))
