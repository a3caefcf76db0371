"""The network of one cluster: a bridge in a namespace of its own, the *fabric*, and a cable from it into each pod.

```
   penstock-<cluster>                     penstock-<cluster>.<pod id>
   br0 10.244.0.1/16 ──── v<digest> ═══════ eth0 10.244.x.y/32     default via 10.244.0.1
```

Nothing of it can be seen on the machine itself: no links, no rules, no settings; so clusters may use the same subnet.
A cable gets its label (`alias`) last, at the fabric's end, where no pod can reach it: one with its label is complete,
one without was being made when somebody died and is made anew. IPv6 stays off but for `::1`: what pods would say to
each other to find link-local addresses grows with the square of their number and is of no use to anybody.

Pods know one neighbour, the bridge, which passes on what is for others. If they knew each other, forty that all talk to
all would fill the kernel's table of neighbours (1024 for the whole machine, the machine's own included).
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any

from penstock.engine import cable, namespaces
from penstock.engine.iproute import Ip, IpFailed
from penstock.engine.rtnetlink import Refused, Wire

DEFAULT_SUBNET = IPv4Network("10.244.0.0/16")
NAMESPACES = Path("/run/netns")
"""Where `ip netns` keeps namespaces."""

_CLUSTER = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_POD_ID = re.compile(r"[a-z0-9][-a-z0-9]{0,62}")


class NetworkError(Exception):
    """The network is not as it should be; the message has the words of `ip`."""


class Network:
    """The fabric of one cluster and the pods at it. All of it can be done again, also after half of it."""

    def __init__(
        self,
        cluster: str,
        *,
        subnet: IPv4Network = DEFAULT_SUBNET,
        ip: Ip | None = None,
        wire: Callable[[Path], Wire] = Wire,
    ) -> None:
        if not _CLUSTER.fullmatch(cluster):
            raise ValueError(f'"{cluster}" is not the name of a cluster; use lower case letters, digits and -')
        self.subnet = subnet
        self.gateway = subnet.network_address + 1
        self.name = f"penstock-{cluster}"
        """Namespace of the fabric, as `ip -n` knows it."""
        self._ip = ip or Ip()
        self._wire = wire
        self._has_ipv6 = Path("/proc/sys/net/ipv6").exists()

    def namespace(self, pod_id: str) -> Path:
        """The network namespace of a pod: what its containers join."""
        return NAMESPACES / self._pod(pod_id)

    @property
    def fabric(self) -> Path:
        """The network namespace with the bridge, from which every pod can be reached."""
        return NAMESPACES / self.name

    def attached(self) -> set[str]:
        """The pods that have anything here, however little."""
        prefix = f"{self.name}."
        if not NAMESPACES.is_dir():
            return set()
        return {path.name.removeprefix(prefix) for path in NAMESPACES.iterdir() if path.name.startswith(prefix)}

    async def ensure_fabric(self) -> None:
        """Make the bridge, or find it."""
        found = None if await self._add_fabric() else await self._addresses_of_bridge()
        wanted = f"{self.gateway}/{self.subnet.prefixlen}"
        if found is not None and found - {wanted}:
            told = ", ".join(sorted(found))
            raise NetworkError(
                f"network {self.name} has the address {told} and should have {wanted}; take the cluster down first"
            )
        commands = ["link set lo up"]
        if found is None:
            # A bridge without an address of its own takes one from its ports and changes it whenever they change;
            # pods then talk to nobody for some seconds.
            commands.append(f"link add br0 address {cable.hardware(self.gateway)} type bridge")
        commands += ["link set br0 addrgenmode none"] if self._has_ipv6 else []
        commands += [f"address replace {wanted} dev br0", "link set br0 up"]
        await self._run(commands, inside=self.name, what=f"network {self.name}")
        await self._set("1", "ip_forward")
        # The bridge would tell pods of the shorter way, and they would know each other after all.
        await self._set("0", "conf/all/send_redirects", "conf/br0/send_redirects")

    async def attach(self, pod_id: str, address: IPv4Address) -> None:
        """Give a pod its namespace and its cable; nothing happens to one that has them."""
        name, what = self._pod(pod_id), f"network of pod {pod_id}"
        if not _is_namespace(self.fabric):
            raise NetworkError(f"{what}: there is no network {self.name} to attach it to; make that first")
        if not await self._add_namespace(name) and await self._is_complete(pod_id, address):
            return
        try:
            await self._lay(pod_id, address)
        except Refused:
            # A cable of somebody who died, or of a fabric that the kernel has not taken apart yet. An end takes the
            # other with it.
            await self._remove_cables([pod_id])
            await self._remove(["link delete eth0"], inside=name)
            try:
                await self._lay(pod_id, address)
            except Refused as problem:
                raise NetworkError(f"{what}: {problem}") from problem

    async def detach(self, pod_id: str) -> None:
        """Take all of a pod away."""
        await self._detach([pod_id])

    async def remove_fabric(self) -> None:
        """Take everything of this cluster away, pods and leftovers included."""
        await self._detach(sorted(self.attached()))
        if _is_namespace(self.fabric):
            await self._remove(["link delete br0"], inside=self.name)
        await self._delete_namespaces([self.name])

    async def _detach(self, pod_ids: Sequence[str]) -> None:
        # Cables first: with the namespace alone they would go whenever the kernel finds the time, and an address that
        # is given anew would meet its old cable.
        await self._remove_cables(pod_ids)
        await self._delete_namespaces([self._pod(pod_id) for pod_id in pod_ids])

    async def _remove_cables(self, pod_ids: Sequence[str]) -> None:
        if _is_namespace(self.fabric):
            await self._remove([f"link delete {cable.name_of(pod_id)}" for pod_id in pod_ids], inside=self.name)

    async def _lay(self, pod_id: str, address: IPv4Address) -> None:
        await asyncio.to_thread(
            cable.lay, pod_id, address,
            gateway=self.gateway, pod=self.namespace(pod_id), fabric=self.fabric, wire=self._wire,
        )  # fmt: skip

    async def _is_complete(self, pod_id: str, address: IPv4Address) -> bool:
        """Whether the cable of a pod is there with its label; one without is taken away."""
        cables = await self._shown("link", "show", "dev", cable.name_of(pod_id))
        if not cables:
            return False
        found = cables[0].get("ifalias", "")
        if found and found != cable.label_of(pod_id, address):
            has = found.rpartition("@")[2]
            raise NetworkError(f"pod {pod_id} is attached with address {has}, not {address}; detach it first")
        if not found:
            await self._remove_cables([pod_id])
        return bool(found)

    async def _addresses_of_bridge(self) -> set[str] | None:
        """What the bridge is called by; None without a bridge."""
        for link in await self._shown("address", "show"):
            if link.get("ifname") == "br0":
                known = link.get("addr_info", ())
                return {f"{one['local']}/{one['prefixlen']}" for one in known if one["family"] == "inet"}
        return None

    async def _shown(self, *words: str) -> list[Any]:
        """What links of the fabric `ip` tells of; none when there is no such link."""
        try:
            told = await self._ip.run("-n", self.name, "-json", *words)
        except IpFailed as problem:
            if "does not exist" in str(problem):
                return []
            raise NetworkError(f"network {self.name}: {problem}") from problem
        return [link for link in json.loads(told or "[]") if link]

    async def _set(self, value: str, *settings: str) -> None:
        """Settings of the fabric's own namespace; the machine's are not touched."""
        paths = [Path("/proc/sys/net/ipv4", setting) for setting in settings]
        try:
            await asyncio.to_thread(namespaces.inside, self.fabric, lambda: [path.write_text(value) for path in paths])
        except OSError as problem:
            raise NetworkError(f"network {self.name}: {problem}") from problem

    async def _add_fabric(self) -> bool:
        """Whether the fabric's namespace had to be made. By `ip`: it makes the directory for all others, too."""
        if _is_free(self.fabric):
            await self._run([f"netns add {self.name}"], what=f"network {self.name}")
            return True
        return False

    async def _add_namespace(self, name: str) -> bool:
        """Whether a pod's namespace had to be made."""
        path = NAMESPACES / name
        if not _is_free(path):
            return False
        try:
            await asyncio.to_thread(namespaces.add, path)
        except OSError as problem:
            raise NetworkError(f"network {name}: {problem}") from problem
        return True

    async def _delete_namespaces(self, names: Sequence[str]) -> None:
        there = [name for name in names if (NAMESPACES / name).exists()]
        await self._remove([f"netns delete {name}" for name in there])
        if left := [name for name in there if (NAMESPACES / name).exists()]:
            raise NetworkError(f"network {self.name}: could not remove {', '.join(left)}; see `ip netns list`")

    async def _run(self, commands: Sequence[str], *, what: str, inside: str = "") -> None:
        try:
            await self._ip.batch(commands, inside=inside)
        except IpFailed as problem:
            raise NetworkError(f"{what}: {problem}") from problem

    async def _remove(self, commands: Sequence[str], *, inside: str = "") -> None:
        if not commands:
            return
        try:
            await self._ip.remove(commands, inside=inside)
        except IpFailed as problem:
            raise NetworkError(f"network {self.name}: {problem}") from problem

    def _pod(self, pod_id: str) -> str:
        if not _POD_ID.fullmatch(pod_id):
            raise ValueError(f'"{pod_id}" is not the id of a pod; use lower case letters, digits and -')
        # A dot cannot stand in the name of a cluster: no pod of "a" looks like the fabric of "a-b".
        return f"{self.name}.{pod_id}"


def _is_namespace(path: Path) -> bool:
    """Whether a namespace is mounted here; a file alone is on the same file system as its directory."""
    try:
        return path.stat().st_dev != path.parent.stat().st_dev
    except FileNotFoundError:
        return False


def _is_free(path: Path) -> bool:
    """Whether there is no namespace.

    A plain file is taken away: somebody died between making it and mounting the namespace on it, or the machine was
    restarted.
    """
    if _is_namespace(path):
        return False
    path.unlink(missing_ok=True)
    return True
