"""Requests over the wire: a bounded number at once, each with an end, repeated only where that is safe.

Safe means: the question changes nothing, or the server said that it did not begin (429), or we never reached it.
After anything else a write may or may not have happened, and only the caller, who can look, may decide what is next.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self
from urllib.parse import urlencode

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from yarl import URL

from penstock.cluster import permit
from penstock.cluster.backoff import Backoff
from penstock.cluster.errors import ClusterError, Overloaded, Unreachable
from penstock.cluster.kube import answers, upgrade
from penstock.cluster.kube.connection import Connection
from penstock.cluster.kube.identity import Identity
from penstock.cluster.kube.links import Links


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much we ask of the server, and how long we wait for it. Times are in seconds."""

    requests_at_once: int = 64
    """Watches do not count."""
    connect: float = 10.0
    answer: float = 30.0
    """A whole request; the server is told, and gives up when we do."""
    patience: float = 5.0
    """Between the first failure of a request and its last try."""
    watch: float = 60.0
    """After at most this the server ends a watch, by our own wish. It guarantees no other sign of life: a resource at
    rest gets no bookmarks (seen on 1.36)."""
    grace: float = 10.0
    """A watch that has not ended so long after that hangs on a dead link."""
    backoff: Backoff = field(default_factory=lambda: Backoff(first=0.1, longest=5.0))


Peek = Callable[[bytes], None]
"""Shown the first bytes of a good answer as soon as they are here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request."""

    method: str
    path: str
    what: str
    """What errors call it: `get pods slurm/worker-0`."""
    query: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    """A field with several values is asked several times."""
    body: bytes | None = field(default=None, repr=False)
    content_type: str = "application/json"
    patient: bool = True
    """Whether 429 means "wait and try again"; to an eviction it means "no"."""
    peek: Peek | None = None


class _NeverSent(Unreachable):
    """The server was not reached at all: even a write may be tried again."""


class _Untrusted(Unreachable):
    """It is not the server we were told of: asking again will not make it so."""


