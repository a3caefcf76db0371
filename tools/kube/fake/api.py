"""The few calls that a kubelet makes, over one pool of connections.

Not the product's client on purpose: a test must not trust the code that it tests.
"""

from __future__ import annotations

import asyncio
import base64
import ssl
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import yaml

from steps import ToolError

Json = dict[str, Any]

PATIENCE = 60.0  # seconds without an API server after which it is not coming back
TRANSIENT = (aiohttp.ClientError, OSError, TimeoutError)
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
# Answers to writes are not looked at, so the server may leave out all but the metadata.
_BRIEFLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"


class Refused(ToolError):
    """The API server understood and said no."""


class Api:
    """An API server, seen through a kubeconfig with a client certificate."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def write(
        self, method: str, path: str, body: Json, content: str = "application/json", *, fine: Collection[int] = ()
    ) -> None:
        """Send a change, again if need be, until it is done or refused; some refusals mean that it is done."""
        away, data = Absence(), msgspec.json.encode(body)
        headers = {"Content-Type": content, "Accept": _BRIEFLY}
        while True:
            try:
                async with self._session.request(method, path, data=data, headers=headers) as answer:
                    if answer.status not in fine:
                        await _check(answer)
                    await answer.read()  # else the connection is thrown away
                    return
            except TRANSIENT:
                await away.pause()

    async def watch(self, path: str, **parameters: str) -> AsyncGenerator[bytes, None]:
        """Yield what there is, and then what happens to it, one event of JSON at a time."""
        beginning = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
        query = {"watch": "1", **beginning, **parameters}
        forever = aiohttp.ClientTimeout(total=None, sock_connect=5)
        async with self._session.get(path, params=query, timeout=forever) as answer:
            await _check(answer)
            rest = b""
            async for chunk in answer.content.iter_any():  # readline() would refuse a large object
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    yield line


class Absence:
    """How long nobody has answered."""

    def __init__(self) -> None:
        self._since: float | None = None

    def over(self) -> None:
        """Note that somebody answers."""
        self._since = None

    async def pause(self) -> None:
        """Wait before the next try, unless there is no more hope."""
        self._since = self._since or time.monotonic()
        if time.monotonic() - self._since > PATIENCE:
            raise ToolError(f"the API server has not answered for {PATIENCE:.0f} s; giving up")
        await asyncio.sleep(0.5)


async def _check(answer: aiohttp.ClientResponse) -> None:
    if 400 <= answer.status < 500 and answer.status != 429:
        raise Refused(f"{answer.method} {answer.url.path}: {answer.status} {(await answer.text())[:300]}")
    answer.raise_for_status()


@asynccontextmanager
async def connect(kubeconfig: Path, connections: int) -> AsyncIterator[Api]:
    """Open a pool of connections to the cluster of a kubeconfig."""
    server, context = _access(kubeconfig)
    connector = aiohttp.TCPConnector(ssl=context, limit=connections)
    timeout = aiohttp.ClientTimeout(total=30)
    async with aiohttp.ClientSession(server, connector=connector, timeout=timeout) as session:
        yield Api(session)


def _access(kubeconfig: Path) -> tuple[str, ssl.SSLContext]:
    config = yaml.safe_load(kubeconfig.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
    with tempfile.NamedTemporaryFile(suffix=".pem") as pair:  # ssl reads keys from files only
        pair.write(base64.b64decode(user["client-certificate-data"]) + base64.b64decode(user["client-key-data"]))
        pair.flush()
        context.load_cert_chain(pair.name)
    return cluster["server"], context
