"""Who is still making a container when its engine has died: a conmon that calls runc, a runc in the middle of it.

Nobody waits for them any more, and until they are done nothing can be said of the container: what is removed too early
they make again. They are found by their words, for the engine may have died before it could note anybody's number.
"""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

from penstock.engine import processes
from penstock.engine.processes import Identity

_PATIENCE = 10.0
"""Seconds that runc has to finish what it began; it needs a tenth of one."""
_ONLY_CONMON = "--exit-dir"
"""A word that conmon is called with, and runc is not."""


async def end(bundle: Path) -> None:
    """See to it that nobody makes the container of a bundle any more.

    conmon goes first, so that it calls nobody. A runc is let finish: of one that is killed anything may be left.
    """
    while found := await asyncio.to_thread(_found, bundle):
        for one, words in found.items():
            if _ONLY_CONMON in words:
                processes.send(one, signal.SIGKILL)
        await asyncio.gather(*map(_ended, found))


async def _ended(one: Identity) -> None:
    try:
        async with asyncio.timeout(_PATIENCE):
            await processes.ended(one)
    except TimeoutError:
        processes.send(one, signal.SIGKILL)
        await processes.ended(one)


def _found(bundle: Path) -> dict[Identity, list[str]]:
    everybody = {one: processes.command_line(one) for one in processes.everybody()}
    return {one: words for one, words in everybody.items() if str(bundle) in words}
