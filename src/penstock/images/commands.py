"""Run the programs that builds are made of: no shell, no terminal, and one clear message when one fails."""

from __future__ import annotations

import os
import signal
import subprocess
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from penstock.images.errors import ArchiveUnreachable, BuildFailed

# Who is killed cannot stop its children: an apt-get that went on alone would keep its locks, a tar would go on writing.
# One whose parent was killed before it could ask for that has another parent by now, and does not begin.
_WITH_US = ("setpriv", "--pdeathsig", "KILL", "sh", "-c", 'test "$PPID" = "$0" && exec "$@"')
_TAIL = 25  # lines of a failed command that a person wants to see
# How apt says that nobody answers; it prints much more around it.
_UNREACHABLE = (
    "Temporary failure resolving",
    "Could not resolve",
    "Could not connect",
    "Unable to connect",
    "Connection refused",
    "Connection timed out",
    "Connection failed",
    "Network is unreachable",
)


def run(command: Sequence[str], *, env: Mapping[str, str] | None = None, stdin: Path = Path(os.devnull)) -> str:
    """Run a command and return its output; a failure carries the end of that output."""
    full = {**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive", **(env or {})}
    with (
        stdin.open("rb") as file,
        subprocess.Popen(  # noqa: S603 - a list of words, never a line for a shell
            [*_WITH_US, str(os.getpid()), *command],
            env=full,
            stdin=file,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            process_group=0,
        ) as running,
    ):
        try:
            output, _ = running.communicate()
        except BaseException:
            # All of its group, for apt's methods and dpkg-deb's children do not end with their parents.
            os.killpg(running.pid, signal.SIGTERM)
            raise
    if running.returncode:
        raise _failure(command, running.returncode, output)
    return output


def _failure(command: Sequence[str], code: int, output: str) -> BuildFailed | ArchiveUnreachable:
    lines = [line.strip() for line in output.splitlines()]
    causes = [line for line in lines if any(words in line for words in _UNREACHABLE)]
    if causes:
        return ArchiveUnreachable(
            f"cannot reach the Debian package archive; check network and proxy, then run again.\n    {causes[0]}"
        )
    tail = "\n".join(f"    {line}" for line in lines[-_TAIL:])
    shown = textwrap.shorten(" ".join(command), 100, placeholder=" ...")
    return BuildFailed(f"`{shown}` ended with {code}. Its last words:\n{tail}")
