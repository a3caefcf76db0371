"""What the tools share: named steps with their seconds, and one clear message instead of a traceback.

Standard library only: `prepare.py` runs before anything is installed.
"""

from __future__ import annotations  # an old Python gets as far as being told so

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEBIAN = "the Debian package archive"
_TAIL = 25  # lines of a failed command that a person wants to see
# How pip and apt say that nobody answers; both print much more around it.
_UNREACHABLE = (
    "Failed to establish a new connection",
    "Temporary failure in name resolution",
    "Temporary failure resolving",
    "Name or service not known",
    "Could not resolve",
    "Could not connect",
    "Connection refused",
    "Connection reset",
    "timed out",
    "ProxyError",
    "SSLError",
)


class ToolError(Exception):
    """A step that cannot go on; its text is all that the person sees."""


class CommandError(ToolError):
    """A command ended badly; `output` is what it said, for whoever can tell the cause."""

    def __init__(self, command: Sequence[str], code: int, output: str) -> None:
        self.output = output
        tail = "\n".join(f"    {line}" for line in output.splitlines()[-_TAIL:])
        shown = textwrap.shorten(" ".join(command), 100, placeholder=" ...")
        super().__init__(f"`{shown}` ended with {code}. Its last words:\n{tail}")


@contextmanager
def step(label: str) -> Iterator[None]:
    """Print one line for one step: what is done now, then how long it took."""
    print(f"  {label} ... ", end="", flush=True)
    started = time.monotonic()
    try:
        yield
    except BaseException:
        print(f"failed after {time.monotonic() - started:.1f} s", flush=True)
        raise
    print(f"{time.monotonic() - started:.1f} s", flush=True)


def run(command: Sequence[str], *, env: Mapping[str, str] | None = None) -> str:
    """Run a command without stdin and return its output; a failure carries that output."""
    with subprocess.Popen(
        command,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        process_group=0,
    ) as running:
        try:
            output, _ = running.communicate()
        except BaseException:
            # All of its group, for mmdebstrap's and pip's children do not end with their parents.
            os.killpg(running.pid, signal.SIGTERM)
            raise
    if running.returncode:
        raise CommandError(command, running.returncode, output)
    return output


def run_online(command: Sequence[str], *, registry: str, env: Mapping[str, str] | None = None) -> str:
    """Run a command that downloads; when nobody answers, say that instead of showing all its tries."""
    try:
        return run(command, env=env)
    except CommandError as failed:
        lines = [line.strip() for line in failed.output.splitlines()]
        causes = [line for line in lines if any(words in line for words in _UNREACHABLE)]
        if not causes:
            raise
        raise ToolError(
            f"cannot reach {registry}; check network and proxy, then run again.\n    {causes[0]}\n    {lines[-1]}"
        ) from failed


def exit_code(name: str, tool: Callable[[], None]) -> int:
    """Run a tool to its end; a `ToolError` becomes its message and exit code 1, being stopped leaves nothing half."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        tool()
    except ToolError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        return 130
    return 0
