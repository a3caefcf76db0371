"""HTTP by hand, as far as a played server needs it.

No library: the real slurmrestd sends a second answer behind an error, half answers and answers without a length, and a
library would mend what the tests want broken.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import parse_qs, unquote, urlsplit

_PHRASES = {401: "UNAUTHORIZED", 422: "UNPROCESSABLE CONTENT", 500: "INTERNAL ERROR"}


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str] = field(repr=False)
    """Names in small letters."""
    body: bytes


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """The next request, or None when the other side has hung up."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head[:-4].split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    method, target, _ = first.split(" ")
    address = urlsplit(target)
    query = {name: values[-1] for name, values in parse_qs(address.query).items()}
    return Request(method, unquote(address.path), query, headers, body)


def answer(status: int, body: bytes = b"", content_type: str = "application/json", *, close: bool = False) -> bytes:
    """An answer in full; like the real one, 304 has neither length nor body."""
    phrase = _PHRASES.get(status) or HTTPStatus(status).phrase.upper()
    lines = [f"HTTP/1.1 {status} {phrase}", *(["Connection: Close"] if close else [])]
    if status != 304:
        lines += [f"Content-Length: {len(body)}", f"Content-Type: {content_type}"]
    return "\r\n".join([*lines, "", ""]).encode() + body
