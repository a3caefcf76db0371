"""What the path of a request names: a group, a resource, one object of it, a side door of that. Pure.

```
/api/v1/namespaces/slurm/pods/worker-0/log
/apis/slinky.slurm.net/v1beta1/nodesets
```
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import msgspec

from penstock.cluster.catalogue import BY_PATH, Entry
from penstock.cluster.errors import NotFound, Refused
from penstock.cluster.resources import Lean, Resource

POD_DOORS = frozenset({"log", "exec", "portforward", "eviction"})
_NAMESPACE_DOORS = frozenset({"status", "finalize", "scale"})
"""What follows the name of a namespace and is no resource in it."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group in one of its versions, as in `/apis/apps/v1`."""

    group: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A resource, or one object of it."""

    entry: Entry
    namespace: str | None = None
    """None: all of them, or the resource has none."""
    name: str = ""
    subresource: str = ""

    @property
    def raw(self) -> Resource[Any]:
        """The resource, read into no struct at all: bodies pass as the bytes they are (`msgspec.Raw`)."""
        return self.entry.reading(Lean).reading(msgspec.Raw)


def parse(raw_path: str) -> Group | Target:
    """What a path names; `NotFound` when nothing is served there."""
    pieces = [_decoded(piece) for piece in raw_path.strip("/").split("/")] if raw_path.strip("/") else [""]
    if pieces[0] == "api" and len(pieces) >= 2:
        return _within(Group("", pieces[1]), pieces[2:])
    if pieces[0] == "apis" and len(pieces) >= 3:
        return _within(Group(pieces[1], pieces[2]), pieces[3:])
    raise nothing_there()


def nothing_there() -> NotFound:
    """What an API server says of a path that it does not know."""
    return NotFound("the server could not find the requested resource")


def _decoded(piece: str) -> str:
    text = unquote(piece)
    if text in {"", ".", ".."} or "/" in text or not text.isprintable():
        raise Refused(f"{text!r} cannot be a part of a path")
    return text


def _within(group: Group, rest: Sequence[str]) -> Group | Target:
    if not rest:
        return group
    if rest[0] == "namespaces" and len(rest) >= 3 and rest[2] not in _NAMESPACE_DOORS:
        return _target(group, rest[2:], namespace=rest[1])
    return _target(group, rest, namespace=None)


def _target(group: Group, rest: Sequence[str], *, namespace: str | None) -> Target:
    entry = BY_PATH.get((group.group, group.version, rest[0]))
    if entry is None or len(rest) > 3 or (namespace is not None and not entry.namespaced):
        raise nothing_there()
    name, door = [*rest[1:], "", ""][:2]
    if door and not _has(entry, door):
        raise nothing_there()
    if name and entry.namespaced and namespace is None:
        raise nothing_there()
    return Target(entry=entry, namespace=namespace, name=name, subresource=door)


def _has(entry: Entry, door: str) -> bool:
    side_doors = POD_DOORS if entry.name == "pods" else frozenset[str]()
    return {"status": entry.has_status, "scale": entry.has_scale}.get(door, door in side_doors)
