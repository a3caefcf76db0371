"""A container of a pod as runc reads it: the configuration of an OCI bundle. Pure.

Rules and defaults are those of kubelet with containerd, so that what runs here runs the same on Kubernetes. What a
machine cannot give at all is left out; what the pod wants and we do not do is told by `unsupported`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from penstock.api.objects import Json
from penstock.engine import capabilities, limits, seccomp, users
from penstock.engine.cgroups import Kind
from penstock.engine.expansion import expand
from penstock.engine.host import Device, Machine
from penstock.engine.podspec import Container, Pod
from penstock.engine.users import Accounts, User

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_MASKED = (
    "/proc/asound", "/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list",
    "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware", "/sys/devices/virtual/powercap",
)  # fmt: skip
_READ_ONLY = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")
_PROPAGATION = {"None": "rprivate", "HostToContainer": "rslave", "Bidirectional": "rshared"}
_QUIET = ["nosuid", "noexec", "nodev"]
_SHM_SIZE = 64 << 20  # bytes, as container engines have it


class CannotRun(ValueError):
    """A container that can never start as it is written; the message says what to change."""


class ImageConfig(Protocol):
    """What an image says of itself."""

    @property
    def env(self) -> Sequence[str]:
        """`NAME=value`."""

    @property
    def entrypoint(self) -> Sequence[str]:
        """What is run."""

    @property
    def command(self) -> Sequence[str]:
        """Its arguments, or what is run when there is no entry point."""

    @property
    def user(self) -> str:
        """`name`, `uid`, `name:group`; empty is root."""

    @property
    def working_dir(self) -> str:
        """Where it begins; empty is the root."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A path of this machine that a container sees."""

    source: Path
    destination: str
    read_only: bool = False
    propagation: str = "None"
    """As Kubernetes writes it: `None`, `HostToContainer`, `Bidirectional`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a container lives."""

    rootfs: Path
    cgroup: str
    """Its control group, such as `/penstock/lab/<pod>/<container>`."""
    network: Path | None
    """The network namespace of its pod; None: the machine's own."""
    ipc: Path | None = None
    """The IPC namespace of its pod; None: one of its own."""


def config(
    container: Container,
    pod: Pod,
    image: ImageConfig,
    *,
    accounts: Accounts,
    env: Mapping[str, str],
    mounts: Sequence[Mount],
    place: Place,
    machine: Machine,
) -> Json:
    """The configuration of a container. `env` has the container's own variables, `accounts` whom its image knows."""
    context = container.security_context
    user = users.resolved(container, pod, image.user, accounts)
    return {
        "ociVersion": "1.0.2",
        **({} if pod.spec.host_network else {"hostname": pod.hostname}),
        "root": {"path": str(place.rootfs), "readonly": bool(context.read_only_root_filesystem)},
        "process": _process(container, pod, image, env=env, user=user, machine=machine),
        "mounts": [*_own_mounts(container, pod, machine), *_mounts(container, mounts)],
        "linux": _linux(container, pod, mounts, place=place, machine=machine),
    }


def argv(container: Container, image: ImageConfig, env: Mapping[str, str]) -> list[str]:
    """What is run: `command` replaces the image's entry point and its arguments, `args` the arguments alone."""
    program = [*container.command] or [*image.entrypoint]
    arguments = [*container.args] if container.args or container.command else [*image.command]
    words = [expand(word, env) for word in [*container.command, *container.args]]
    if container.command:
        return words
    if container.args:
        return [*program, *words]
    if not [*program, *arguments]:
        raise CannotRun(f"container {container.name}: neither it nor its image says what to run; set command")
    return [*program, *arguments]


def _process(
    container: Container, pod: Pod, image: ImageConfig, *, env: Mapping[str, str], user: User, machine: Machine
) -> Json:
    context = container.security_context
    names = capabilities.granted(
        context.capabilities, privileged=bool(context.privileged), offered=machine.capabilities
    )
    return {
        "terminal": container.tty,
        "user": {"uid": user.uid, "gid": user.gid, "additionalGids": [*user.groups]},
        "args": argv(container, image, env),
        "env": _environment(pod, image, env, tty=container.tty),
        "cwd": container.working_dir or image.working_dir or "/",
        # Nothing inheritable: a file capability must not give a plain user what only root has (CVE-2022-24769).
        "capabilities": {"bounding": names, "effective": names, "permitted": names},
        "noNewPrivileges": context.allow_privilege_escalation is False,
        "rlimits": [{"type": "RLIMIT_NOFILE", "soft": machine.open_files, "hard": machine.open_files}],
    }


def _environment(pod: Pod, image: ImageConfig, env: Mapping[str, str], *, tty: bool) -> list[str]:
    """Variables of the image first; those of the pod win."""
    basic = {
        "PATH": _PATH,
        **({} if pod.spec.host_network else {"HOSTNAME": pod.hostname}),
        **({"TERM": "xterm"} if tty else {}),
    }
    imaged = dict(pair.partition("=")[::2] for pair in image.env)
    return [f"{name}={value}" for name, value in {**basic, **imaged, **env}.items()]


