"""A start that is held back: processes load what they need, and wait for a word before they touch anything.

```
up ──fork──> becomes `supervise` ──> waits for the word          up: is this machine fit, are the images there?
               └──> `serve` ──> loads, waits for the word        up: the word, to both
```

`penstock up` finds out meanwhile whether this machine can run the cluster at all, and then gives the word, with what is
still to be said: the ports. Without it, because something is missing or because `up` was killed, they end as if nobody
had begun them: who waits for a line of its input hears that it ends. `serve` has the most to load, so it begins before
its parent is loaded itself. Imports nothing of ours, for all of this is to begin as soon as can be.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from penstock.engine.layout import Layout

OPTION = "--held"
"""Said to who is to wait."""
FIRST = "--first"
"""Said to a supervisor: the number of the process that it supervises first, its child."""
_WORD = "go"

Alive = Callable[[], bool]
"""Whether somebody still runs."""


@contextmanager
def held_back(layout: Layout) -> Iterator[Callable[[Sequence[str]], Alive]]:
    """Begin a supervisor that outlives us, with its log in the cluster's state, and does nothing before it is told to.

    A call of what this gives tells it, and with which further words. Without that call it ends with the block.
    """
    layout.make()
    inputs, outputs = zip(os.pipe(), os.pipe(), strict=True)
    begun = os.fork()
    if begun == 0:
        _become_supervisor(layout, *inputs)
    for descriptor in inputs:
        os.close(descriptor)
    told = False

    def go(words: Sequence[str]) -> Alive:
        nonlocal told
        told = True
        for descriptor in outputs:
            _say(descriptor, words)
        return lambda: _is_there(begun)

    try:
        yield go
    finally:
        if not told:
            for descriptor in outputs:
                os.close(descriptor)
            os.waitpid(begun, 0)


def awaited() -> list[str] | None:
    """Wait for the word; what else was said, or None when no word comes any more."""
    word, *words = sys.stdin.readline().split() or [""]
    return words if word == _WORD else None


def _say(descriptor: int, words: Sequence[str]) -> None:
    """Give the word; who has died needs none."""
    with suppress(BrokenPipeError), os.fdopen(descriptor, "w") as output:
        output.write(f"{' '.join([_WORD, *words])}\n")


def _become_supervisor(layout: Layout, word: int, word_to_serve: int) -> NoReturn:
    """In a new process: begin who serves, as its parent, and be who supervises."""
    try:
        os.setsid()
        os.chdir("/")
        log = os.open(layout.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        for place in (1, 2):
            os.dup2(log, place)
        os.dup2(word_to_serve, 0)
        serve = os.posix_spawn(sys.executable, _command("serve", layout), os.environ)
        os.dup2(word, 0)
        os.execv(sys.executable, [*_command("supervise", layout), FIRST, str(serve)])  # noqa: S606 - our own command
    except BaseException as problem:
        os.write(2, f"penstock up: {problem}\n".encode())
    finally:
        os._exit(127)


def _is_there(child: int) -> bool:
    try:
        return os.waitpid(child, os.WNOHANG)[0] == 0
    except ChildProcessError:
        return False  # We have heard of its end before.


def _command(name: str, layout: Layout) -> list[str]:
    return [sys.executable, "-m", "penstock", name, "--cluster", layout.cluster, OPTION]
