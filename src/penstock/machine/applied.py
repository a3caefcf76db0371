"""What people were given of manifests: in which namespaces, and under which names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.api.kinds import API_VERSION
from penstock.api.objects import Json
from penstock.machine.manifest import NAMESPACE


@dataclass(frozen=True, slots=True)
class Named:
    """An object of ours, where it is."""

    kind: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Applied:
    """The objects of our kinds, in the order of the manifests."""

    objects: tuple[Named, ...]

    @property
    def namespaces(self) -> list[str]:
        """Where there are some; the usual one when there are none."""
        return list(dict.fromkeys(one.namespace for one in self.objects)) or [NAMESPACE]

    def first(self, kind: str) -> Named | None:
        """The first one of a kind."""
        return next((one for one in self.objects if one.kind == kind), None)


def applied(objects: Sequence[Json]) -> Applied:
    """What is in a list of objects; who names no namespace means the usual one."""
    ours = [(body["kind"], body.get("metadata") or {}) for body in objects if body.get("apiVersion") == API_VERSION]
    return Applied(tuple(Named(kind, said.get("namespace") or NAMESPACE, str(said.get("name"))) for kind, said in ours))
