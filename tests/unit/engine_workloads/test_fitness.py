"""Which pods this machine takes, and what it says to the others."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from penstock.api.objects import Json
from penstock.engine.workloads.fitness import refusal
from penstock.engine.workloads.kinds import Claim, Machine, Pod

LABELS = {"kubernetes.io/hostname": "here", "kubernetes.io/arch": "amd64", "size": "4"}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def pod(name: str = "p", labels: dict[str, str] | None = None, *, phase: str = "Running", **spec: Any) -> Pod:
    """A pod."""
    meta = {"name": name, "namespace": "slurm", "uid": name, "labels": labels or {}}
    return msgspec.convert({"metadata": meta, "spec": spec, "status": {"phase": phase}}, Pod)


def machine(**spec: Any) -> Machine:
    """This machine."""
    return msgspec.convert({"metadata": {"name": "here", "labels": LABELS}, "spec": spec}, Machine)


def claim(phase: str, *, leaving: bool = False) -> Claim:
    """A claim."""
    meta = {"name": "data"} | ({"deletionTimestamp": "2030-01-01T00:00:00Z"} if leaving else {})
    return msgspec.convert({"metadata": meta, "status": {"phase": phase}}, Claim)


def node_affinity(**term: Any) -> Json:
    """Required node affinity."""
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}}


def apart(app: str, key: str = "kubernetes.io/hostname", kind: str = "podAntiAffinity") -> Json:
    """Required anti-affinity."""
    return {kind: {REQUIRED: [{"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}]}}


def expression(key: str, operator: str, *values: str) -> Json:
    """A requirement on a label."""
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    "affinity",
    [
        node_affinity(**expression("kubernetes.io/arch", "In", "amd64", "arm64")),
        node_affinity(**expression("gpu", "DoesNotExist")),
        node_affinity(**expression("size", "Gt", "3")),
        node_affinity(matchFields=[{"key": "metadata.name", "operator": "In", "values": ["here"]}]),
        apart("other"),
        apart("self", kind="podAffinity"),
    ],
)
def test_a_pod_that_may_run_here(affinity: Json) -> None:
    one = pod(labels={"app": "self"}, affinity=affinity, nodeSelector={"size": "4"})
    assert refusal(one, machine(), [pod("q", {"app": "third"})], {"data": claim("Bound")}) == ""


@pytest.mark.parametrize(
    "affinity",
    [
        node_affinity(**expression("kubernetes.io/arch", "In", "arm64")),
        node_affinity(**expression("kubernetes.io/arch", "Unheard", "amd64")),
        node_affinity(matchFields=[{"key": "metadata.name", "operator": "In", "values": ["elsewhere"]}]),
        node_affinity(),
    ],
)
def test_a_machine_that_is_not_the_one_meant(affinity: Json) -> None:
    assert "node affinity/selector" in refusal(pod(affinity=affinity), machine(), [], {})


def test_a_node_selector_counts() -> None:
    assert "node affinity/selector" in refusal(pod(nodeSelector={"gpu": "yes"}), machine(), [], {})


def test_a_second_slurmctld_stays_off_the_machine_of_the_first() -> None:
    """As it would with one machine in Kubernetes: a backup beside its primary is none."""
    one, two = (pod(name, {"app": "slurmctld"}, affinity=apart("slurmctld")) for name in ("c-0", "c-1"))
    assert refusal(one, machine(), [], {}) == ""
    assert refusal(two, machine(), [one], {}) == "1 node(s) didn't match pod anti-affinity rules"


def test_whoever_is_here_may_object_as_well() -> None:
    loner = pod("loner", affinity=apart("noisy"))
    assert "existing pods anti-affinity" in refusal(pod(labels={"app": "noisy"}), machine(), [loner], {})


@pytest.mark.parametrize("ended", ["Failed", "Succeeded"])
def test_who_has_ended_objects_no_more(ended: str) -> None:
    assert refusal(pod(affinity=apart("a")), machine(), [pod("q", {"app": "a"}, phase=ended)], {}) == ""


def test_a_cordon_holds_pods_off_unless_they_tolerate_it() -> None:
    cordoned = machine(unschedulable=True)
    assert refusal(pod(), cordoned, [], {}) == "1 node(s) were unschedulable"
    fine = pod(tolerations=[{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}])
    assert refusal(fine, cordoned, [], {}) == ""


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        ({"key": "gpu", "value": "a100"}, True),
        ({"key": "gpu", "value": "h100"}, False),
        ({"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}, True),
        ({"key": "gpu", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"operator": "Exists"}, True),
        ({"value": "a100"}, False),
    ],
)
def test_taints_and_tolerations(toleration: Json, tolerated: bool) -> None:
    tainted = machine(taints=[{"key": "gpu", "value": "a100", "effect": "NoSchedule"}])
    assert (refusal(pod(tolerations=[toleration]), tainted, [], {}) == "") is tolerated


def test_a_taint_that_only_asks_is_no_hindrance() -> None:
    assert refusal(pod(), machine(taints=[{"key": "slow", "effect": "PreferNoSchedule"}]), [], {}) == ""


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (None, 'persistentvolumeclaim "data" not found'),
        (claim("Pending"), "unbound immediate PersistentVolumeClaims"),
        (claim("Bound", leaving=True), 'persistentvolumeclaim "data" is being deleted'),
    ],
)
def test_a_pod_waits_for_its_claims(found: Claim | None, words: str) -> None:
    assert words in refusal(pod(), machine(), [], {"data": found})


def test_gates_hold_a_pod_back() -> None:
    assert "scheduling gates" in refusal(pod(schedulingGates=[{"name": "wait"}]), machine(), [], {})
