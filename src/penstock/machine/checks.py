"""What a machine must have before a cluster can run on it, and how to get what is missing."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from penstock.engine import cgroups

PROGRAMS = {"conmon": "conmon", "runc": "runc", "ip": "iproute2", "apt-get": "apt", "dpkg-deb": "dpkg"}
"""Programs by the Debian package that has them."""
_SEARCHED = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_NAMESPACES = ("pid", "net", "mnt", "uts", "ipc")
_FILE_SYSTEMS = Path("/proc/filesystems")


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is missing, and what to do about it."""

    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.what}; {self.remedy}"


def missing_packages() -> list[str]:
    """Debian packages whose programs are not here."""
    return [package for program, package in PROGRAMS.items() if shutil.which(program, path=_SEARCHED) is None]


def problems() -> list[Problem]:
    """Everything that keeps a cluster from running here."""
    found = []
    if os.geteuid() != 0:
        found.append(Problem("only root can make namespaces and mounts", "run it as root: sudo penstock up"))
    if packages := missing_packages():
        found.append(Problem(f"{', '.join(packages)} missing", f"apt-get install {' '.join(packages)}"))
    if not has_overlay():
        what = "the kernel has no overlay file system, nor does `modprobe overlay` bring it"
        found.append(Problem(what, "use a kernel that has it, or install kmod if modprobe is missing"))
    if lacking := [name for name in _NAMESPACES if not Path("/proc/self/ns", name).exists()]:
        found.append(Problem(f"the kernel has no {', '.join(lacking)} namespaces", "use a kernel that has them"))
    if cgroups.here().kind is cgroups.Kind.NONE:
        found.append(Problem("no control groups are mounted", "mount -t cgroup2 none /sys/fs/cgroup"))
    return found


def has_overlay(listed: Path = _FILE_SYSTEMS, *, searched: str = _SEARCHED) -> bool:
    """Whether the kernel knows overlays; Debian's has them as a module, which nobody loads before the first mount."""
    if "overlay" in listed.read_text().split():
        return True
    if (modprobe := shutil.which("modprobe", path=searched)) is None:
        return False
    subprocess.run([modprobe, "overlay"], check=False, capture_output=True)  # noqa: S603 - no words of anybody else
    return "overlay" in listed.read_text().split()


def busy(ports: Iterable[int]) -> list[Problem]:
    """Ports of loopback that somebody else has."""
    elsewhere = "choose another: --ssh-port, --rest-port"
    return [Problem(f"port {port} of 127.0.0.1 is in use", elsewhere) for port in ports if not is_free(port)]


def is_free(port: int) -> bool:
    """Whether nobody listens on a port of loopback."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_port(wanted: int) -> int:
    """The wanted port, or any other when somebody has it."""
    if is_free(wanted):
        return wanted
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
