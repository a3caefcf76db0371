"""Trouble that lasts, told so that a log of it stays readable: each kind of error once, then the end of it all."""

from __future__ import annotations

import asyncio
import logging


class Outage:
    """What goes wrong again and again with one thing, and when that began."""

    def __init__(self, log: logging.Logger, what: str) -> None:
        self._log = log
        self._what = what
        self._told: set[type[Exception]] = set()
        self._began: float | None = None
        self._last = 0.0

    def tell(self, error: Exception, *, level: int = logging.WARNING) -> None:
        """Say that something went wrong: loudly the first time, for who debugs when it is the same again."""
        loud = type(error) not in self._told
        self._told.add(type(error))
        self._log.log(level if loud else logging.DEBUG, "%s: %s; trying again", self._what, str(error) or "no answer")
        self._last = asyncio.get_running_loop().time()
        if level >= logging.WARNING and self._began is None:
            self._began = self._last

    def calm(self, *, after: float = 0.0) -> None:
        """Say that all is well, if it was not and for so many seconds nothing went wrong.

        What comes and goes is one outage to whoever asks for some time to pass.
        """
        if not self._told or asyncio.get_running_loop().time() - self._last < after:
            return
        self._told.clear()
        if self._began is not None:
            self._log.info("%s: in order again; the trouble lasted %.0f s", self._what, self._last - self._began)
            self._began = None
