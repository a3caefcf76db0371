"""What the engine could not read is known before it is stored."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.engine.workloads.readable import problem


def workload(**spec: Any) -> dict[str, Any]:
    """A workload."""
    return {"metadata": {"name": "web"}, "spec": {"template": {"spec": {"containers": []}}, **spec}}


@pytest.mark.parametrize("resource", ["statefulsets.apps", "deployments.apps", "replicasets.apps", "jobs.batch"])
def test_what_can_be_read_is_fine(resource: str) -> None:
    assert problem(resource, workload()) == ""


def test_kinds_that_nobody_here_reads_are_none_of_our_business() -> None:
    assert problem("widgets.example.com", {"spec": 3}) == ""


@pytest.mark.parametrize(
    ("resource", "body", "words"),
    [
        ("statefulsets.apps", workload(replicas="two"), "$.spec.replicas"),
        ("deployments.apps", workload(strategy={"rollingUpdate": {"maxSurge": "many"}}), "neither a count"),
        ("deployments.apps", workload(template={"spec": {"containers": [{}]}}), "name"),
        ("deployments.apps", workload(template={"metadata": {"labels": {"a": 1}}}), "labels"),
        ("pods", {"metadata": {"name": "p"}, "spec": {"volumes": {}}}, "$.spec.volumes"),
        ("persistentvolumeclaims", {"metadata": {"name": "c"}, "spec": {"accessModes": "RWO"}}, "accessModes"),
    ],
)
def test_what_cannot_be_read_is_named(resource: str, body: dict[str, Any], words: str) -> None:
    assert words in problem(resource, body)
