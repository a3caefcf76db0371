"""A kubeconfig for kubectl and whoever else reads one."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import msgspec

_NAME = "penstock"


def write_kubeconfig(path: Path, server: str, token: str, *, certificate: bytes, namespace: str = "default") -> None:
    """Write a kubeconfig that only we can read, whole or not at all; JSON is YAML."""
    cluster = {"server": server, "certificate-authority-data": base64.b64encode(certificate).decode()}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": _NAME, "cluster": cluster}],
        "users": [{"name": _NAME, "user": {"token": token}}],
        "contexts": [{"name": _NAME, "context": {"cluster": _NAME, "user": _NAME, "namespace": namespace}}],
        "current-context": _NAME,
    }
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(config), indent=2) + b"\n")
    draft.replace(path)
