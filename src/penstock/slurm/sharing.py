"""One object for all that are equal: thousands of pods and nodes say the same few things.

For what is frozen and read a thousand times over, such as conditions, states and owners. Those that nobody has said for
a while are forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import TypeVar, cast

_V = TypeVar("_V", bound=Hashable)


@lru_cache(maxsize=8192)
def _first(value: Hashable) -> Hashable:
    return value


def shared(value: _V) -> _V:
    """The first one that was equal to it."""
    return cast(Callable[[_V], _V], _first)(value)
