"""Capabilities of containers: the usual ones, more, fewer, or all that this machine has.

A machine may lack some itself (one in a sandbox has no CAP_SYS_RESOURCE); nobody can be given those, and runc would
refuse the whole container, so they are left out.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from pathlib import Path

from penstock.engine.podspec import Capabilities

NAMES = (
    "CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP",
    "LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER",
    "SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE",
    "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP",
    "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF",
    "CHECKPOINT_RESTORE",
)  # fmt: skip
"""All of Linux 6, by their number."""

USUAL = frozenset({
    "CHOWN", "DAC_OVERRIDE", "FSETID", "FOWNER", "MKNOD", "NET_RAW", "SETGID", "SETUID", "SETFCAP", "SETPCAP",
    "NET_BIND_SERVICE", "SYS_CHROOT", "KILL", "AUDIT_WRITE",
})  # fmt: skip
"""What containerd gives a container that asks for nothing."""


class UnknownCapability(ValueError):
    """A name that Linux does not know."""


def granted(wish: Capabilities, *, privileged: bool, offered: AbstractSet[str]) -> list[str]:
    """What a container gets, as runc writes it, in the kernel's order."""
    if privileged:
        return _written(offered)
    added, dropped = _named(wish.add), _named(wish.drop)
    # As containerd has it: ALL goes first, so `drop: [ALL], add: [KILL]` is KILL alone; of a name in both, drop wins.
    base = frozenset() if "ALL" in dropped else frozenset(NAMES) if "ALL" in added else USUAL
    return _written(((base | added) - dropped) & offered)


def of_this_machine() -> frozenset[str]:
    """What this machine, or whatever it runs in, lets anybody have: the bounding set."""
    return parsed(Path("/proc/self/status").read_text())


def parsed(status: str) -> frozenset[str]:
    """The bounding set in /proc/PID/status."""
    mask = next(int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapBnd:"))
    return frozenset(name for number, name in enumerate(NAMES) if mask >> number & 1)


def _named(names: tuple[str, ...]) -> frozenset[str]:
    short = frozenset(name.upper().removeprefix("CAP_") for name in names)
    for name in sorted(short - {"ALL", *NAMES}):
        raise UnknownCapability(f"capability {name} is not one of Linux; write for instance NET_ADMIN")
    return short


def _written(names: AbstractSet[str]) -> list[str]:
    return [f"CAP_{name}" for name in NAMES if name in names]
