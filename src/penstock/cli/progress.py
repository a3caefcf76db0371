"""One line that says what is being done; on a terminal it changes, elsewhere each step is a line of its own."""

from __future__ import annotations

import sys
import time

_BAR = 20


class Progress:
    """Tells on stderr how far something is."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._began = time.monotonic()
        self._last = ""
        self._live = sys.stderr.isatty()

    def step(self, what: str, *, done: int = 0, total: int = 0) -> None:
        """Begin a step; with a total it has a bar."""
        if what == self._last:
            return
        self._last = what
        bar = f" [{'#' * (_BAR * done // total):<{_BAR}}]" if total else ""
        line = f"{self._title}: {time.monotonic() - self._began:5.1f} s{bar}  {what}"
        sys.stderr.write(f"\r\x1b[2K{line[:200]}" if self._live else f"{line}\n")
        sys.stderr.flush()

    def end(self, what: str = "") -> None:
        """Say how it ended."""
        if self._live:
            sys.stderr.write("\r\x1b[2K")
        if what:
            sys.stderr.write(f"{self._title}: {what}\n")
        sys.stderr.flush()
