"""Where a worker may run, by Kubernetes' own rules (NS-2, in DaemonSet mode)."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.api.objects import Json
from penstock.operator.nodeset.machines import keeps, takes
from penstock.operator.resources import Machine, Taint

from .workers import machine

RACK = machine("rack1", labels={"gpu": "a100", "disks": "8", "zone": "", "odd": "1_000"})


def affinity(*terms: Json) -> Json:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [*terms]}}
    return {"affinity": {"nodeAffinity": required}}


def label(key: str, operator: str, *values: str) -> Json:
    return {"matchExpressions": [{"key": key, "operator": operator, **({"values": [*values]} if values else {})}]}


def field(operator: str, *values: str) -> Json:
    return {"matchFields": [{"key": "metadata.name", "operator": operator, "values": [*values]}]}


@pytest.mark.parametrize(
    ("spec", "meant"),
    [
        ({}, True),
        ({"nodeSelector": None, "affinity": None, "tolerations": None}, True),
        ({"nodeSelector": {"gpu": "a100", "zone": ""}}, True),
        ({"nodeSelector": {"gpu": "h100"}}, False),
        ({"nodeSelector": {"rack": "1"}}, False),
        ({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}}}, True),
        (affinity(), False),
        (affinity({}), False),
        (affinity({"matchExpressions": []}), False),
        (affinity(label("gpu", "In", "h100", "a100")), True),
        (affinity(label("gpu", "In", "h100")), False),
        (affinity(label("rack", "In", "")), False),
        (affinity(label("gpu", "NotIn", "h100")), True),
        (affinity(label("gpu", "NotIn", "a100")), False),
        (affinity(label("rack", "NotIn", "1")), True),
        (affinity(label("zone", "Exists")), True),
        (affinity(label("rack", "Exists")), False),
        (affinity(label("rack", "DoesNotExist")), True),
        (affinity(label("zone", "DoesNotExist")), False),
        (affinity(label("disks", "Gt", "7")), True),
        (affinity(label("disks", "Gt", "8")), False),
        (affinity(label("disks", "Gt", "-1")), True),
        (affinity(label("disks", "Lt", "10")), True),
        (affinity(label("disks", "Lt", "8")), False),
        (affinity(label("rack", "Lt", "8")), False),
        (affinity(label("gpu", "Gt", "8")), False),
        (affinity(label("disks", "Gt", "many")), False),
        (affinity(label("disks", "Gt")), False),
        (affinity(label("disks", "Gt", "1", "2")), False),
        (affinity(label("odd", "Gt", "1")), False),
        (affinity(label("gpu", "Like", "a100")), False),
        (affinity(field("In", "rack1")), True),
        (affinity(field("In", "rack2")), False),
        (affinity(field("NotIn", "rack1")), False),
        (affinity(field("NotIn", "rack2")), True),
        (affinity(label("gpu", "Exists") | field("In", "rack1")), True),
        (affinity(label("rack", "Exists") | field("In", "rack1")), False),
        (affinity(label("rack", "Exists"), field("In", "rack1")), True),
        ({"nodeSelector": {"gpu": "h100"}, **affinity(label("gpu", "Exists"))}, False),
    ],
)
def test_selectors_and_affinity(spec: Json, meant: bool) -> None:
    """Terms are alternatives, expressions of a term are not, and a term without any stands for no machine."""
    assert takes(RACK, spec) is meant
    assert keeps(RACK, spec) is meant


def tolerating(**fields: Any) -> Json:
    return {"tolerations": [fields]}


DEDICATED = Taint("dedicated", "NoSchedule", "slurm")


@pytest.mark.parametrize(
    ("spec", "tolerated"),
    [
        ({}, False),
        (tolerating(key="dedicated", operator="Exists"), True),
        (tolerating(key="dedicated", operator="Exists", effect="NoSchedule"), True),
        (tolerating(key="dedicated", operator="Exists", effect=""), True),
        (tolerating(key="dedicated", operator="Exists", effect="NoExecute"), False),
        (tolerating(key="dedicated", operator="Equal", value="slurm"), True),
        (tolerating(key="dedicated", value="slurm"), True),
        (tolerating(key="dedicated", operator="", value="slurm"), True),
        (tolerating(key="dedicated", value="web"), False),
        (tolerating(key="dedicated"), False),
        (tolerating(key="other", operator="Exists"), False),
        (tolerating(operator="Exists"), True),
        (tolerating(key="", operator="Exists", effect="NoExecute"), False),
        (tolerating(key="", operator="Equal", value="slurm"), False),
        (tolerating(key="dedicated", operator="Near", value="slurm"), False),
    ],
)
def test_taints_and_tolerations(spec: Json, tolerated: bool) -> None:
    """An empty key with Exists is every taint, an empty effect every effect."""
    assert takes(machine("m", DEDICATED), spec) is tolerated
    assert keeps(machine("m", DEDICATED), spec), "who is there already minds only what drives pods out"


def test_every_taint_has_to_be_tolerated() -> None:
    both = machine("m", DEDICATED, Taint("gpu", "NoExecute"))
    one, other = {"key": "dedicated", "operator": "Exists"}, {"key": "gpu", "operator": "Exists"}
    assert not takes(both, {"tolerations": [one]})
    assert takes(both, {"tolerations": [one, other]})
    assert not keeps(both, {"tolerations": [one]})
    assert keeps(both, {"tolerations": [other]})


UNREACHABLE = [Taint(f"node.kubernetes.io/{word}", "NoExecute") for word in ("not-ready", "unreachable")]


@pytest.mark.parametrize(
    ("where", "new", "old"),
    [
        (machine("m"), True, True),
        (machine("m", cordoned=True), False, True),
        (machine("m", Taint("node.kubernetes.io/unschedulable", "NoSchedule"), cordoned=True), False, True),
        (machine("m", Taint("slow", "PreferNoSchedule")), True, True),
        (machine("m", Taint("node.kubernetes.io/disk-pressure", "NoSchedule")), False, True),
        (machine("m", Taint("maintenance", "NoExecute")), False, False),
        (machine("m", Taint("node.kubernetes.io/out-of-service", "NoExecute")), False, False),
        *((machine("m", taint), False, True) for taint in UNREACHABLE),
    ],
)
def test_who_is_there_stays_longer_than_others_may_come(where: Machine, new: bool, old: bool) -> None:
    """A machine that is cordoned, or not heard of for a moment, keeps its worker, as with Kubernetes' DaemonSets."""
    assert (takes(where, {}), keeps(where, {})) == (new, old)


def test_a_cordon_counts_for_those_too_who_tolerate_everything() -> None:
    """Kubernetes would let them in; who cordons a machine does not want new jobs there."""
    assert not takes(machine("m", cordoned=True), tolerating(operator="Exists"))
