"""Workers that we made and that the watch has not shown yet.

Without this, a look that comes before the watch would ask for them again. It only saves requests: names are given, so a
worker that exists cannot be made twice, and what is never shown is forgotten in time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.operator.resources import Pod

FORGOTTEN_AFTER = 30.0
"""Seconds after which the watch must have shown it, or it has come and gone unseen."""


class Expected:
    """Names of workers, by namespace."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, str], float] = {}

    @contextmanager
    def making(self, namespace: str, name: str) -> Iterator[None]:
        """Expect a worker before it is asked for, for the watch may be faster than the answer; not if that fails."""
        self._made[namespace, name] = asyncio.get_running_loop().time()
        try:
            yield
        except BaseException:
            self._made.pop((namespace, name), None)
            raise

    def shown(self, old: Pod | None, new: Pod | None) -> None:
        """Listen to the watch: what it has shown once is expected no more."""
        if self._made and (pod := new or old) is not None:
            self._made.pop((pod.metadata.namespace, pod.metadata.name), None)

    def among(self, namespace: str, prefix: str) -> frozenset[str]:
        """Names in a namespace that are still expected: of the workers whose set's name, and a dash, is the prefix."""
        oldest = asyncio.get_running_loop().time() - FORGOTTEN_AFTER
        for key in [key for key, since in self._made.items() if since < oldest]:
            del self._made[key]
        # What comes after the prefix has no dash of its own, or it is a worker of a set with a longer name.
        parts = ((place, *name.rpartition("-")) for place, name in self._made)
        return frozenset(
            f"{prefix}{last}" for place, first, dash, last in parts if (place, first + dash) == (namespace, prefix)
        )
