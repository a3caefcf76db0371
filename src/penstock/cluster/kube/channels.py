"""Several streams in one WebSocket, as Kubernetes does it: the first byte of a message names its stream. Pure.

`v5.channel.k8s.io` is v4 with a way to say that an input is over. Both ends speak through here: the client in `streams`
and the API of one machine.
"""

from __future__ import annotations

import struct
from typing import Any

import msgspec

from penstock.api.objects import Json
from penstock.cluster.streams import Size

V5, V4 = "v5.channel.k8s.io", "v4.channel.k8s.io"
STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
"""Streams of a command; the last one closes the stream that it names (v5)."""
DATA, TROUBLE = 0, 1
"""Streams of a forwarded port, when there is one port; each begins with the port's number."""


def message(stream: int, data: bytes = b"") -> bytes:
    """A message of a stream."""
    return bytes((stream,)) + data


def resized(size: Size) -> bytes:
    """The message that tells how large the terminal is."""
    return message(RESIZE, msgspec.json.encode({"Width": size.columns, "Height": size.rows}))


class _Terminal(msgspec.Struct, rename="pascal"):
    width: int
    height: int


def size_of(data: bytes) -> Size | None:
    """The size that a message tells; None when it tells none."""
    try:
        told = msgspec.json.decode(data, type=_Terminal)
    except msgspec.DecodeError:
        return None
    fits = 0 < told.width < 2**16 and 0 < told.height < 2**16
    return Size(told.width, told.height) if fits else None


def port_number(port: int) -> bytes:
    """A port, as both streams of it begin."""
    return struct.pack("<H", port)


def outcome(code: int) -> bytes:
    """How a command ended, as a Status."""
    if code == 0:
        return msgspec.json.encode({"metadata": {}, "status": "Success"})
    causes = [{"reason": "ExitCode", "message": str(code)}]
    return _failure("NonZeroExitCode", f"command terminated with non-zero exit code: exit status {code}", causes)


def trouble(words: str) -> bytes:
    """That a command did not come to its end, as a Status."""
    return _failure("InternalError", words, [])


def _failure(reason: str, words: str, causes: list[Json]) -> bytes:
    details = {"details": {"causes": causes}} if causes else {}
    status = {"metadata": {}, "status": "Failure", "message": words, "reason": reason, **details}
    return msgspec.json.encode(status)


class _Cause(msgspec.Struct):
    reason: str | None = None
    message: str | None = None


class _Details(msgspec.Struct):
    causes: list[_Cause] | None = None


class _Outcome(msgspec.Struct):
    status: str | None = None
    message: str | None = None
    reason: str | None = None
    details: _Details | None = None


def exit_code(data: bytes) -> int | str:
    """How a command ended: its exit code, or in words why it has none."""
    try:
        told: Any = msgspec.json.decode(data, type=_Outcome)
    except msgspec.DecodeError:
        return data.decode(errors="replace")
    if told.status == "Success":
        return 0
    for cause in (told.details and told.details.causes) or ():
        if cause.reason == "ExitCode" and (cause.message or "").isdecimal():
            return int(cause.message or "")
    return told.message or told.reason or "it failed, and the server does not say why"
