"""A real Kubernetes API server, for the contract suite: `kube_cluster(control_plane.kubeconfig)`."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

from penstock.cluster.kube import KubeCluster, find
from penstock.cluster.port import Cluster


def kube_cluster(kubeconfig: Path) -> AbstractAsyncContextManager[Cluster]:
    """The cluster that a kubeconfig names."""
    return KubeCluster(find(kubeconfig))