def _own_mounts(container: Container, pod: Pod, machine: Machine) -> list[Json]:
    """What every container has of its own."""
    ro = [] if container.security_context.privileged else ["ro"]
    return [
        _mount("/proc", "proc", _QUIET),
        _mount("/dev", "tmpfs", ["nosuid", "strictatime", "mode=755", "size=65536k"]),
        _mount("/dev/pts", "devpts", ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"]),
        *([] if pod.spec.host_ipc else [_mount("/dev/shm", "tmpfs", [*_QUIET, "mode=1777", f"size={_SHM_SIZE}"])]),  # noqa: S108
        _mount("/dev/mqueue", "mqueue", _QUIET),
        _mount("/sys", "sysfs", [*_QUIET, *ro]),
        *(
            []
            if machine.cgroups.kind is Kind.NONE
            else [_mount("/sys/fs/cgroup", "cgroup", [*_QUIET, "relatime", *ro])]
        ),
        *([_bound(Mount(source=Path("/dev/shm"), destination="/dev/shm"))] if pod.spec.host_ipc else []),  # noqa: S108
    ]


def _mounts(container: Container, mounts: Sequence[Mount]) -> list[Json]:
    """What the pod mounts, parents first, so that none hides another."""
    for one in mounts:
        if one.propagation == "Bidirectional" and not container.security_context.privileged:
            raise CannotRun(
                f"container {container.name}: {one.destination}: Bidirectional is for privileged containers only"
            )
    return [_bound(one) for one in sorted(mounts, key=lambda one: len(Path(one.destination).parts))]


def _bound(one: Mount) -> Json:
    options = ["rbind", _PROPAGATION[one.propagation], "ro" if one.read_only else "rw"]
    return {"destination": one.destination, "type": "bind", "source": str(one.source), "options": options}


def _mount(destination: str, kind: str, options: list[str]) -> Json:
    return {"destination": destination, "type": kind, "source": kind, "options": options}


def _linux(container: Container, pod: Pod, mounts: Sequence[Mount], *, place: Place, machine: Machine) -> Json:
    context = container.security_context
    open_proc = bool(context.privileged) or context.proc_mount == "Unmasked"
    return {
        "namespaces": _namespaces(container, pod, place, machine),
        "cgroupsPath": _checked(place.cgroup),
        "resources": limits.resources(container.resources, cgroups=machine.cgroups) | {"devices": _rules(container)},
        "devices": [_device(one) for one in machine.devices] if context.privileged else [],
        "maskedPaths": [] if open_proc else [*_MASKED],
        "readonlyPaths": [] if open_proc else [*_READ_ONLY],
        "rootfsPropagation": _root_propagation(mounts),
        "sysctl": {one["name"].replace("/", "."): one.get("value", "") for one in pod.spec.security_context.sysctls},
        **seccomp.profile(container, pod, machine),
    }


def _namespaces(container: Container, pod: Pod, place: Place, machine: Machine) -> list[Json]:
    spec = pod.spec
    # A privileged container on one tree has the machine's own, as with containerd: only in the true root may a group
    # have both members and groups below, which slurmd needs.
    shares_groups = machine.cgroups.kind is Kind.V2 and bool(container.security_context.privileged)
    wanted: list[tuple[str, bool, Path | None]] = [
        ("mount", True, None),
        ("pid", not spec.host_pid, None),
        ("ipc", not spec.host_ipc, place.ipc),
        ("uts", not spec.host_network, None),
        ("network", place.network is not None, place.network),
        ("cgroup", not shares_groups and machine.cgroups.kind is not Kind.NONE, None),
    ]
    return [{"type": kind, **({"path": str(path)} if path else {})} for kind, own, path in wanted if own]


def _rules(container: Container) -> list[Json]:
    """Which devices may be used; runc adds the harmless ones, such as /dev/null."""
    return [{"allow": bool(container.security_context.privileged), "access": "rwm"}]


def _device(one: Device) -> Json:
    return {
        "path": one.path, "type": one.kind, "major": one.major, "minor": one.minor,
        "fileMode": one.mode, "uid": one.uid, "gid": one.gid,
    }  # fmt: skip


def _root_propagation(mounts: Sequence[Mount]) -> str:
    wanted = {one.propagation for one in mounts}
    return "rshared" if "Bidirectional" in wanted else "rslave" if "HostToContainer" in wanted else "private"


def _checked(cgroup: str) -> str:
    # The root of a tree holds the whole machine, and a container's group is ended with all its members.
    if not cgroup.startswith("/") or not cgroup.strip("/") or ".." in cgroup.split("/"):
        raise ValueError(f"control group {cgroup!r} is no group of a container; name one like /penstock/lab/pod/slurmd")
    return cgroup
