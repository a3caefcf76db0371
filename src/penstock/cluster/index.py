"""Ways to find objects other than by name: by owner, by machine, by label."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Generic, TypeVar

from penstock.cluster.resources import Lean

T = TypeVar("T", bound=Lean)

Key = tuple[str, str]
"""Namespace and name."""
Indexer = Callable[[T], Iterable[str]]
"""The keys that an object is found under. Total: one that raises stops the informer it belongs to."""


def owners(item: Lean) -> Iterable[str]:
    """Index by the uids of owners."""
    return [owner.uid for owner in item.metadata.owner_references]


class Index(Generic[T]):
    """Objects by the keys an indexer gives them, in the order they came: a simulation must not depend on hashes."""

    def __init__(self, indexer: Indexer[T]) -> None:
        self._keys_of = indexer
        self._shelves: dict[str, dict[Key, T]] = {}

    def under(self, key: str) -> Collection[T]:
        """The objects under a key."""
        return self._shelves.get(key, {}).values()

    def move(self, name: Key, old: T | None, new: T | None) -> None:
        """Take in that an object changed, appeared (`old` is None) or went (`new` is None)."""
        gone = set() if old is None else set(self._keys_of(old))
        if new is not None:
            for key in self._keys_of(new):
                self._shelves.setdefault(key, {})[name] = new
                gone.discard(key)
        for key in gone:
            self._take_from(key, name)

    def _take_from(self, key: str, name: Key) -> None:
        shelf = self._shelves[key]
        del shelf[name]
        if not shelf:
            del self._shelves[key]
