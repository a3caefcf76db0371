"""What the agent reads of a pod, and what it writes about pods and nodes. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from kube.commands import COMMANDS

KUBELET = f"v{COMMANDS['kubelet'].version}"
# More than any test wants, so that only what the pods ask for decides where they go.
CAPACITY = {"cpu": "256", "memory": "1Ti", "ephemeral-storage": "1Ti", "pods": "1000"}
_READY = ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready")


class Lean(msgspec.Struct, rename="camel", frozen=True):
    """An object of which only the fields named here are decoded; a bookmark has hardly any."""


class Meta(Lean, frozen=True):
    """Who a pod is."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    deletion_timestamp: str = ""
    annotations: dict[str, str] = {}


class Container(Lean, frozen=True):
    """A container as it was asked for."""

    name: str
    image: str = ""
    restart_policy: str = ""


class PodSpec(Lean, frozen=True):
    """What a pod asks for."""

    node_name: str = ""
    host_network: bool = False
    containers: list[Container] | None = None  # a bookmark says null
    init_containers: list[Container] = []


class PodStatus(Lean, frozen=True):
    """How far a pod is."""

    phase: str = ""
    pod_ip: str = msgspec.field(default="", name="podIP")


class Pod(Lean, frozen=True):
    """A pod."""

    metadata: Meta = Meta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def path(self) -> str:
        """Where the API server keeps it."""
        return f"/api/v1/namespaces/{self.metadata.namespace}/pods/{self.metadata.name}"

    @property
    def leaving(self) -> bool:
        """Whether somebody has deleted it, with grace."""
        return self.metadata.deletion_timestamp != ""

    @property
    def ends_the_beginning(self) -> bool:
        """Whether this is no pod but a sign: all that were there before the watch have been told."""
        return "k8s.io/initial-events-end" in self.metadata.annotations


class Event(Lean, frozen=True):
    """One line of a watch."""

    type: str
    object: msgspec.Raw
    """A pod, unless the type is ERROR."""


def timestamp() -> str:
    """Now, in the finest form that Kubernetes takes (of leases; others may have it coarser)."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def running(pod: Pod, *, pod_ip: str, host_ip: str) -> dict[str, Any]:
    """The status of a pod all of whose containers run, and whose preparations are done."""
    now = timestamp()
    address = host_ip if pod.spec.host_network else pod_ip
    return {
        "phase": "Running",
        "startTime": now,
        "hostIP": host_ip,
        "hostIPs": [{"ip": host_ip}],
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": [{"type": name, "status": "True", "lastTransitionTime": now} for name in _READY],
        "containerStatuses": [_runs(container, now) for container in pod.spec.containers or ()],
        "initContainerStatuses": [
            _runs(container, now) if container.restart_policy == "Always" else _is_done(container, now)
            for container in pod.spec.init_containers
        ],
    }


def _runs(container: Container, now: str) -> dict[str, Any]:
    return _container(container, now) | {"started": True, "state": {"running": {"startedAt": now}}}


def _is_done(container: Container, now: str) -> dict[str, Any]:
    end = {"exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now}
    return _container(container, now) | {"started": False, "state": {"terminated": end}}


def _container(container: Container, now: str) -> dict[str, Any]:
    identity = {"containerID": f"fake://{container.name}-{now}", "imageID": f"fake://{container.image}"}
    return {"name": container.name, "image": container.image, "ready": True, "restartCount": 0, **identity}


def node(name: str) -> dict[str, Any]:
    """A node as a kubelet registers it."""
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {**labels, "type": "fake"}}}


def node_status(name: str, address: str) -> dict[str, Any]:
    """The status of a node that is well."""
    now = timestamp()
    times = {"lastHeartbeatTime": now, "lastTransitionTime": now}
    healthy = {"MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False", "Ready": "True"}
    return {
        "capacity": CAPACITY,
        "allocatable": CAPACITY,
        "addresses": [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}],
        "conditions": [{"type": kind, "status": status, "reason": "Fake", **times} for kind, status in healthy.items()],
        "nodeInfo": {"kubeletVersion": KUBELET, "operatingSystem": "linux", "architecture": "amd64"},
    }


def lease(name: str) -> dict[str, Any]:
    """The sign of life of a node, as a kubelet makes it."""
    spec = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": timestamp()}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}, "spec": spec}
