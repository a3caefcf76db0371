"""STATUS, READY and RESTARTS of a pod, as kubectl computes them from what kubelet tells of its containers.

A phase alone says "Running" of a pod that has crashed forty times. The order of the questions is that of Kubernetes'
own printer (`printPod`), for people know its answers by heart.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from penstock.api.objects import Json
from penstock.cli.objects.ages import moment, span
from penstock.cli.objects.fields import at, condition, items, number, text

_ENDED = {"Succeeded", "Failed"}


@dataclass(slots=True)
class _Restarts:
    """How often containers began anew, and when the last of their lives ended."""

    count: int = 0
    last: datetime | None = None

    def add(self, container: Json) -> None:
        self.count += number(container, "restartCount")
        ended = moment(at(container, "lastState", "terminated", "finishedAt"))
        if ended is not None and (self.last is None or ended > self.last):
            self.last = ended

    def told(self, now: datetime) -> str:
        if not self.count or self.last is None:
            return str(self.count)
        return f"{self.count} ({span((now - self.last).total_seconds())} ago)"


@dataclass(slots=True)
class _Findings:
    """What is found on the way through a pod's containers."""

    reason: str
    ready: int = 0
    initializing: bool = False
    restarts: _Restarts = field(default_factory=_Restarts)


@dataclass(frozen=True, slots=True, kw_only=True)
class PodState:
    """A pod in three cells."""

    ready: str
    status: str
    restarts: str


def pod_state(pod: Json, now: datetime) -> PodState:
    """A pod in three cells."""
    found = _Findings(_first_reason(pod))
    sidecars = {text(one, "name") for one in items(pod, "spec", "initContainers") if _is_sidecar(one)}
    _look_at_init(pod, sidecars, found)
    initialized = condition(pod, "Initialized")
    if not found.initializing or text(initialized, "status") == "True":
        _look_at_containers(pod, sidecars, found)
    total = len(items(pod, "spec", "containers")) + len(sidecars)
    status = _leaving(pod) or found.reason
    return PodState(ready=f"{found.ready}/{total}", status=status, restarts=found.restarts.told(now))


def _is_sidecar(container: Json) -> bool:
    return text(container, "restartPolicy") == "Always"


def _first_reason(pod: Json) -> str:
    if text(condition(pod, "PodScheduled"), "reason") == "SchedulingGated":
        return "SchedulingGated"
    return text(pod, "status", "reason") or text(pod, "status", "phase", otherwise="Unknown")


def _leaving(pod: Json) -> str:
    if at(pod, "metadata", "deletionTimestamp") is None:
        return ""
    if text(pod, "status", "reason") == "NodeLost":
        return "Unknown"
    return "" if text(pod, "status", "phase") in _ENDED else "Terminating"


def _look_at_init(pod: Json, sidecars: set[str], found: _Findings) -> None:
    for position, container in enumerate(items(pod, "status", "initContainerStatuses")):
        found.restarts.add(container)
        ended = at(container, "state", "terminated")
        if ended is not None and not number(ended, "exitCode"):
            continue
        if text(container, "name") in sidecars and at(container, "started") is True:
            found.ready += at(container, "ready") is True
            continue
        found.reason = _init_reason(container, position, len(items(pod, "spec", "initContainers")))
        found.initializing = True
        return


def _init_reason(container: Json, position: int, total: int) -> str:
    ended = at(container, "state", "terminated")
    if ended is not None:
        return f"Init:{_end(ended)}"
    waiting = text(container, "state", "waiting", "reason")
    return f"Init:{position}/{total}" if waiting in {"", "PodInitializing"} else f"Init:{waiting}"


def _end(ended: Json) -> str:
    signal = number(ended, "signal")
    return text(ended, "reason") or (f"Signal:{signal}" if signal else f"ExitCode:{number(ended, 'exitCode')}")


def _look_at_containers(pod: Json, sidecars: set[str], found: _Findings) -> None:
    # The restarts of init containers are history once the pod runs; those of sidecars are not.
    found.restarts = _Restarts()
    for container in items(pod, "status", "initContainerStatuses"):
        if text(container, "name") in sidecars:
            found.restarts.add(container)
    running = False
    for container in reversed(items(pod, "status", "containerStatuses")):
        found.restarts.add(container)
        ended = at(container, "state", "terminated")
        if waiting := text(container, "state", "waiting", "reason"):
            found.reason = waiting
        elif ended is not None:
            found.reason = _end(ended)
        elif at(container, "ready") is True and at(container, "state", "running") is not None:
            running = True
            found.ready += 1
    if found.reason == "Completed" and running:
        found.reason = "Running" if text(condition(pod, "Ready"), "status") == "True" else "NotReady"
