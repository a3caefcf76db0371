"""Pods and Services in one line, for tests of what is made of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.engine.podspec import Pod
from penstock.engine.services import Service


def pod(name: str, **said: Any) -> Pod:
    """A pod from the fields of its spec; namespace, labels, annotations, status, deleted, created are not of it."""
    metadata = {"name": name, "namespace": said.pop("namespace", "slurm"), "uid": f"uid-of-{name}"}
    for field in ("labels", "annotations"):
        metadata[field] = said.pop(field, {})
    if said.pop("deleted", False):
        metadata["deletionTimestamp"] = "2026-11-16T08:00:00Z"
    metadata["creationTimestamp"] = said.pop("created", "2026-11-16T07:00:00Z")
    return msgspec.convert({"metadata": metadata, "status": said.pop("status", {}), "spec": said}, Pod)


def at(address: str, *, ready: bool = True, phase: str = "Running") -> dict[str, Any]:
    """The status of a pod with an address."""
    condition = {"type": "Ready", "status": str(ready)}
    return {"podIP": address, "phase": phase, "conditions": [condition]}


def service(name: str, selector: Mapping[str, str], *, namespace: str = "slurm", **spec: Any) -> Service:
    """A Service."""
    body = {"metadata": {"name": name, "namespace": namespace}, "spec": {"selector": dict(selector), **spec}}
    return msgspec.convert(body, Service)


class Given:
    """ConfigMaps and Secrets of the namespace `slurm`, by name."""

    def __init__(
        self,
        config_maps: Mapping[str, Mapping[str, bytes]] | None = None,
        secrets: Mapping[str, Mapping[str, bytes]] | None = None,
    ) -> None:
        self.config_maps = dict(config_maps or {})
        self.secrets = dict(secrets or {})

    def config_map(self, namespace: str, name: str) -> Mapping[str, bytes] | None:
        """The keys of a ConfigMap."""
        return self.config_maps.get(name) if namespace == "slurm" else None

    def secret(self, namespace: str, name: str) -> Mapping[str, bytes] | None:
        """The keys of a Secret."""
        return self.secrets.get(name) if namespace == "slurm" else None
