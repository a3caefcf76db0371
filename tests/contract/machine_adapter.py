"""The API of one machine, for the contract suite: the store behind a socket, and the same client as for Kubernetes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from penstock.cluster.kube import KubeCluster, local
from penstock.cluster.port import Cluster
from penstock.cluster.store import Store
from penstock.machine.api import NoContainers, serve


@asynccontextmanager
async def machine_api() -> AsyncIterator[Cluster]:
    """A cluster of one machine with nothing in it; its directory is short, as the path of a socket has to be."""
    with TemporaryDirectory(prefix="penstock-") as directory:
        path = Path(directory) / "api.sock"
        async with Store() as store, serve(store, NoContainers(), path=path), KubeCluster(local(path)) as cluster:
            yield cluster
