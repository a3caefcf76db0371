"""One object for all that are equal: thousands of pods and nodes say the same few things.

For what is frozen and read a thousand times over, such as conditions, states and owners. Those that nobody has said for
a while are forgotten.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

_V = TypeVar("_V")

if TYPE_CHECKING:

    def shared(value: _V) -> _V:
        """The first one that was equal to it."""

else:

    @lru_cache(maxsize=8192)
    def shared(value: _V) -> _V:
        """The first one that was equal to it."""
        return value
