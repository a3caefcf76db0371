"""A start that is held back: processes load what they need, and wait for a word before they touch anything.

`penstock up` finds out meanwhile whether this machine can run the cluster at all, and then gives the word, with what is
still to be said: the ports. Without it, because something is missing or because `up` was killed, they end as if nobody
had begun them: who waits for a line of its input hears that it ends.

Imports nothing of ours, for the next process is to begin as soon as can be.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from penstock.engine.layout import Layout

OPTION = "--held"
"""Said to who is to wait."""
_WORD = "go"

Alive = Callable[[], bool]
"""Whether somebody still runs."""


@contextmanager
def held_back(layout: Layout) -> Iterator[Callable[[Sequence[str]], Alive]]:
    """Begin a supervisor that outlives us, with its log in the cluster's state, and does nothing before it is told to.

    A call of what this gives tells it, and with which further words. Without that call it ends with the block.
    """
    layout.make()
    with layout.log.open("ab") as log:
        begun = begin(["supervise", "--cluster", layout.cluster], log=log, apart=True)

    def go(words: Sequence[str]) -> Alive:
        give_word(begun, words)
        return lambda: begun.poll() is None

    try:
        yield go
    finally:
        if begun.stdin and not begun.stdin.closed:
            dismiss(begun)


def begin(words: Sequence[str], *, log: BinaryIO | None = None, apart: bool = False) -> subprocess.Popen[bytes]:
    """Begin a command of ours that waits for the word; `apart`, so that it outlives us."""
    return subprocess.Popen(  # noqa: S603 - our own command, no shell
        [sys.executable, "-m", "penstock", *words, OPTION],
        stdin=subprocess.PIPE, stdout=log, stderr=log, cwd="/" if apart else None, start_new_session=apart,
    )  # fmt: skip


def give_word(waiting: subprocess.Popen[bytes], words: Sequence[str]) -> None:
    """Let it go on; one that has died needs no word."""
    if waiting.stdin is not None:
        with suppress(BrokenPipeError), waiting.stdin:
            waiting.stdin.write(f"{' '.join([_WORD, *words])}\n".encode())


def dismiss(waiting: subprocess.Popen[bytes]) -> None:
    """Tell it that no word will come, and see it end."""
    if waiting.stdin is not None:
        waiting.stdin.close()
    waiting.wait()


def awaited() -> list[str] | None:
    """Wait for the word; what else was said, or None when no word comes any more."""
    word, *words = sys.stdin.readline().split() or [""]
    return words if word == _WORD else None
