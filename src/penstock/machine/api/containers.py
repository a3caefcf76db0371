"""Who runs the containers of this machine, as the API asks for them.

The engine is one: `Containers` is `penstock.cluster.streams.Streams`, the same that `KubeCluster` gives to a client, so
what goes in at one end of the socket comes out at the other in the same terms. Names were checked before: the pod is
in the store, has such a container, and is on a machine; container is never empty.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from penstock.cluster.errors import NotFound
from penstock.cluster.streams import WHOLE_LOG, LogOptions, Session, SocketWire, Streams, Wire

__all__ = ["Containers", "LogOptions", "NoContainers", "Session", "SocketWire", "Wire"]

Containers = Streams


class NoContainers:
    """Nobody: a store whose pods are only told of."""

    def read_log(
        self, name: str, *, namespace: str, container: str, options: LogOptions = WHOLE_LOG
    ) -> AsyncGenerator[bytes, None]:
        """There is none."""
        del container, options
        raise _nobody(name, namespace)

    async def execute(
        self,
        name: str,
        *,
        namespace: str,
        container: str,
        command: Sequence[str],
        stdin: bool = False,
        tty: bool = False,
    ) -> Session:
        """There is nothing to run it in."""
        del container, command, stdin, tty
        raise _nobody(name, namespace)

    async def forward(self, name: str, *, namespace: str, port: int) -> Wire:
        """There is nobody to connect to."""
        del port
        raise _nobody(name, namespace)


def _nobody(name: str, namespace: str) -> NotFound:
    return NotFound(f'pods "{name}" in {namespace}: nobody runs the containers of this store; start the engine')
