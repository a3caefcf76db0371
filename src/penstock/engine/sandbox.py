"""What surrounds the containers of a pod: its directory, its address, its volumes, its names.

```
<pods>/<uid>/pod.json      whose it is, and its address; written before anything else
             names/hosts   the names it knows, replaced as a whole; containers see the directory
             volumes/      what its containers mount
             containers/   see `attempts`
```
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from ipaddress import IPv4Address
from pathlib import Path

import msgspec

from penstock.engine import cgroups
from penstock.engine.addresses import Addresses, NoAddressLeft
from penstock.engine.downward import Facts
from penstock.engine.network import Network, NetworkError
from penstock.engine.podspec import Pod
from penstock.engine.threads import finished, to_its_end
from penstock.engine.volumes import prepared
from penstock.engine.volumes.prepared import Prepared
from penstock.engine.volumes.sources import MissingReference, Sources, VolumeError

_RECORD = "pod.json"
_HOST = "127.0.0.1"
"""The address of pods on the machine's own network."""


class Record(msgspec.Struct, frozen=True):
    """Whose directory it is."""

    uid: str
    namespace: str
    name: str
    address: str


class SandboxProblem(Exception):
    """A pod cannot have its surroundings now; what it waits for may come."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Sandbox:
    """The surroundings of one pod. Everything can be done twice, and after half of it."""

    def __init__(
        self,
        pod: Pod,
        directory: Path,
        *,
        network: Network,
        addresses: Addresses,
        sources: Sources,
        claims: Callable[[str, str], Path],
        group: str,
    ) -> None:
        self.directory = directory
        self.volumes: Prepared | None = None
        self.address = ""
        self._parting = ""
        """The address that it had; nobody else's before everything of it is gone."""
        self._uid = pod.metadata.uid
        self._on_host = pod.spec.host_network
        self._network = network
        self._addresses = addresses
        self._sources = sources
        self._claims = claims
        self._changing = asyncio.Lock()
        """Held while files of volumes are changed."""
        self.group = group
        """The control group of the pod; each container has one below."""
        if known := read(directory):
            self.address = known.address

    @property
    def containers(self) -> Path:
        """Where attempts are."""
        return self.directory / "containers"

    @property
    def names(self) -> Path:
        """Where the hosts file is."""
        return self.directory / "names"

    @property
    def namespace(self) -> Path | None:
        """The network namespace that containers join; None for the machine's own."""
        return None if self._on_host else self._network.namespace(self._uid)

    async def make(self, pod: Pod) -> None:
        """Make what is missing."""
        try:
            self._claim_address(pod)
            if not self._on_host:
                await finished(self._network.attach(self._uid, IPv4Address(self.address)))
            await self._make_volumes(pod)
        except MissingReference as problem:
            raise SandboxProblem("FailedMount", str(problem)) from problem
        except VolumeError as problem:
            raise SandboxProblem("FailedMount", f"pod {pod.metadata.name}: {problem}") from problem
        except (NetworkError, NoAddressLeft) as problem:
            raise SandboxProblem("FailedCreatePodSandBox", f"pod {pod.metadata.name}: {problem}") from problem
        except OSError as problem:
            raise SandboxProblem("FailedCreatePodSandBox", f"pod {pod.metadata.name}: {problem}") from problem

    async def _make_volumes(self, pod: Pod) -> None:
        # While they are made nobody else brings them up to date: two writers would sweep up each other's files.
        self.volumes = None
        async with self._changing:
            self.volumes = await to_its_end(
                prepared.prepare, pod, self.directory, self._sources, self._claims, facts=self.facts(pod)
            )

    async def refresh(self, pod: Pod) -> bool:
        """Bring volumes up to date with what they show; whether anything changed.

        One that goes shows nothing new, and whoever makes volumes looks at what has changed when they are made.
        """
        if not self._has_volumes():
            return False
        async with self._changing:
            if not self._has_volumes():
                return False
            return await to_its_end(prepared.refresh, pod, self.directory, self._sources, facts=self.facts(pod))

    def _has_volumes(self) -> bool:
        return self.volumes is not None

    def facts(self, pod: Pod) -> Facts:
        """What the pod can be told of itself before its status says so."""
        return Facts(pod_ip=self.address, host_ip=_HOST, node_name=pod.spec.node_name)

    async def remove(self) -> None:
        """Take everything away; claims are not ours and stay."""
        # Nobody writes names or files for who has neither: what is written while the directory goes would stay.
        self._parting, self.address = self.address or self._parting, ""
        async with self._changing:
            self.volumes = None
        if not self._on_host:
            await self._network.detach(self._uid)
        await asyncio.to_thread(prepared.remove, self.directory)
        await asyncio.to_thread(cgroups.remove, cgroups.here().paths(self.group))
        if self._parting and not self._on_host:
            self._addresses.release(IPv4Address(self._parting))
        self._parting = ""

    def _claim_address(self, pod: Pod) -> None:
        if self.address:
            return
        self.names.mkdir(parents=True, exist_ok=True)
        address = _HOST if self._on_host else str(self._addresses.allocate())
        meta = pod.metadata
        write(self.directory, Record(meta.uid, meta.namespace, meta.name, address))
        self.address = address


def read(directory: Path) -> Record | None:
    """Whose directory it is; None when nobody's, or when it was never finished."""
    try:
        return msgspec.json.decode((directory / _RECORD).read_bytes(), type=Record)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def write(directory: Path, record: Record) -> None:
    """Say whose directory it is; from then on it is."""
    # Not for the disk to keep: when the machine stops, the pod's address goes with its network.
    draft = directory / f".{_RECORD}"
    draft.write_bytes(msgspec.json.encode(record))
    draft.replace(directory / _RECORD)
