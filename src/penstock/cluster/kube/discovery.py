"""Which cluster is meant: that of a kubeconfig given, of KUBECONFIG, of the pod we run in, or of the home directory."""

from __future__ import annotations

import os
from pathlib import Path

from penstock.cluster.kube import kubeconfig, service_account
from penstock.cluster.kube.connection import Connection


def find(path: Path | None = None, *, context: str | None = None) -> Connection:
    """The connection that a person would expect; `Misconfigured` says what is missing."""
    if path is not None:
        return kubeconfig.load([path], context)
    named = [Path(name) for name in os.environ.get("KUBECONFIG", "").split(os.pathsep) if name]
    if named:
        # As kubectl has it: files that are not there are skipped, as long as one is.
        return kubeconfig.load([name for name in named if name.exists()] or named, context)
    if context is None and service_account.available():
        return service_account.in_cluster()
    return kubeconfig.load([Path.home() / ".kube" / "config"], context)
