"""What was found out about an object, while the same object is asked about again and again.

For objects that never change, as those are that watches show and that are decoded from them. Another version is another
object, so nothing old can be taken for new; and whom nobody asks about any more is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")

_KEPT = 1024


def once(find: Callable[[K], V]) -> Callable[[K], V]:
    """A function that finds something out once for each object. What it finds must not be changed either."""
    known: dict[int, tuple[K, V]] = {}

    @wraps(find)
    def found(one: K) -> V:
        # The object is kept, so nobody else has its id.
        if (entry := known.get(id(one))) is None:
            while len(known) >= _KEPT:
                del known[next(iter(known))]
            entry = known[id(one)] = (one, find(one))
        return entry[1]

    return found
