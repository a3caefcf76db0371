"""Changes of claims that the cluster refused: told in a condition, and not asked for again at every look.

Claims that no watch shows are in here too, by their place instead of a uid: each time they would be read anew.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from penstock.operator.conditions import Cause

_AGAIN_AFTER = 300.0
"""Seconds after which somebody may have mended what was in the way."""


@dataclass(slots=True)
class Refusals:
    """What was refused, by the uid of the claim, or its place, and what was asked."""

    _noted: dict[tuple[str, str], tuple[float, str]] = field(default_factory=dict)

    def note(self, uid: str, asked: str, words: str) -> None:
        """The cluster said no. What it said of others long ago is forgotten: their claims may be gone."""
        now = asyncio.get_running_loop().time()
        self._noted = {key: one for key, one in self._noted.items() if now <= one[0] + _AGAIN_AFTER}
        self._noted[uid, asked] = (now, words)

    def holds(self, uid: str, asked: str) -> bool:
        """Whether it was refused a moment ago."""
        since, _ = self._noted.get((uid, asked), (0.0, ""))
        if (uid, asked) in self._noted and asyncio.get_running_loop().time() >= since + _AGAIN_AFTER:
            del self._noted[uid, asked]
        return (uid, asked) in self._noted

    def words(self, uid: str, asked: str) -> str:
        """What was said to it a moment ago; nothing when it may be asked for."""
        return self._noted[uid, asked][1] if self.holds(uid, asked) else ""

    def trouble(self, wanted: frozenset[tuple[str, str]]) -> Cause | None:
        """What was said to what is still wanted, for people."""
        said = [words for key, (_, words) in self._noted.items() if key in wanted]
        return Cause("ClaimsNotGrown", "; ".join(said)) if said else None

    def again_in(self, wanted: frozenset[tuple[str, str]]) -> float | None:
        """Seconds until some of that may be asked for again: who mends it need not tell us."""
        now = asyncio.get_running_loop().time()
        left = (since + _AGAIN_AFTER - now for key, (since, _) in self._noted.items() if key in wanted)
        return min(left, default=None)
