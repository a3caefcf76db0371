"""Which system calls a container may make when it asks for `RuntimeDefault`.

The calls below act on the kernel as a whole, on other processes' memory, or on namespaces. The kernel refuses most of
them to who lacks the capability; the filter keeps them out of reach before the kernel looks, also where it forgets to.
It names what is refused, so that programs never stumble over a harmless call that is newer than this list; containerd
names what is allowed. As there, a capability that a container was given opens the calls it is meant for.
"""

from __future__ import annotations

import errno
import os

from penstock.api.objects import Json
from penstock.engine import capabilities
from penstock.engine.host import Machine
from penstock.engine.podspec import Container, Pod

_GUARDED = {
    "SYS_ADMIN": (
        "fanotify_init", "fsconfig", "fsmount", "fsopen", "fspick", "lookup_dcookie", "mount", "mount_setattr",
        "move_mount", "open_tree", "pivot_root", "quotactl", "quotactl_fd", "setdomainname", "sethostname", "setns",
        "swapoff", "swapon", "umount", "umount2", "unshare",
    ),
    "BPF": ("bpf",),
    "PERFMON": ("perf_event_open",),
    "DAC_READ_SEARCH": ("open_by_handle_at",),
    "SYS_BOOT": ("kexec_file_load", "kexec_load", "reboot"),
    "SYS_MODULE": ("create_module", "delete_module", "finit_module", "init_module", "query_module"),
    "SYS_NICE": ("mbind", "migrate_pages", "move_pages", "set_mempolicy", "set_mempolicy_home_node"),
    "SYS_PACCT": ("acct",),
    "SYS_PTRACE": ("kcmp", "pidfd_getfd", "process_madvise", "process_vm_readv", "process_vm_writev", "ptrace"),
    "SYS_RAWIO": ("ioperm", "iopl"),
    "SYS_TIME": ("adjtimex", "clock_adjtime", "clock_adjtime64", "clock_settime", "clock_settime64", "settimeofday",
                 "stime"),
    "SYS_TTY_CONFIG": ("vhangup",),
}  # fmt: skip
_NEVER = (
    "_sysctl", "add_key", "get_kernel_syms", "io_uring_enter", "io_uring_register", "io_uring_setup", "keyctl",
    "nfsservctl", "request_key", "sysfs", "uselib", "userfaultfd", "ustat", "vm86", "vm86old",
)  # fmt: skip
_NAMESPACE_FLAGS = (0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000)
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET."""
_ARCHITECTURES = {
    "x86_64": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
    "aarch64": ["SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"],
}


def profile(container: Container, pod: Pod, machine: Machine) -> Json:
    """`linux.seccomp` for a container that asks for a filter; nothing for one that does not, or is privileged."""
    context = container.security_context
    wanted = context.seccomp_profile or pod.spec.security_context.seccomp_profile or {}
    if context.privileged or wanted.get("type", "Unconfined") == "Unconfined":
        return {}
    held = capabilities.granted(context.capabilities, privileged=False, offered=machine.capabilities)
    return {"seccomp": default({name.removeprefix("CAP_") for name in held}, architecture=os.uname().machine)}


def default(held: set[str], *, architecture: str) -> Json:
    """The filter for a container with these capabilities."""
    refused = [*_NEVER, *(call for name, calls in _GUARDED.items() if name not in held for call in calls)]
    rules: list[Json] = [_refusal(refused)]
    if "SYS_ADMIN" not in held:
        rules += [_refusal(["clone"], flag) for flag in _NAMESPACE_FLAGS]
        # Its flags are in memory, where a filter cannot look; told that it does not exist, programs use clone.
        rules.append(_refusal(["clone3"], code=errno.ENOSYS))
    return {
        "defaultAction": "SCMP_ACT_ALLOW",
        "architectures": _ARCHITECTURES.get(architecture, []),
        "syscalls": rules,
    }


def _refusal(calls: list[str], flag: int | None = None, *, code: int = errno.EPERM) -> Json:
    where = {} if flag is None else {"args": [_has(flag)]}
    return {"names": sorted(calls), "action": "SCMP_ACT_ERRNO", "errnoRet": code, **where}


def _has(flag: int) -> Json:
    return {"index": 0, "value": flag, "valueTwo": flag, "op": "SCMP_CMP_MASKED_EQ"}
