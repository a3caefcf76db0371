"""Start a container's monitor, and hear from it whether the container could be made.

conmon holds the container's output and waits for its end, so that both outlive us: it leaves our family tree while it
starts. Over a pipe it says the number of the container's first process, or the words with which runc refused.
"""

from __future__ import annotations

import asyncio
import os
import re
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Sequence
from pathlib import Path

import msgspec

from penstock.engine.record import Bundle

_ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}
_MESSAGE = re.compile(r'level=(?P<level>\w+) msg=(?P<text>"(?:[^"\\]|\\.)*"|\S+)')
_PREFIXES = re.compile(
    r"^((runc (create|start) failed|unable to start container process|exec failed|error during container init): )+"
)
_LONGEST_ANSWER = 1 << 20  # bytes; conmon itself cuts runc's words at 8 KiB


class CannotStart(Exception):
    """A container could not be made or started; the message has runc's own words."""


class _Answer(msgspec.Struct):
    """What conmon says over the pipe."""

    data: int
    message: str = ""


def readable(said: str) -> str:
    """The errors in runc's log lines, without their wrapping; anything else as it is."""
    found = [(one["level"], _unquoted(one["text"])) for one in _MESSAGE.finditer(said)]
    worst = [text for level, text in found if level in ("error", "fatal")] or [text for _, text in found]
    words = "; ".join(_PREFIXES.sub("", text) for text in worst) or said
    return words.strip() or "no reason given"


async def launch(command: Sequence[str]) -> None:
    """Start conmon and wait until runc has made the container."""
    incoming, outgoing = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            # With runc as a child of conmon, neither sees our terminal, our directory, or our variables.
            env=_ENVIRONMENT | {"_OCI_SYNCPIPE": str(outgoing)},
            cwd="/",
            pass_fds=[outgoing],
            stdin=DEVNULL,
            stdout=DEVNULL,
            stderr=PIPE,
            start_new_session=True,
        )
    except OSError as problem:
        os.close(incoming)
        raise CannotStart(f"{command[0]}: {problem.strerror}; install it (apt-get install conmon runc)") from problem
    finally:
        os.close(outgoing)
    said, (_, complaint) = await asyncio.gather(_line(incoming), process.communicate())
    _judge(said, complaint.decode(errors="replace"), process.returncode)


def command(
    bundle: Bundle, *, conmon: str, runc: str, root: Path, log: Path, log_limit: int, terminal: bool, stdin: bool
) -> list[str]:
    """The words to start it with."""
    if ":" in str(log):
        raise CannotStart(f"log {log}: conmon takes a colon for the end of a path; use a directory without one")
    name = bundle.container_id
    return [
        conmon,
        *("--api-version", "1", "--cid", name, "--cuuid", name, "--name", name),
        *("--runtime", runc, "--runtime-arg", "--root", "--runtime-arg", str(root)),
        *("--bundle", str(bundle.path), "--exit-dir", str(bundle.exits), "--full-attach"),
        *("--container-pidfile", str(bundle.init_pid), "--conmon-pidfile", str(bundle.conmon_pid)),
        # Without a sync at the end: waiting for the disk would only delay the news that the container has ended.
        *("--log-path", f"k8s-file:{log}", "--log-size-max", str(log_limit), "--no-sync-log"),
        *(["--terminal"] if terminal else []),
        *(["--stdin", "--leave-stdin-open"] if stdin else []),
    ]


def _judge(said: bytes, complaint: str, code: int | None) -> None:
    try:
        answer = msgspec.json.decode(said, type=_Answer)
    except msgspec.DecodeError:
        raise CannotStart(f"conmon ended with code {code} and said: {readable(complaint)}") from None
    if answer.data < 0:
        raise CannotStart(readable(answer.message))


async def _line(descriptor: int) -> bytes:
    """One line from a pipe, which is closed afterwards; empty when the other end said nothing."""
    reader = asyncio.StreamReader(limit=_LONGEST_ANSWER)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", 0)
    )
    try:
        return await reader.readline()
    finally:
        transport.close()


def _unquoted(text: str) -> str:
    """Go's quoting, as far as JSON's is the same; otherwise the text as it stands."""
    if not text.startswith('"'):
        return text
    try:
        return msgspec.json.decode(text, type=str)
    except msgspec.DecodeError:
        return text[1:-1]
