"""`ip`, run with many commands at once: one process instead of one per command, and its words when it refuses."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from contextlib import suppress

_FAILED = re.compile(r"^Command failed -:(\d+)$", re.MULTILINE)
_HARMLESS = re.compile(r"^Command failed|Cannot find device|No such (file|device)|does not exist")


class IpFailed(Exception):
    """`ip` refused, in its own words."""


class Ip:
    """The command `ip`. A cancelled or late run is ended before anybody hears of it, so nothing happens afterwards."""

    def __init__(self, program: str = "ip", *, timeout: float = 30.0, at_once: int = 8) -> None:
        self._program = program
        self._timeout = timeout
        # The kernel changes links one after the other; more processes than this only wait for each other.
        self._turns = asyncio.Semaphore(at_once)

    async def batch(self, commands: Sequence[str], *, inside: str = "") -> None:
        """Run commands in order, inside a namespace or on the machine, up to the first that fails.

        Commands are made of checked words only: `ip` splits them at spaces.
        """
        where = ["-n", inside] if inside else []
        code, _, errors = await self._finished([*where, "-batch", "-"], _lines(commands))
        if code:
            raise IpFailed(_explained(errors, commands))

    async def remove(self, commands: Sequence[str], *, inside: str = "") -> None:
        """Run commands that take something away, all of them; what is not there need not be taken away."""
        where = ["-n", inside] if inside else []
        code, _, errors = await self._finished([*where, "-force", "-batch", "-"], _lines(commands))
        serious = [line for line in errors.splitlines() if not _HARMLESS.search(line)]
        if code and serious:
            raise IpFailed("; ".join(serious))

    async def run(self, *words: str, given: str = "") -> str:
        """Run one command, `given` what it reads, and return what it prints."""
        code, output, errors = await self._finished(list(words), given.encode())
        if code:
            raise IpFailed(f"`ip {' '.join(words)}`: {errors.strip() or f'exit code {code}'}")
        return output

    async def _finished(self, words: Sequence[str], given: bytes) -> tuple[int, str, str]:
        async with self._turns:
            try:
                process = await asyncio.create_subprocess_exec(
                    self._program,
                    *words,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                )
            except FileNotFoundError:
                raise IpFailed(f"there is no `{self._program}`; install the package iproute2") from None
            try:
                async with asyncio.timeout(self._timeout):
                    output, errors = await process.communicate(given)
            except TimeoutError:
                raise IpFailed(f"`ip {' '.join(words)}` did not end within {self._timeout:.0f} s") from None
            finally:
                if process.returncode is None:
                    # It goes as soon as the kernel is done with the change at hand.
                    with suppress(ProcessLookupError):
                        process.kill()
                    await asyncio.shield(process.wait())
        return process.returncode or 0, output.decode(errors="replace"), errors.decode(errors="replace")


def _lines(commands: Sequence[str]) -> bytes:
    return "".join(f"{command}\n" for command in commands).encode()


def _explained(errors: str, commands: Sequence[str]) -> str:
    """What `ip` says, with the command it means instead of a number."""
    words = " ".join(_FAILED.sub("", errors).split())
    failed = _FAILED.search(errors)
    if failed is None or not 1 <= int(failed[1]) <= len(commands):
        return words or "ip failed without a word"
    return f"`ip {commands[int(failed[1]) - 1]}`: {words}"
