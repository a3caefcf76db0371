"""STATUS, READY and RESTARTS of pods are kubectl's."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.api.objects import Json
from penstock.cli.objects.podstatus import pod_state

from .world import NOW, ago


def told(name: str = "a", ready: bool = False, restarts: int = 0, last: Json | None = None, **state: Any) -> Json:
    """A container's status."""
    return {"name": name, "ready": ready, "restartCount": restarts, "state": state, "lastState": last or {}}


RUNNING: Json = {"running": {"startedAt": "x"}}


def pod(phase: str = "Running", *, init: list[Json] | None = None, leaving: bool = False, **status: Any) -> Json:
    """A pod of containers a and b, and init containers i and s, of which s is a sidecar."""
    spec: Json = {"containers": [{"name": "a"}, {"name": "b"}]}
    if init is not None:
        spec["initContainers"] = [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}]
        status["initContainerStatuses"] = init
    metadata = {"name": "x"} | ({"deletionTimestamp": "2026-01-01T00:00:00Z"} if leaving else {})
    return {"metadata": metadata, "spec": spec, "status": {"phase": phase} | status}


CASES: list[tuple[str, Json, tuple[str, str, str]]] = [
    ("just made", pod("Pending"), ("0/2", "Pending", "0")),
    (
        "creating",
        pod("Pending", containerStatuses=[told(waiting={"reason": "ContainerCreating"})]),
        ("0/2", "ContainerCreating", "0"),
    ),
    (
        "running",
        pod(containerStatuses=[told(ready=True, **RUNNING), told(ready=True, **RUNNING)]),
        ("2/2", "Running", "0"),
    ),
    ("half ready", pod(containerStatuses=[told(ready=True, **RUNNING), told(**RUNNING)]), ("1/2", "Running", "0")),
    (
        "crashing",
        pod(
            containerStatuses=[
                told(
                    restarts=3,
                    waiting={"reason": "CrashLoopBackOff"},
                    last={"terminated": {"finishedAt": ago(minutes=5)}},
                ),
                told(ready=True, restarts=1, last={"terminated": {"finishedAt": ago(hours=5)}}, **RUNNING),
            ]
        ),
        ("1/2", "CrashLoopBackOff", "4 (5m ago)"),
    ),
    (
        "no image",
        pod("Pending", containerStatuses=[told(waiting={"reason": "ImagePullBackOff"})]),
        ("0/2", "ImagePullBackOff", "0"),
    ),
    (
        "completed",
        pod("Succeeded", containerStatuses=[told(terminated={"exitCode": 0, "reason": "Completed"})]),
        ("0/2", "Completed", "0"),
    ),
    (
        "failed",
        pod("Failed", containerStatuses=[told(terminated={"exitCode": 1, "reason": "Error"})]),
        ("0/2", "Error", "0"),
    ),
    ("exit code", pod("Failed", containerStatuses=[told(terminated={"exitCode": 7})]), ("0/2", "ExitCode:7", "0")),
    (
        "signal",
        pod("Failed", containerStatuses=[told(terminated={"signal": 9, "exitCode": 137})]),
        ("0/2", "Signal:9", "0"),
    ),
    (
        "one done, one runs",
        pod(
            containerStatuses=[told(terminated={"exitCode": 0, "reason": "Completed"}), told(ready=True, **RUNNING)],
            conditions=[{"type": "Ready", "status": "True"}],
        ),
        ("1/2", "Running", "0"),
    ),
    (
        "one done, one runs, not ready",
        pod(containerStatuses=[told(terminated={"exitCode": 0, "reason": "Completed"}), told(ready=True, **RUNNING)]),
        ("1/2", "NotReady", "0"),
    ),
    ("evicted", pod("Failed", reason="Evicted"), ("0/2", "Evicted", "0")),
    ("leaving", pod(leaving=True, containerStatuses=[told(ready=True, **RUNNING)]), ("1/2", "Terminating", "0")),
    ("leaving, but done", pod("Succeeded", leaving=True), ("0/2", "Succeeded", "0")),
    ("lost", pod(leaving=True, reason="NodeLost"), ("0/2", "Unknown", "0")),
    (
        "gated",
        pod("Pending", conditions=[{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]),
        ("0/2", "SchedulingGated", "0"),
    ),
    ("init 0/2", pod("Pending", init=[told("i", **RUNNING)]), ("0/3", "Init:0/2", "0")),
    (
        "init 1/2",
        pod("Pending", init=[told("i", terminated={"exitCode": 0}), told("s", waiting={"reason": "PodInitializing"})]),
        ("0/3", "Init:1/2", "0"),
    ),
    (
        "init fails",
        pod("Pending", init=[told("i", terminated={"exitCode": 2, "reason": "Error"})]),
        ("0/3", "Init:Error", "0"),
    ),
    ("init exit code", pod("Pending", init=[told("i", terminated={"exitCode": 2})]), ("0/3", "Init:ExitCode:2", "0")),
    (
        "init crashing",
        pod("Pending", init=[told("i", restarts=2, waiting={"reason": "CrashLoopBackOff"})]),
        ("0/3", "Init:CrashLoopBackOff", "2"),
    ),
    (
        "sidecar counts",
        pod(
            init=[
                told("i", restarts=5, terminated={"exitCode": 0}),
                told("s", ready=True, restarts=1, **RUNNING) | {"started": True},
            ],
            containerStatuses=[told(ready=True, **RUNNING), told(ready=True, **RUNNING)],
        ),
        ("3/3", "Running", "1"),
    ),
]


@pytest.mark.parametrize(("given", "cells"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_pod_is_told_as_kubectl_tells_it(given: Json, cells: tuple[str, str, str]) -> None:
    state = pod_state(given, NOW)
    assert (state.ready, state.status, state.restarts) == cells
