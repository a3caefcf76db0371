"""The status of a pod, from what is known of its containers. Pure; the rules are kubelet's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from penstock.api.objects import Json
from penstock.engine.podspec import Container, Pod
from penstock.engine.views import Runs, Terminated, View, Waiting


def status(
    pod: Pod, *, init: Sequence[View], main: Sequence[View], address: str, machine_address: str, now: str
) -> Json:
    """What to say of a pod; conditions that hold as before keep the time since when they do."""
    ready = bool(main) and all(view.ready for view in main) and _sidecars_ready(pod, init)
    initialized = _initialized(pod, init, main)
    phase = _phase(pod, init, main)
    over = phase in {"Succeeded", "Failed"}
    conditions = {
        "PodReadyToStartContainers": (bool(address) and not over, ""),
        "Initialized": (initialized, "" if initialized else "ContainersNotInitialized"),
        "ContainersReady": (ready, _why_unready(ready, over)),
        "Ready": (ready, _why_unready(ready, over)),
        "PodScheduled": (True, ""),
    }
    unready = [view.name for view in main if not view.ready]
    told: Json = {
        "phase": phase,
        "conditions": [_condition(pod, kind, *is_so, unready, now) for kind, is_so in conditions.items()],
        "hostIP": machine_address,
        "startTime": pod.status.get("startTime") or now,
        "containerStatuses": [view.shown() for view in main],
        "initContainerStatuses": [replace(view, ready=view.ready or view.succeeded).shown() for view in init],
        "qosClass": _quality(pod.spec.containers),
    }
    return told | ({"podIP": address, "podIPs": [{"ip": address}]} if address else {})


def _phase(pod: Pod, init: Sequence[View], main: Sequence[View]) -> str:
    once = [view for container, view in zip(pod.spec.init_containers, init, strict=True) if not container.is_sidecar]
    if any(_failed(view) for view in once) and not _begun(main) and pod.spec.restart_policy == "Never":
        return "Failed"
    if not _initialized(pod, init, main):
        return "Pending"
    if any(isinstance(view.state, Waiting) and view.last is None for view in main):
        return "Pending"
    if not main or pod.spec.restart_policy == "Always" or any(not _ended(pod, view) for view in main):
        return "Running"
    if any(is_running(view) for view in init):
        return "Running"  # a sidecar that serves nobody any more, but has not gone yet
    return "Succeeded" if all(view.succeeded for view in main) else "Failed"


def _ended(pod: Pod, view: View) -> bool:
    """Whether a container of a pod that may end has ended for good."""
    return isinstance(view.state, Terminated) and (view.succeeded or pod.spec.restart_policy == "Never")


def _failed(view: View) -> bool:
    return isinstance(view.state, Terminated) and view.state.exit_code != 0


def _begun(main: Sequence[View]) -> bool:
    return any(view.container_id for view in main)


def _initialized(pod: Pod, init: Sequence[View], main: Sequence[View]) -> bool:
    # Who has begun began after them; a sidecar that has gone since changes nothing about that.
    return _begun(main) or all(
        view.started if container.is_sidecar else view.succeeded
        for container, view in zip(pod.spec.init_containers, init, strict=True)
    )


def _sidecars_ready(pod: Pod, init: Sequence[View]) -> bool:
    pairs = zip(pod.spec.init_containers, init, strict=True)
    return all(view.ready for container, view in pairs if container.is_sidecar)


def _why_unready(ready: bool, over: bool) -> str:
    return "" if ready else "PodCompleted" if over else "ContainersNotReady"


def _condition(pod: Pod, kind: str, holds: bool, reason: str, unready: Iterable[str], now: str) -> Json:
    told: Json = {"type": kind, "status": str(holds), "lastTransitionTime": now}
    if reason:
        told["reason"] = reason
        if reason == "ContainersNotReady":
            told["message"] = f"containers with unready status: [{' '.join(unready)}]"
    for before in pod.status.get("conditions", ()):
        if before.get("type") == kind and before.get("status") == told["status"]:
            told["lastTransitionTime"] = before.get("lastTransitionTime") or now
    return told


def _quality(containers: Sequence[Container]) -> str:
    """Kubernetes' quality of service: it only shows here."""
    limited = [(container.resources.limits, container.resources.requests) for container in containers]
    if not any(limits or requests for limits, requests in limited):
        return "BestEffort"
    kinds = ("cpu", "memory")
    fixed = all(all(limits.get(kind) for kind in kinds) and _same(limits, requests) for limits, requests in limited)
    return "Guaranteed" if fixed else "Burstable"


def _same(limits: dict[str, Any], requests: dict[str, Any]) -> bool:
    return all(requests.get(kind, limits[kind]) == limits[kind] for kind in ("cpu", "memory"))


def is_running(view: View) -> bool:
    """Whether the container runs at this moment."""
    return isinstance(view.state, Runs)
