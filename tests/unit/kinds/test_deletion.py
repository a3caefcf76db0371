"""A NodeSet is not deleted in the foreground, in the same words at every door (NS-3)."""

from pathlib import Path
from typing import Any

import celpy
import pytest
from celpy.adapter import json_to_cel

from penstock.api.deletion import ends_jobs, policy, refusal
from penstock.api.manifest import write
from penstock.api.objects import Json

CHART = Path(__file__).resolve().parents[3] / "charts" / "slurm-operator"
ONLY_WHERE = (
    "{{- if and .Values.nodeSetDeletion.policy"
    ' (.Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy") }}\n'
)


def evaluated(field: str, options: Json, *finalizers: str) -> Any:
    """What the policy says of a deletion of NodeSet slurm/gpu, by the field of its only validation."""
    [validation] = policy()[0]["spec"]["validations"]
    metadata = {"name": "gpu", "namespace": "slurm"} | ({"finalizers": [*finalizers]} if finalizers else {})
    known = {"request": {"options": options}, "oldObject": {"metadata": metadata}}
    environment = celpy.Environment()
    program = environment.program(environment.compile(validation[field]))
    return program.evaluate({name: json_to_cel(value) for name, value in known.items()})


@pytest.mark.parametrize(
    ("options", "finalizers", "goes"),
    [
        ({"propagationPolicy": "Foreground"}, (), False),
        ({"propagationPolicy": "Foreground"}, ("foregroundDeletion",), False),
        ({"propagationPolicy": "Background"}, (), True),
        ({"propagationPolicy": "Background"}, ("foregroundDeletion",), True),
        ({"propagationPolicy": "Orphan"}, (), True),
        ({"orphanDependents": True}, ("foregroundDeletion",), True),
        ({"orphanDependents": False}, ("foregroundDeletion",), True),
        ({}, (), True),
        ({}, ("nodeset.slinky.slurm.net/workers",), True),
        ({}, ("nodeset.slinky.slurm.net/workers", "foregroundDeletion"), False),
    ],
)
def test_the_policy_refuses_what_an_api_server_would_do_in_the_foreground(
    options: Json, finalizers: tuple[str, ...], goes: bool
) -> None:
    """Who says nothing of it gets what a finalizer says (apiserver: shouldDeleteDependents)."""
    assert bool(evaluated("expression", options, *finalizers)) is goes


def test_the_policy_speaks_our_sentence() -> None:
    """It names the NodeSet, the cause and what to type."""
    assert str(evaluated("messageExpression", {})) == refusal("gpu", "slurm")
    assert 'nodeset "gpu" cannot be deleted in the foreground' in refusal("gpu", "slurm")
    assert "kubectl delete nodeset gpu -n slurm --cascade=background" in refusal("gpu", "slurm")
    assert "PrunePropagationPolicy=background" in refusal("gpu", "slurm")


def test_the_policy_is_bound_and_denies_wherever_it_cannot_judge() -> None:
    made, binding = policy()
    assert binding["spec"] == {"policyName": made["metadata"]["name"], "validationActions": ["Deny"]}
    assert made["spec"]["failurePolicy"] == "Fail"


@pytest.mark.parametrize(
    ("resource", "propagation", "ends"),
    [
        ("nodesets.slinky.slurm.net", "Foreground", True),
        ("nodesets.slinky.slurm.net", "Background", False),
        ("nodesets.slinky.slurm.net", "Orphan", False),
        ("controllers.slinky.slurm.net", "Foreground", False),
        ("configmaps", "Foreground", False),
    ],
)
def test_only_a_node_set_in_the_foreground_takes_jobs_along(resource: str, propagation: str, ends: bool) -> None:
    assert ends_jobs(resource, propagation) is ends


def test_the_chart_holds_the_policy_that_we_make() -> None:
    """On by default, where the cluster knows such policies (CL-3)."""
    text = (CHART / "templates" / "nodeset-deletion.yaml").read_text()
    stale = "the policy has changed: put what `penstock crds` prints of it between the first and the last line"
    assert text == f"{ONLY_WHERE}{write(policy())}{{{{- end }}}}\n", stale
    assert "  policy: true\n" in (CHART / "values.yaml").read_text()
