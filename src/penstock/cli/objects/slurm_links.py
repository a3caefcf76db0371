"""The way to slurmrestd for a command: through the cluster's API, into a pod, as `penstock port-forward` goes.

So it works from wherever objects can be read, on one machine and on Kubernetes, and opens no port for others.
"""

from __future__ import annotations

import asyncio
import socket
from types import TracebackType
from typing import Self

from penstock.api.restapi import RestApi
from penstock.cli.objects.complaint import Complaint
from penstock.cli.objects.containers import pods_of
from penstock.cli.objects.fields import name_of, namespace_of
from penstock.cli.objects.forwarding import Ports, join, resolved
from penstock.cli.objects.session import Session
from penstock.cluster.errors import ClusterError
from penstock.cluster.streams import SocketWire, Wire
from penstock.render.names import SLURMRESTD_PORT
from penstock.slurm.rest.transport import Streams, Transport

_PORT = "slurmrestd"
"""What slurmrestd's port is called in its pod."""


def located(rest_api: RestApi) -> str:
    """The address of a slurmrestd, as `SlurmLinks` understands it."""
    return f"http://{rest_api.metadata.name}:{SLURMRESTD_PORT}"


class SlurmLinks:
    """Connections into slurmrestd's pods; they end with the block."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._carrying: set[asyncio.Task[None]] = set()

    def connect(self, url: str) -> Transport:
        """Reach a slurmrestd."""
        return Transport(url, dial=self._dial)

    async def _dial(self, rest_api: str, port: int) -> Streams:
        try:
            pod = (await pods_of(self._session, [f"restapi/{rest_api}"]))[0]
            inside = resolved(Ports(0, port, _PORT), None, pod).remote
            far = await self._session.cluster.forward(name_of(pod), namespace=namespace_of(pod), port=inside)
        except (ClusterError, Complaint) as problem:
            raise ConnectionError(str(problem)) from problem
        ours, theirs = socket.socketpair()
        task = asyncio.create_task(_carry(theirs, far))
        self._carrying.add(task)
        task.add_done_callback(self._carrying.discard)
        return await asyncio.open_connection(sock=ours)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        tasks = [*self._carrying]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _carry(end: socket.socket, far: Wire) -> None:
    near = SocketWire(*await asyncio.open_connection(sock=end))
    try:
        await join(near, far)
    finally:
        await near.close()