class Transport:
    """One session with an API server. Use as an async context manager."""

    def __init__(self, connection: Connection, limits: Limits) -> None:
        self._connection = connection
        self._limits = limits
        self._slots = asyncio.Semaphore(limits.requests_at_once)
        self._links = Links()
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=_connector(self._connection, self._links),
            # Packing costs the server more time than it saves on the way to somebody in the same cluster.
            headers={"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "penstock"},
            cookie_jar=aiohttp.DummyCookieJar(),
            middlewares=(_never_twice, upgrade.or_told),
            read_bufsize=2**18,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()
            await self._links.end()

    async def send(self, call: Call) -> bytes:
        """The body of a good answer; else an exception."""
        clock = asyncio.get_running_loop().time
        failures, give_up_at = 0, 0.0
        while True:
            try:
                async with self._slots:
                    return await self._exchange(call)
            except Unreachable as error:
                failures += 1
                give_up_at = give_up_at or clock() + self._limits.patience
                wait = self._wait(error, failures)
                if not _repeatable(call, error) or clock() + wait > give_up_at:
                    raise
            await asyncio.sleep(wait)

    @asynccontextmanager
    async def stream(self, call: Call, *, seconds: float | None = None) -> AsyncIterator[AsyncIterator[bytes]]:
        """The body of a good answer, block by block; the server is expected to end it after `seconds`.

        Without them it may be silent for ever, even before it begins: kubelet answers with the first line of a log.
        Then only TCP itself (`links`) tells a link that is quiet from one that is dead.
        """
        total = None if seconds is None else seconds + self._limits.grace
        bounds = aiohttp.ClientTimeout(total=total, sock_connect=self._limits.connect)
        with _translated(call, "the link is dead" if seconds is None else _overdue(seconds)):
            async with await self._open(call, bounds) as response:
                if response.status != 200:
                    async with asyncio.timeout(self._limits.answer):
                        raise await _failure(response, call)
                try:
                    yield response.content.iter_any()
                finally:
                    _hang_up(response)

    async def upgrade(self, call: Call, protocols: Sequence[str]) -> aiohttp.ClientWebSocketResponse:
        """A WebSocket in one of the protocols, the first of them that the server knows."""
        identity = await self._connection.credentials.identity()
        with _translated(call, f"no answer within {self._limits.answer:g} s"):
            try:
                async with asyncio.timeout(self._limits.answer):
                    return await self._opened().ws_connect(
                        self._url(call),
                        protocols=protocols,
                        headers=identity.headers,
                        ssl=identity.tls,
                        server_hostname=self._connection.server_name,
                        max_msg_size=0,
                    )
            except upgrade.NotUpgraded as error:
                raise answers.failure(error.code, error.body, call.what) from None

    async def _exchange(self, call: Call) -> bytes:
        bounds = aiohttp.ClientTimeout(total=self._limits.answer, sock_connect=self._limits.connect)
        with _translated(call, f"no answer within {self._limits.answer:g} s"):
            async with await self._open(call, bounds) as response:
                if not 200 <= response.status < 300:
                    raise await _failure(response, call)
                if call.peek:
                    # Bytes are taken from the stream only by reading them: what was shown is put before the rest.
                    call.peek(beginning := await response.content.readany())
                    return beginning + await response.content.read()
                return await response.read()

    async def _open(self, call: Call, bounds: aiohttp.ClientTimeout) -> aiohttp.ClientResponse:
        credentials = self._connection.credentials
        identity = await credentials.identity()
        response = await self._request(call, identity, bounds)
        if response.status != 401:
            return response
        await response.read()
        credentials.reject(identity)
        renewed = await credentials.identity()
        if renewed is identity:
            return response
        return await self._request(call, renewed, bounds)

    async def _request(self, call: Call, identity: Identity, bounds: aiohttp.ClientTimeout) -> aiohttp.ClientResponse:
        headers = dict(identity.headers)
        if call.body is not None:
            headers["Content-Type"] = call.content_type
        return await self._opened().request(
            call.method,
            self._url(call),
            data=None if call.body is None else _Permitted(call.body),
            headers=headers,
            timeout=bounds,
            ssl=identity.tls,
            server_hostname=self._connection.server_name,
            allow_redirects=False,
        )

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise RuntimeError("use the cluster inside `async with`")
        return self._session

    def _url(self, call: Call) -> URL:
        query = f"?{urlencode(call.query, doseq=True)}" if call.query else ""
        return URL(f"{self._connection.server}{call.path}{query}", encoded=True)

    def _wait(self, error: Unreachable, failures: int) -> float:
        asked = error.retry_after if isinstance(error, Overloaded) else 0.0
        return asked + self._limits.backoff.delay(failures)


def _connector(connection: Connection, links: Links) -> aiohttp.BaseConnector:
    """How we reach the server. The bound is ours (slots): aiohttp's would count watches, which never give back."""
    if connection.socket is not None:
        return aiohttp.UnixConnector(str(connection.socket), limit=0)
    return aiohttp.TCPConnector(limit=0, socket_factory=links.make)


def _hang_up(response: aiohttp.ClientResponse) -> None:
    """Leave a stream that has not ended at once: TLS would wait for a farewell, which nobody here waits for."""
    if response.connection is not None and response.connection.transport is not None:
        response.connection.transport.abort()


def _overdue(seconds: float) -> str:
    return f"it should have ended after {seconds:g} s; the link is dead"


class _Permitted(aiohttp.BytesPayload):
    """The body of a write. Headers leave together with it, so this is the last moment to keep both."""

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        permit.ask()
        await super().write_with_length(writer, content_length)


async def _never_twice(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Keep aiohttp from sending a DELETE again by itself: by then the name may be somebody else's."""
    try:
        return await handler(request)
    except (aiohttp.ClientConnectorError, aiohttp.ServerTimeoutError):
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise aiohttp.ClientPayloadError(str(error) or type(error).__name__) from None


def _repeatable(call: Call, error: Unreachable) -> bool:
    if isinstance(error, Overloaded):
        return call.patient
    if isinstance(error, _Untrusted):
        return False
    return call.method == "GET" or isinstance(error, _NeverSent)


async def _failure(response: aiohttp.ClientResponse, call: Call) -> Exception:
    body = await response.read()
    return answers.failure(response.status, body, call.what, retry_after=response.headers.get("Retry-After"))


@contextmanager
def _translated(call: Call, when_late: str) -> Iterator[None]:
    """Turn what aiohttp says into what the port says. From None: aiohttp's errors hold the request with its token."""
    try:
        yield
    except aiohttp.ClientConnectorCertificateError as error:
        raise _Untrusted(f"{call.what}: {error}") from None
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
        raise _NeverSent(f"{call.what}: {error}") from None
    except TimeoutError:
        raise Unreachable(f"{call.what}: {when_late}") from None
    except (aiohttp.ClientError, OSError) as error:
        if isinstance(error.__cause__, ClusterError):
            # A permit was refused, deep inside aiohttp.
            raise error.__cause__ from None
        raise Unreachable(f"{call.what}: the connection broke off ({str(error) or type(error).__name__})") from None
