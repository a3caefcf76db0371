"""What the API server answers: objects into lean structs, refusals into exceptions."""

from __future__ import annotations

import functools
from typing import Any, TypeVar

import msgspec

from penstock.cluster import errors

V = TypeVar("V")
_WAIT_SECONDS = 1.0
"""Where the server says "later" but not when."""
_LONGEST_QUOTE = 500
"""Of an answer that is no Status, such as the page of a proxy."""


class _Details(msgspec.Struct, rename="camel"):
    retry_after_seconds: float | None = None


class Status(msgspec.Struct):
    """The server's own words about a failure."""

    message: str | None = None
    reason: str | None = None
    code: int | None = None
    details: _Details | None = None


def read(body: bytes | msgspec.Raw, shape: type[V], what: str) -> V:
    """An answer as `shape`. A null counts as not said, as it does in Kubernetes."""
    try:
        value: V = decoder(shape).decode(body)  # type: ignore[arg-type] # classes are hashable, whatever V is
    except msgspec.ValidationError:
        return _read_without_nulls(body, shape, what)
    except msgspec.DecodeError:
        raise errors.Unreachable(f"{what}: the answer is not JSON") from None
    return value


@functools.cache
def decoder(shape: type[Any]) -> msgspec.json.Decoder[Any]:
    """The decoder of a shape, made once."""
    return msgspec.json.Decoder(shape)


def failure(code: int, body: bytes, what: str, *, retry_after: str | None = None) -> errors.ClusterError:
    """The exception for an answer with this HTTP status."""
    try:
        status = decoder(Status).decode(body)
    except msgspec.DecodeError:
        status = Status(message=body[:_LONGEST_QUOTE].decode(errors="replace").strip())
    return described(code, status, what, retry_after=retry_after)


def described(code: int, status: Status, what: str, *, retry_after: str | None = None) -> errors.ClusterError:
    """The exception for a Status, whether it came as an answer or inside a watch."""
    message = f"{what}: {status.message or f'the server answered {code}'}"
    if code == 401:
        return errors.Forbidden(f"{message}; the server does not know us: renew the token or certificate")
    if code == 429:
        return errors.Overloaded(message, retry_after=_seconds(status, retry_after))
    if code == 409 and status.reason == "AlreadyExists":
        return errors.AlreadyExists(message)
    if 300 <= code < 400:
        return errors.Refused(f"{what}: the server redirects elsewhere, and we do not follow; correct its address")
    return _KINDS.get(code, errors.Unreachable if code >= 500 else errors.Refused)(message)


_KINDS: dict[int, type[errors.ClusterError]] = {
    204: errors.NotYet,  # Where an answer was expected: the log of a pod that is on no machine yet (seen on 1.36).
    403: errors.Forbidden,
    404: errors.NotFound,
    409: errors.Conflict,
    410: errors.Expired,
    500: errors.Failing,
}


def _seconds(status: Status, header: str | None) -> float:
    if header is not None and header.strip().isdecimal():
        return float(header)
    said = status.details and status.details.retry_after_seconds
    return float(said) if said else _WAIT_SECONDS


def _read_without_nulls(body: bytes | msgspec.Raw, shape: type[V], what: str) -> V:
    try:
        return msgspec.convert(_without_nulls(msgspec.json.decode(body)), shape)
    except msgspec.ValidationError as error:
        raise errors.Refused(f"{what}: the answer cannot be understood: {error}") from None


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_without_nulls(inner) for inner in value if inner is not None]
    return value
