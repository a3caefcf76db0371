"""Kubeconfig files for tests."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import yaml


def kubeconfig(
    path: Path, *, cluster: dict[str, Any], user: dict[str, Any], name: str = "main", current: str | None = None
) -> Path:
    """Write a kubeconfig with one context."""
    pointer = {"cluster": name, "user": name, "namespace": f"of-{name}"}
    path.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": name if current is None else current,
                "clusters": [{"name": name, "cluster": cluster}],
                "users": [{"name": name, "user": user}],
                "contexts": [{"name": name, "context": pointer}],
                "preferences": {},
            }
        )
    )
    return path


def b64(data: bytes) -> str:
    """As kubeconfigs carry certificates."""
    return base64.b64encode(data).decode()
