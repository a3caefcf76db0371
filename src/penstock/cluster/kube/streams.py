"""What runs in containers, reached through an API server: logs as bytes, commands, connections to ports.

Works against a real API server, which passes WebSockets on to kubelet, and against that of one machine.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from penstock.cluster.errors import Refused
from penstock.cluster.kube import channels, loglines, paths
from penstock.cluster.kube.sessions import CommandSession, PortWire
from penstock.cluster.kube.transport import Call, Transport
from penstock.cluster.resources import Lean, Resource
from penstock.cluster.streams import WHOLE_LOG, LogOptions

PODS = Resource("", "v1", "pods", "Pod", Lean)


class KubeStreams:
    """What people at a terminal ask of containers (`penstock.cluster.streams.Streams`)."""

    _transport: Transport

    async def read_log(
        self, name: str, *, namespace: str, container: str, options: LogOptions = WHOLE_LOG
    ) -> AsyncGenerator[bytes, None]:
        """A container's log, in blocks of any size."""
        what = f"logs of {paths.label(PODS, name, namespace)}"
        query = {"container": container, **_log_query(options)}
        call = Call(method="GET", path=paths.one(PODS, name, namespace, "log"), what=what, query=query)
        try:
            async with self._transport.stream(call) as blocks:
                async for block in blocks:
                    yield block
        except Refused as error:
            raise loglines.explained(error) from None

    async def execute(
        self,
        name: str,
        *,
        namespace: str,
        container: str,
        command: Sequence[str],
        stdin: bool = False,
        tty: bool = False,
    ) -> CommandSession:
        """Run a command in a container."""
        what = f"exec in {paths.label(PODS, name, namespace)}"
        query = {
            "container": container,
            "command": list(command),
            "stdin": _word(stdin),
            "stdout": "true",
            # A terminal has one output for both.
            "stderr": _word(not tty),
            "tty": _word(tty),
        }
        call = Call(method="GET", path=paths.one(PODS, name, namespace, "exec"), what=what, query=query)
        try:
            return CommandSession(await self._transport.upgrade(call, (channels.V5, channels.V4)), what)
        except Refused as error:
            raise loglines.explained(error) from None

    async def forward(self, name: str, *, namespace: str, port: int) -> PortWire:
        """Connect to a TCP port of a pod."""
        what = f"port {port} of {paths.label(PODS, name, namespace)}"
        path = paths.one(PODS, name, namespace, "portforward")
        call = Call(method="GET", path=path, what=what, query={"ports": str(port)})
        try:
            return PortWire(await self._transport.upgrade(call, (channels.V4,)), what)
        except Refused as error:
            raise loglines.explained(error) from None


def _log_query(options: LogOptions) -> dict[str, str]:
    asked = {
        "tailLines": options.tail,
        "sinceSeconds": options.since_seconds,
        "sinceTime": options.since_time,
        "limitBytes": options.limit_bytes,
    }
    flags = {"follow": options.follow, "previous": options.previous, "timestamps": options.timestamps}
    return {name: str(value) for name, value in asked.items() if value is not None} | {
        name: _word(value) for name, value in flags.items() if value
    }


def _word(value: bool) -> str:
    return "true" if value else "false"
