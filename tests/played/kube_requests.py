"""Requests to an API server, read as Kubernetes reads them: verb, resource, name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})
_LEASES = "leases.coordination.k8s.io"
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}


@dataclass(slots=True, kw_only=True)
class Seen:
    """One request that passed, and what became of it."""

    verb: str
    """As RBAC has them: get, list, watch, create, update, patch, delete, deletecollection; for others `raw`."""
    resource: str = ""
    """As RBAC and kubectl have them: pods, nodesets.slinky.slurm.net."""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    status: int = 0
    """Of the answer that was made; 0 while there is none."""
    lost: bool = False
    """The answer, or its end, did not reach the one who asked."""

    @property
    def writes(self) -> bool:
        """Whether it changes something other than a lease, which is renewed for ever."""
        return self.verb in WRITES and self.resource != _LEASES and "dryRun" not in self.query

    @property
    def lists_anew(self) -> bool:
        """Whether it begins a list of a whole collection."""
        return self.verb == "list" and "continue" not in self.query and "metadata.name" not in str(self.query)

    def __str__(self) -> str:
        parts = (self.namespace, self.name, self.subresource)
        place = "/".join(part for part in parts if part)
        return f"{self.verb} {self.resource} {place} -> {self.status or 'nothing'}{' (lost)' if self.lost else ''}"


def read(method: str, path: str, query: Mapping[str, str]) -> Seen:
    """What a request asks for."""
    match path.strip("/").split("/"):
        case ["api", _, *rest] if rest:
            group = ""
        case ["apis", group, _, *rest] if rest:
            pass
        case _:
            return Seen(verb="raw", name=path, query=query)
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in {"status", "finalize"}:
        _, namespace, *rest = rest
    plural, name, subresource, *_ = [*rest, "", ""]
    return Seen(
        verb=_verb(method, named=bool(name), watches=query.get("watch") in {"1", "true"}),
        resource=f"{plural}.{group}" if group else plural,
        namespace=namespace,
        name=name,
        subresource=subresource,
        query=query,
    )


def _verb(method: str, *, named: bool, watches: bool) -> str:
    if method == "GET":
        return "watch" if watches else "get" if named else "list"
    if method == "DELETE":
        return "delete" if named else "deletecollection"
    return _VERBS.get(method, "raw")
