"""Logs of containers. The store keeps none: whoever runs the containers has them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Protocol

import msgspec

from penstock.cluster.errors import NotFound, NotYet
from penstock.cluster.store.records import Record


class LogSource(Protocol):
    """Who runs a store's containers, and has their logs."""

    def logs(self, name: str, *, namespace: str, container: str, tail: int = 0) -> AsyncGenerator[str, None]:
        """As the port has it (`penstock.cluster.port.Cluster.logs`); pod and container are there."""
        ...


class _Container(msgspec.Struct, frozen=True):
    name: str = ""


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    containers: list[_Container] = []
    init_containers: list[_Container] = []
    ephemeral_containers: list[_Container] = []
    node_name: str = ""

    def has(self, name: str) -> bool:
        """Whether there is such a container."""
        every = (*self.containers, *self.init_containers, *self.ephemeral_containers)
        return any(one.name == name for one in every)


class _Pod(msgspec.Struct, frozen=True):
    spec: _Spec = _Spec()


def source_of(pod: Record, container: str, sources: LogSource | None) -> LogSource:
    """Who has the log of a container; `NotFound` or `NotYet` when nobody has."""
    spec = msgspec.json.decode(pod.body, type=_Pod).spec
    if not spec.has(container):
        raise NotFound(f"container {container} is not valid for pod {pod.key.name}")
    if not spec.node_name:
        raise NotYet(f"{pod.key} is on no machine yet, so {container} has no log")
    if sources is None:
        raise NotFound(f"{pod.key}: nobody runs the containers of this store, so {container} has no log")
    return sources
