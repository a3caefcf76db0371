"""How long to wait before the next try: longer each time, up to a bound, and never in step with the others."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

_MANY_DOUBLINGS = 60
"""Beyond any bound; keeps a count that grows for weeks from overflowing a float."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """Waits that double, each shortened by chance to between a half and the whole of it."""

    first: float = 0.2
    """Seconds before the second try."""
    longest: float = 30.0
    """Seconds; no wait is longer."""
    chance: Callable[[], float] = random.random
    """A number between 0 and 1; simulations bring their own, from a seed."""

    def delay(self, failures: int) -> float:
        """Seconds to wait after so many failures in a row."""
        if failures <= 0:
            return 0.0
        whole = min(self.longest, self.first * 2.0 ** min(failures - 1, _MANY_DOUBLINGS))
        return whole * (1 + self.chance()) / 2
