"""Leave to write, asked for at the last moment.

Between the decision to write and the bytes on the wire lie queues, connections and new tries, and the process may be
stopped in any of them. So whoever fences writes requires a permit around them, and an adapter asks for it when nothing
is left to wait for. Task-local: it passes through any wrapper in between, and binds nobody else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_CHECK: ContextVar[Callable[[], None]] = ContextVar("permit to write", default=lambda: None)


@contextmanager
def required(check: Callable[[], None]) -> Iterator[None]:
    """Have `check` called before each write inside; it raises to forbid it."""
    token = _CHECK.set(check)
    try:
        yield
    finally:
        _CHECK.reset(token)


def ask() -> None:
    """Adapters: call this right before a write takes effect or leaves, and let it raise."""
    _CHECK.get()()
