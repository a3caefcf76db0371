"""The adapter for a real Kubernetes API server: aiohttp for the wire, msgspec for what travels on it.

```
discovery ─> kubeconfig | service_account ─> connection (tls, identity, exec_plugin)     who we are, and where to
cluster ──> paths, transport ──> answers, changes, loglines                             what we ask, and what came back
streams ──> sessions ──> channels                                                    what runs in containers, both ways
```
"""

from penstock.cluster.kube.cluster import KubeCluster
from penstock.cluster.kube.connection import Connection, local
from penstock.cluster.kube.discovery import find
from penstock.cluster.kube.transport import Limits

__all__ = ["Connection", "KubeCluster", "Limits", "find", "local"]
