"""How a StatefulSet or Deployment does, as conditions of its owner."""

from __future__ import annotations

import pytest

from penstock.cluster.resources import Meta
from penstock.operator.conditions import Cause, Condition
from penstock.operator.resources import (
    ContainerState,
    ContainerStatus,
    Pod,
    PodStatus,
    Template,
    TemplateMetadata,
    Waiting,
    Workload,
    WorkloadSpec,
    WorkloadStatus,
)
from penstock.operator.workloads import carries, health

REFUSED = Cause("ReferenceMissing", "no key")


def workload(
    wanted: int, *, ready: int, updated: int, there: int | None = None, seen: int = 1, **annotations: str
) -> Workload:
    there = wanted if there is None else there
    return Workload(
        metadata=Meta("w", generation=1),
        spec=WorkloadSpec(wanted, Template(TemplateMetadata(annotations))),
        status=WorkloadStatus(observed_generation=seen, replicas=there, ready_replicas=ready, updated_replicas=updated),
    )


def stuck(name: str) -> Pod:
    container = ContainerStatus("slurmctld", ContainerState(Waiting("ImagePullBackOff", "no such image")))
    return Pod(metadata=Meta(name), status=PodStatus(container_statuses=(container,)))


def told(conditions: list[Condition]) -> list[str]:
    return [f"{one.type}: {one.reason}" for one in conditions if one.status]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, ["Progressing: Creating"]),
        (workload(1, ready=1, updated=1), ["Ready: Ready"]),
        (workload(0, ready=0, updated=0), ["Ready: Ready"]),
        (workload(2, ready=1, updated=2), ["Progressing: RollingOut"]),
        (workload(2, ready=2, updated=1), ["Ready: Ready", "Progressing: RollingOut"]),
        (workload(2, ready=2, updated=2, there=3), ["Ready: Ready", "Progressing: RollingOut"]),
        (workload(1, ready=1, updated=1, seen=0), ["Ready: Ready", "Progressing: RollingOut"]),
        (workload(0, ready=1, updated=1, there=1), ["Progressing: RollingOut"]),
    ],
)
def test_ready_are_those_who_serve_and_progressing_those_who_change(
    given: Workload | None, expected: list[str]
) -> None:
    """Of a template that nobody has looked at yet nothing is known to be rolled out."""
    assert told(health(given, [], daemon="slurmctld")) == expected


def test_a_pod_that_does_not_come_up_says_why() -> None:
    conditions = health(workload(1, ready=0, updated=1), [stuck("w-0")], daemon="slurmctld")
    assert told(conditions) == ["Progressing: RollingOut", "Degraded: PodsInTrouble"]
    assert conditions[0].message == (
        "0 of 1 slurmctld pods are ready, 1 are up to date. w-0: slurmctld: ImagePullBackOff: no such image"
    )
    assert conditions[2].message == "w-0: slurmctld: ImagePullBackOff: no such image"


def test_a_hundred_troubles_are_told_as_three() -> None:
    pods = [stuck(f"w-{number}") for number in range(100)]
    told_of = [
        one.message.count("ImagePullBackOff") for one in health(workload(100, ready=0, updated=100), pods, daemon="x")
    ]
    assert told_of == [3, 3, 3]


@pytest.mark.parametrize("given", [None, workload(1, ready=1, updated=1), workload(1, ready=0, updated=1)])
def test_what_somebody_has_to_mend_comes_first(given: Workload | None) -> None:
    conditions = health(given, [stuck("w-0")], daemon="slurmctld", degraded=REFUSED)
    assert conditions[2] == Condition("Degraded", True, "ReferenceMissing", "no key")
    assert conditions[0].status is (given is not None and given.rolled_out)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, False),
        (workload(1, ready=1, updated=1, key="1", other="x"), True),
        (workload(1, ready=1, updated=1, key="2"), False),
        (workload(1, ready=1, updated=1), False),
        (workload(1, ready=0, updated=1, key="1"), False),
        (workload(2, ready=2, updated=1, key="1"), False),
    ],
)
def test_a_workload_carries_what_all_its_pods_have(given: Workload | None, expected: bool) -> None:
    """Annotations that are not known do not count."""
    assert carries(given, {"key": "1", "unknown": None}) is expected
