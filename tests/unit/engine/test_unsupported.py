"""What a pod asks for and does not get is said, never passed over."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.unit.engine.pods import pod

from penstock.engine.cgroups import Cgroups, Kind
from penstock.engine.unsupported import refusals, remarks, unknown

NO_MEMORY = Cgroups(kind=Kind.V1, controllers=frozenset({"cpu"}), trees=())


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"shareProcessNamespace": True}, "shareProcessNamespace is not supported yet"),
        ({"hostUsers": False}, "hostUsers: false"),
        ({"hostNetwork": True, "securityContext": {"sysctls": [{"name": "net.x", "value": "1"}]}}, "sysctls net"),
        ({"securityContext": {"seccompProfile": {"type": "Localhost"}}}, "seccompProfile Localhost"),
        (
            {"containers": [{"name": "c", "securityContext": {"appArmorProfile": {"type": "Localhost"}}}]},
            "container c: appArm",
        ),
        (
            {"containers": [{"name": "c", "volumeDevices": [{"name": "d", "devicePath": "/dev/x"}]}]},
            "container c: volumeD",
        ),
        (
            {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": 1}}}]},
            "its limit of nvidia.com/gpu",
        ),
        (
            {"initContainers": [{"name": "i", "securityContext": {"capabilities": {"add": ["FLY"]}}}]},
            "container i: capab",
        ),
        ({"containers": [{"name": "c", "securityContext": {"procMount": "Odd"}}]}, "procMount Odd"),
    ],
)
def test_what_would_change_rights_or_view_is_refused(spec: dict[str, Any], words: str) -> None:
    found = refusals(pod("p", **spec))
    assert len(found) == 1
    assert words in found[0]


def test_an_ordinary_pod_is_not_refused() -> None:
    container = {
        "name": "c", "resources": {"limits": {"cpu": 1, "memory": "1Gi", "ephemeral-storage": "1Gi"}},
        "securityContext": {"privileged": True, "seccompProfile": {"type": "RuntimeDefault"}},
    }  # fmt: skip
    subject = pod("p", containers=[container])
    assert refusals(subject) == []
    assert remarks(subject, NO_MEMORY) == [
        "container c: its limit of ephemeral-storage is not enforced",
        "container c: its memory limit is not enforced: this machine has no memory controller",
    ]


def test_fields_that_nobody_here_knows_are_found_wherever_they_are() -> None:
    spec = {
        "runtimeClassName": "gvisor",
        "securityContext": {"seLinuxOptions": {"level": "s0"}},
        "volumes": [{"name": "a", "emptyDir": {}}, {"name": "b", "nfs": {"server": "x"}}],
        "containers": [{"name": "c", "readinessProbe": {"grpc": {"port": 1}}, "env": [{"name": "A", "value": "x"}]}],
        "tolerations": [{"key": "x"}], "dnsPolicy": "ClusterFirst", "setHostnameAsFQDN": False,
    }  # fmt: skip
    assert unknown(spec) == [
        "runtimeClassName", "securityContext.seLinuxOptions", "volumes[1].nfs", "containers[0].readinessProbe.grpc",
    ]  # fmt: skip


def test_everything_that_penstock_itself_renders_is_known() -> None:
    golden = Path(__file__).parents[2] / "golden"
    specs = [spec for path in golden.rglob("objects.yaml") for spec in _pod_specs(path.read_text())]
    assert specs
    # Some golden files hold what a person added; nobody promised them NFS.
    assert {place for spec in specs for place in unknown(spec) if not place.endswith(".nfs")} == set()


def _pod_specs(text: str) -> list[dict[str, Any]]:
    """The pods and templates of pods in a file; the rest of it is not even read, for that takes long."""
    pieces = [
        piece
        for piece in text.split("\n---\n")
        if re.search(r"^kind: (Pod|StatefulSet|Deployment)$", piece, re.MULTILINE)
    ]
    documents = [yaml.load(piece, yaml.CSafeLoader)["spec"] for piece in pieces]
    return [spec["template"]["spec"] if "template" in spec else spec for spec in documents]
