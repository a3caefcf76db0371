"""What is known of a resource in the namespaces that we look after: one informer for all of them, or one each."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import Generic, TypeVar

from penstock.cluster.index import Indexer
from penstock.cluster.informer import Informer, Listener
from penstock.cluster.port import Cluster, Selection
from penstock.cluster.resources import Lean, Resource

T = TypeVar("T", bound=Lean)

Namespaces = Sequence[str]
"""Those we look after; none means all."""


class View(Generic[T]):
    """Read-only knowledge of one resource."""

    def __init__(
        self,
        cluster: Cluster,
        resource: Resource[T],
        namespaces: Namespaces = (),
        *,
        labels: str = "",
        fields: str = "",
        indexes: Mapping[str, Indexer[T]] | None = None,
    ) -> None:
        self.resource = resource
        places = namespaces if namespaces and resource.namespaced else [None]
        self._informers = {
            place: Informer(
                cluster, resource, Selection(namespace=place, labels=labels, fields=fields), indexes=indexes
            )
            for place in places
        }

    @property
    def informers(self) -> Collection[Informer[T]]:
        """Those who have to be run."""
        return self._informers.values()

    def subscribe(self, listener: Listener[T]) -> None:
        """Tell `listener` of every change."""
        for informer in self._informers.values():
            informer.subscribe(listener)

    def get(self, name: str, namespace: str = "") -> T | None:
        """One object, or None."""
        informer = self._informers.get(namespace) or self._informers.get(None)
        return informer.get(name, namespace) if informer else None

    def all(self) -> Iterator[T]:
        """Every object; to be used up before the next await."""
        return chain.from_iterable([informer.all() for informer in self._informers.values()])

    def by(self, index: str, key: str) -> Iterator[T]:
        """The objects that an index has under a key; likewise."""
        return chain.from_iterable([informer.by(index, key) for informer in self._informers.values()])
