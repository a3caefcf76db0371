"""Inside a pod: the service account that kubelet put there."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from penstock.cluster.errors import Misconfigured
from penstock.cluster.kube.connection import Connection
from penstock.cluster.kube.identity import TokenFile
from penstock.cluster.kube.tls import Trust

MOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def available(environment: Mapping[str, str] = os.environ, mount: Path = MOUNT) -> bool:
    """Whether this process runs in a pod with a service account."""
    return "KUBERNETES_SERVICE_HOST" in environment and (mount / "token").is_file()


def in_cluster(environment: Mapping[str, str] = os.environ, mount: Path = MOUNT) -> Connection:
    """The API server of the cluster we run in, as the pod's service account."""
    host, port = environment.get("KUBERNETES_SERVICE_HOST", ""), environment.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise Misconfigured("not in a pod: KUBERNETES_SERVICE_HOST is not set; give a kubeconfig")
    try:
        trust = Trust(authorities=(mount / "ca.crt").read_text())
        credentials = TokenFile(mount / "token", trust.context())
        namespace = (mount / "namespace").read_text().strip()
    except OSError as error:
        raise Misconfigured(
            f"{error.filename} cannot be read ({error.strerror}); set automountServiceAccountToken on the pod"
        ) from None
    address = f"[{host}]" if ":" in host else host
    return Connection(server=f"https://{address}:{port}", credentials=credentials, namespace=namespace)
