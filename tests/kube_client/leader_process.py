"""A process that writes as fast as it can while it leads. `python leader_process.py URL NAME`."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress

from penstock.cluster.errors import ClusterError
from penstock.cluster.fence import Fenced
from penstock.cluster.kube import Connection, KubeCluster, Limits
from penstock.cluster.kube.identity import Fixed, Identity
from penstock.cluster.kube.tls import Trust
from penstock.cluster.leader import Election, Terms
from penstock.cluster.resources import Lean, Resource

THINGS = Resource("", "v1", "configmaps", "ConfigMap", Lean)
TERMS = Terms(duration=2, margin=1.0, interval=0.2)
WRITERS = 20


async def lead(url: str, name: str) -> None:
    """Run for the lease, and write through the fence from many tasks that stand in each other's way."""
    connection = Connection(server=url, credentials=Fixed(Identity(Trust().context(), name)))
    async with KubeCluster(connection, Limits(requests_at_once=2)) as cluster, asyncio.TaskGroup() as group:
        election = Election(
            cluster, name="penstock", namespace="system", identity=name, on_lost=lambda: None, terms=TERMS
        )
        group.create_task(election.run())
        for _ in range(WRITERS):
            group.create_task(_write(Fenced(cluster, election), election))


async def _write(cluster: Fenced, election: Election) -> None:
    while True:
        await election.leading.wait()
        with suppress(ClusterError):
            await cluster.create(THINGS, {"metadata": {"name": "x", "namespace": "n"}})
        await asyncio.sleep(0.001)


if __name__ == "__main__":
    asyncio.run(lead(*sys.argv[1:]))
