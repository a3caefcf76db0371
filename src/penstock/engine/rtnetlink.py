"""Changes of links, addresses and routes in the kernel's own language (rtnetlink), without a program for them.

A change is a message, and the words that people know it by: those of `ip`. It takes microseconds where a process takes
milliseconds, and a cluster that starts makes a hundred of them. What is rare, or tells something, is left to `ip`.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import Self

from penstock.engine import namespaces

_HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence, port
_LINK = struct.Struct("=BxHiII")  # family, type, index, flags, which of them change
_ADDRESS = struct.Struct("=BBBBI")  # family, prefix, flags, scope, index
_ROUTE = struct.Struct("=BBBBBBBBI")  # family, prefixes of target and source, tos, table, by whom, scope, type, flags
_NEIGHBOUR = struct.Struct("=BxxxiHBB")  # family, index, state, flags, type
_NEW_LINK, _GET_LINK, _NEW_ADDRESS, _NEW_ROUTE, _NEW_NEIGHBOUR, _ERROR = 16, 18, 20, 24, 28, 2
_REQUEST, _ACKNOWLEDGED, _REPLACE, _ONLY_NEW, _CREATE = 0x1, 0x4, 0x100, 0x200, 0x400
_UP = 1
_ADDRESS_OF, _NAME, _MASTER, _INFO, _ALIAS, _FAMILIES, _NAMESPACE = 1, 3, 10, 18, 20, 26, 28  # IFLA_*
_MAIN_TABLE, _BY_BOOT, _UNICAST, _SCOPE_LINK, _PERMANENT = 254, 3, 1, 253, 0x80
_PATIENCE = 30.0
"""Seconds; the kernel answers in microseconds, but changes links of the whole machine one after the other."""


class Refused(Exception):
    """The kernel refused a change: says which, in the words of `ip`, and why."""


@dataclass(frozen=True, slots=True)
class Change:
    """Something to be done, by `ip`'s words and as a message."""

    words: str
    kind: int
    flags: int
    body: bytes


def up(name: str) -> Change:
    """Switch a link on."""
    return _link(f"link set {name} up", name, flags=_UP)


def without_ipv6(name: str) -> Change:
    """Keep the kernel from giving a link an address of its own choice."""
    none = _attribute(socket.AF_INET6, _attribute(8, b"\x01"))  # IFLA_INET6_ADDR_GEN_MODE
    return _link(f"link set {name} addrgenmode none", name, _attribute(_FAMILIES, none))


def enslave(name: str, bridge: str, index: int) -> Change:
    """Put a link on a bridge, given by its number as well."""
    return _link(f"link set {name} master {bridge}", name, _attribute(_MASTER, struct.pack("=I", index)))


def label(name: str, text: str) -> Change:
    """Write something on a link."""
    return _link(f"link set {name} alias {text}", name, _attribute(_ALIAS, text.encode()))


def cable(name: str, hardware: str, peer: str, namespace: int) -> Change:
    """A link to another one, `peer`, which is in a namespace that is open as a file."""
    far = _LINK.pack(0, 0, 0, 0, 0) + _named(peer) + _attribute(_NAMESPACE, struct.pack("=i", namespace))
    info = _attribute(1, b"veth\0") + _attribute(2, _attribute(1, far))  # IFLA_INFO_KIND, IFLA_INFO_DATA: its peer
    address = _attribute(_ADDRESS_OF, bytes.fromhex(hardware.replace(":", "")))
    body = _LINK.pack(0, 0, 0, 0, 0) + _named(name) + address + _attribute(_INFO, info)
    return Change(f"link add {name} type veth peer name {peer}", _NEW_LINK, _CREATE | _ONLY_NEW, body)


def address(own: IPv4Address, index: int) -> Change:
    """An address of a link."""
    value = own.packed
    body = _ADDRESS.pack(socket.AF_INET, 32, 0, 0, index) + _attribute(1, value) + _attribute(2, value)
    return Change(f"address add {own}/32", _NEW_ADDRESS, _CREATE | _ONLY_NEW, body)


def neighbour(its: IPv4Address, hardware: str, index: int) -> Change:
    """Who is behind an address, for good."""
    body = _NEIGHBOUR.pack(socket.AF_INET, index, _PERMANENT, 0, 0)
    body += _attribute(1, its.packed) + _attribute(2, bytes.fromhex(hardware.replace(":", "")))
    return Change(f"neighbour replace {its} lladdr {hardware}", _NEW_NEIGHBOUR, _CREATE | _REPLACE, body)


def route(to: IPv4Address, index: int) -> Change:
    """That an address is right behind a link."""
    body = _ROUTE.pack(socket.AF_INET, 32, 0, 0, _MAIN_TABLE, _BY_BOOT, _SCOPE_LINK, _UNICAST, 0)
    body += _attribute(1, to.packed) + _attribute(4, struct.pack("=i", index))
    return Change(f"route replace {to} scope link", _NEW_ROUTE, _CREATE | _REPLACE, body)


def default_route(via: IPv4Address, index: int) -> Change:
    """Who passes on all that is for others."""
    body = _ROUTE.pack(socket.AF_INET, 0, 0, 0, _MAIN_TABLE, _BY_BOOT, 0, _UNICAST, 0)
    body += _attribute(5, via.packed) + _attribute(4, struct.pack("=i", index))
    return Change(f"route replace default via {via}", _NEW_ROUTE, _CREATE | _REPLACE, body)


class Wire:
    """The kernel's ear in one namespace; close it."""

    def __init__(self, namespace: Path) -> None:
        self._socket = namespaces.inside(namespace, _opened)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, changes: Sequence[Change]) -> None:
        """Have changes made, in order, up to the first that is refused."""
        for number, change in enumerate(changes):
            self._say(change, number)
            if problem := self._heard(number)[0]:
                raise Refused(f"`ip {change.words}`: {os.strerror(problem)}")

    def index(self, name: str) -> int:
        """The number of a link."""
        self._say(Change(f"link show {name}", _GET_LINK, 0, _LINK.pack(0, 0, 0, 0, 0) + _named(name)), 0)
        problem, body = self._heard(0)
        if problem:
            raise Refused(f"`ip link show {name}`: {os.strerror(problem)}")
        return int(_LINK.unpack_from(body)[2])

    def _say(self, change: Change, number: int) -> None:
        flags = _REQUEST | change.flags | (_ACKNOWLEDGED if change.kind != _GET_LINK else 0)
        self._socket.send(_HEADER.pack(_HEADER.size + len(change.body), change.kind, flags, number, 0) + change.body)

    def _heard(self, number: int) -> tuple[int, bytes]:
        """What the kernel answers to a message: an error, 0 for none, and what it tells."""
        while True:
            answer = self._socket.recv(65536)
            length, kind, _, about, _ = _HEADER.unpack_from(answer)
            if about != number:
                continue
            body = answer[_HEADER.size : length]
            return (-struct.unpack_from("=i", body)[0], b"") if kind == _ERROR else (0, body)


def _opened() -> socket.socket:
    made = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)  # NETLINK_ROUTE
    made.settimeout(_PATIENCE)
    return made


def _link(words: str, name: str, attributes: bytes = b"", *, flags: int = 0) -> Change:
    return Change(words, _NEW_LINK, 0, _LINK.pack(0, 0, 0, flags, flags) + _named(name) + attributes)


def _named(name: str) -> bytes:
    return _attribute(_NAME, name.encode() + b"\0")


def _attribute(kind: int, value: bytes) -> bytes:
    size = 4 + len(value)
    return struct.pack("=HH", size, kind) + value + bytes(-size % 4)
