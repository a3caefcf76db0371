"""A pod's cable: from its own namespace to the bridge, with a label that says that it is complete."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from ipaddress import IPv4Address
from pathlib import Path

from penstock.engine import rtnetlink as change
from penstock.engine.rtnetlink import Change, Wire

_HAS_IPV6 = Path("/proc/sys/net/ipv6").exists()


def name_of(pod_id: str) -> str:
    """The fabric's end of a pod's cable; links have at most 15 characters."""
    return "v" + hashlib.blake2b(pod_id.encode(), digest_size=7).hexdigest()


def label_of(pod_id: str, address: IPv4Address) -> str:
    """What is written on the fabric's end, last of all."""
    return f"{pod_id}@{address}"


def hardware(address: IPv4Address) -> str:
    """A locally administered hardware address that says which address it belongs to."""
    return ":".join(f"{byte:02x}" for byte in b"\x02\x50" + address.packed)


def lay(
    pod_id: str,
    address: IPv4Address,
    *,
    gateway: IPv4Address,
    pod: Path,
    fabric: Path,
    wire: Callable[[Path], Wire] = Wire,
) -> None:
    """Lay the cable between two namespaces, given by their files; `rtnetlink.Refused` when something is in the way."""
    name = name_of(pod_id)
    with fabric.open("rb") as there, wire(pod) as near:
        # An address has the same hardware address whoever uses it, so nobody's memory of it can be wrong.
        near.send([change.up("lo"), change.cable("eth0", hardware(address), name, there.fileno())])
        near.send(_pod_end(address, gateway, near.index("eth0")))
    with wire(fabric) as far:
        onto = change.enslave(name, "br0", far.index("br0"))
        far.send([*_quiet(name), onto, change.up(name), change.label(name, label_of(pod_id, address))])


def _pod_end(address: IPv4Address, gateway: IPv4Address, index: int) -> list[Change]:
    return [
        *_quiet("eth0"),
        change.address(address, index),
        change.up("eth0"),
        change.neighbour(gateway, hardware(gateway), index),
        change.route(gateway, index),
        change.default_route(gateway, index),
    ]


def _quiet(name: str) -> list[Change]:
    return [change.without_ipv6(name)] if _HAS_IPV6 else []
