"""Which pods of a ReplicaSet go first when there are too many."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from penstock.engine.workloads.kinds import Pod
from penstock.engine.workloads.replica_set import victims


def pod(name: str, *, phase: str = "Running", ready: bool = True, node: str = "here", cost: str = "0") -> Pod:
    """A pod whose name says when it was made and became ready."""
    time = f"2030-01-01T00:00:0{name}Z"
    body: dict[str, Any] = {
        "metadata": {
            "name": name,
            "creationTimestamp": time,
            "annotations": {"controller.kubernetes.io/pod-deletion-cost": cost},
        },
        "spec": {"nodeName": node},
        "status": {
            "phase": phase,
            "conditions": [{"type": "Ready", "status": str(ready), "lastTransitionTime": time}],
        },
    }
    return msgspec.convert(body, Pod)


@pytest.mark.parametrize(
    "cheap",
    [pod("1", node=""), pod("1", phase="Pending"), pod("1", ready=False), pod("1", cost="-5"), pod("9")],
)
def test_who_costs_the_least_goes_first(cheap: Pod) -> None:
    found = victims([pod("3"), cheap, pod("2"), pod("4", cost="nonsense")], 1)
    assert found == [cheap]


def test_nobody_goes_when_nobody_is_too_many() -> None:
    assert victims([pod("1")], 0) == victims([pod("1")], -1) == []
