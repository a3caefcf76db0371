"""What a cluster leaves on a machine: processes, mounts, namespaces, links, control groups."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from penstock.engine import cgroups, mounts
from penstock.engine.layout import Layout
from penstock.engine.network import NAMESPACES


def of(layout: Layout) -> list[str]:
    """Every trace of a cluster."""
    return [*processes_of(layout), *_mounts(layout), *_namespaces(layout), *_groups(layout)]


def processes_of(layout: Layout) -> list[str]:
    """Processes that name a cluster's directories, are rooted in them, or are in its control groups."""
    inside = {pid for group in _tops(layout) for pid in cgroups.members(group)}
    ours = [str(layout.state), str(layout.run), f"--cluster\0{layout.cluster}\0"]
    found = []
    for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))):  # noqa: PTH208
        words = _words(pid)
        if pid != os.getpid() and (pid in inside or any(one in words for one in ours)):
            found.append(f"process {pid}: {words.replace(chr(0), ' ')[:120]}")
    return found


def links_of_machine() -> set[str]:
    """The names of the machine's own links."""
    words = ["/usr/bin/env", "ip", "-json", "link"]
    told = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return {link["ifname"] for link in json.loads(told)}


def superfluous(layout: Layout) -> list[str]:
    """What is there beside one monitor, one mount, one network per thing that runs; while the cluster is up."""
    pods = {path.name for path in layout.pods.iterdir()}
    attempts = {
        path.parents[0]: _number(path)
        for path in sorted(layout.pods.glob("*/containers/*/*"), key=_number)
        if path.name.isdecimal()
    }
    current = {directory / str(number) for directory, number in attempts.items()}
    running = {_container_id(path) for path in current}
    known = {path.name for path in layout.runc.iterdir()}
    found = [f"runc knows {name}, which is not the present attempt" for name in sorted(known - running)]
    for mount in mounts.everything():
        if mount.target.is_relative_to(layout.pods) and "containers" in mount.target.parts:
            place = next(path for path in (mount.target, *mount.target.parents) if path.parents[1].name == "containers")
            if place not in current:
                found.append(f"mount {mount.target} of an attempt that is over")
    prefix = f"penstock-{layout.cluster}."
    attached = {path.name.removeprefix(prefix) for path in NAMESPACES.glob(f"{prefix}*")}
    found += [f"network of {uid}, which is no pod" for uid in sorted(attached - pods)]
    return found + _doubled(layout)


def _doubled(layout: Layout) -> list[str]:
    """Monitors of attempts whose container is another's by now, and groups that hold nobody."""
    bundles: dict[str, int] = {}
    found = []
    for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))):  # noqa: PTH208
        words = _words(pid).split("\0")
        if words[0].endswith("conmon") and "--bundle" in words:
            bundle = words[words.index("--bundle") + 1]
            if bundle.startswith(str(layout.pods)):
                container = bundle.rpartition("/")[0]
                if container in bundles:
                    found.append(f"two monitors of {container}: {bundles[container]} and {pid}")
                bundles[container] = pid
    return found


def _mounts(layout: Layout) -> list[str]:
    ours = (layout.state, layout.run)
    return [
        f"mount {one.target}" for one in mounts.everything() if any(one.target.is_relative_to(place) for place in ours)
    ]


def _namespaces(layout: Layout) -> list[str]:
    name = f"penstock-{layout.cluster}"
    found = NAMESPACES.glob(f"{name}*") if NAMESPACES.is_dir() else ()
    return [f"network {path.name}" for path in found if path.name == name or path.name.startswith(f"{name}.")]


def _groups(layout: Layout) -> list[str]:
    return [f"control group {path}" for path in _tops(layout) if path.exists()]


def _tops(layout: Layout) -> list[Path]:
    return cgroups.here().paths(f"/penstock/{layout.cluster}")


def _words(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def _number(path: Path) -> int:
    return int(path.name) if path.name.isdecimal() else -1


def _container_id(attempt: Path) -> str:
    uid, name = attempt.parents[2].name, attempt.parent.name
    return f"{uid[:13]}-{name}-{attempt.name}"
