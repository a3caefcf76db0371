"""This machine as a Node of the store, so that everything that asks for machines finds one."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from penstock.api.objects import Json
from penstock.cluster.port import Cluster
from penstock.engine.workloads.context import stamp
from penstock.engine.workloads.kinds import MACHINES

HOSTNAME = "kubernetes.io/hostname"
_ENGINE = "penstock-engine"
_MOST_PODS = "1000"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


async def register(cluster: Cluster, name: str, *, address: str, storage: Path, now: datetime) -> None:
    """Have this machine in the store: once at the start, for on one machine nobody needs a heartbeat.

    What people put on it, a cordon say, stays.
    """
    body: Json = {"metadata": {"name": name, "labels": _labels(name)}}
    there = await cluster.apply(MACHINES, body, manager=_ENGINE)
    before: list[Json] = there.status.get("conditions") or []
    await cluster.apply_status(
        MACHINES, {"metadata": {"name": name}, "status": _status(name, address, storage, before, now)}, manager=_ENGINE
    )


def _labels(name: str) -> dict[str, str]:
    machine = platform.machine()
    return {
        HOSTNAME: name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": _ARCHITECTURES.get(machine, machine),
        "node.kubernetes.io/instance-type": "penstock",
    }


def _status(name: str, address: str, storage: Path, before: Sequence[Json], now: datetime) -> Json:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 1024
    room = shutil.disk_usage(storage).total // 1024
    capacity = {
        "cpu": str(os.cpu_count() or 1),
        "memory": f"{memory}Ki",
        "ephemeral-storage": f"{room}Ki",
        "pods": _MOST_PODS,
    }
    ready = {"type": "Ready", "status": "True", "reason": "EngineReady", "message": "The engine of Penstock runs pods."}
    was = next((one for one in before if one["type"] == "Ready" and one["status"] == "True"), None)
    since = was["lastTransitionTime"] if was else stamp(now)
    addresses = [{"type": "InternalIP", "address": address}] if address else []
    return {
        "capacity": capacity,
        "allocatable": capacity,
        "addresses": [*addresses, {"type": "Hostname", "address": name}],
        "conditions": [{**ready, "lastTransitionTime": since}],
        "nodeInfo": {
            "operatingSystem": "linux",
            "architecture": _labels(name)["kubernetes.io/arch"],
            "kernelVersion": platform.release(),
            "osImage": _system(),
            "containerRuntimeVersion": "penstock://conmon-runc",
        },
    }


def _system() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "Linux")
    except OSError:
        return "Linux"
