"""What a pod is told about itself, letter by letter as kubelet says it."""

from __future__ import annotations

import pytest
from tests.unit.engine.pods import at, pod

from penstock.engine.downward import Facts, NoSuchField, field_value, resource_value
from penstock.engine.podspec import ResourceFieldRef

ME = pod(
    "login-0",
    labels={"b": "2", "a": "1"},
    annotations={"note": 'say "hi"\n\tü\x00\u200b'},
    nodeName="machine",
    containers=[
        {"name": "main", "resources": {"limits": {"cpu": "1500m", "memory": "1Gi"}, "requests": {"cpu": "100m"}}},
        {"name": "side"},
    ],
)
FACTS = Facts(pod_ip="10.244.0.9", host_ip="192.0.2.1", allocatable={"cpu": "2", "memory": "24Gi"})


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata.name", "login-0"),
        ("metadata.namespace", "slurm"),
        ("metadata.uid", "uid-of-login-0"),
        ("metadata.labels['a']", "1"),
        ("metadata.labels['missing']", ""),
        ("metadata.labels", 'a="1"\nb="2"'),
        ("metadata.annotations", 'note="say \\"hi\\"\\n\\tü\\x00\\u200b"'),
        ("spec.nodeName", "machine"),
        ("spec.serviceAccountName", "default"),
        ("status.podIP", "10.244.0.9"),
        ("status.hostIP", "192.0.2.1"),
    ],
)
def test_fields(path: str, value: str) -> None:
    assert field_value(ME, path, FACTS) == value


def test_addresses_come_from_the_status_when_the_engine_says_nothing() -> None:
    assert field_value(pod("x", status=at("10.244.0.7")), "status.podIP", Facts()) == "10.244.0.7"


@pytest.mark.parametrize(
    ("resource", "container", "divisor", "value"),
    [
        ("limits.cpu", "main", "1", "2"),
        ("limits.cpu", "main", "1m", "1500"),
        ("limits.cpu", "main", "0", "2"),
        ("requests.cpu", "main", "1", "1"),
        ("limits.memory", "main", "1", str(1024**3)),
        ("limits.memory", "main", "1Mi", "1024"),
        ("requests.memory", "main", "1Mi", "1024"),
        ("limits.cpu", "side", "1", "2"),
        ("limits.memory", "side", "1Gi", "24"),
        ("requests.cpu", "side", "1", "0"),
    ],
)
def test_resources_are_rounded_up_and_fall_back_to_what_the_machine_has(
    resource: str, container: str, divisor: str, value: str
) -> None:
    ref = ResourceFieldRef(resource=resource, container_name=container, divisor=divisor)
    assert resource_value(ME, ref, FACTS) == value


def test_a_variable_speaks_of_its_own_container() -> None:
    assert resource_value(ME, ResourceFieldRef(resource="limits.cpu"), FACTS, container=ME.spec.containers[0]) == "2"


@pytest.mark.parametrize("path", ["spec.containers", "metadata.labels['x", "", "status.phase"])
def test_what_cannot_be_told_is_refused_by_name(path: str) -> None:
    with pytest.raises(NoSuchField, match=r"pod slurm/login-0: no field"):
        field_value(ME, path, FACTS)


@pytest.mark.parametrize(
    ("ref", "words"),
    [
        (ResourceFieldRef(resource="limits.cpu", container_name="nobody"), 'container "nobody", which it has not'),
        (ResourceFieldRef(resource="cpu", container_name="main"), '"cpu" is no resource'),
        (ResourceFieldRef(resource="limits.cpu", container_name="main", divisor="two"), '"two" is not a quantity'),
    ],
)
def test_a_wrong_resource_is_refused_by_name(ref: ResourceFieldRef, words: str) -> None:
    with pytest.raises(NoSuchField, match=words):
        resource_value(ME, ref, FACTS)
