"""The six kinds on a real API server, through the real kubectl (NS-1, NS-6, CL-1)."""

import json
import time
from typing import Any

import pytest

from penstock.api.kinds import GROUP, KINDS
from penstock.cli.sources import sample

from .control_plane import ControlPlane
from .specs import an_object

pytestmark = pytest.mark.usefixtures("crds")


class User:
    """Somebody with kubectl in a namespace."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self.plane, self.namespace = plane, namespace

    def says(self, *arguments: str, stdin: str = "") -> str:
        """Run kubectl, which must succeed."""
        return self.plane.kubectl_says("--namespace", self.namespace, *arguments, stdin=stdin)

    def creates(self, *objects: dict[str, Any]) -> None:
        """Create objects."""
        self.says("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def reads(self, *what: str) -> dict[str, Any]:
        """Read an object back."""
        value: dict[str, Any] = json.loads(self.says("get", *what, "-o", "json"))
        return value


@pytest.fixture
def user(control_plane: ControlPlane, namespace: str) -> User:
    return User(control_plane, namespace)


def test_all_six_are_served(crds: list[str]) -> None:
    kind = "customresourcedefinition.apiextensions.k8s.io"
    assert sorted(crds) == [f"{kind}/{info.plural}.{GROUP}" for info in KINDS]


def test_every_short_name_is_understood(user: User) -> None:
    names = [name for info in KINDS for name in (info.kind.lower(), info.plural, *info.short_names)]
    assert "nss" in names
    user.says("get", ",".join(names))


def test_a_list_shows_what_matters(user: User) -> None:
    user.creates(an_object("NodeSet", "gpu"))
    told = {
        "desired": 4,
        "replicas": 3,
        "updatedReplicas": 2,
        "readyReplicas": 1,
        "nodeSetHash": "x",
        "selector": "a=b",
    }
    user.says("patch", "nodeset/gpu", "--subresource=status", "--type=merge", "-p", json.dumps({"status": told}))
    head, line = user.says("get", "nss").splitlines()
    assert head.split() == ["NAME", "DESIRED", "REPLICAS", "UPDATED", "READY", "AGE"]
    assert line.split()[:5] == ["gpu", "4", "3", "2", "1"]
    assert user.says("get", "nss", "-o", "wide").splitlines()[0].split()[5:9] == ["IDLE", "ALLOCATED", "DOWN", "DRAIN"]


def test_status_goes_through_its_own_door(user: User) -> None:
    user.creates(an_object("NodeSet", "gpu") | {"status": {"replicas": 9, "nodeSetHash": "x", "selector": "a=b"}})
    assert "status" not in user.reads("nodeset/gpu")


@pytest.mark.parametrize("kind", [info.kind for info in KINDS if info.scales])
def test_scale_changes_the_replicas(user: User, kind: str) -> None:
    user.creates(an_object(kind, "one"))
    user.says("scale", f"{kind.lower()}/one", "--replicas=3")
    assert user.reads(f"{kind.lower()}/one")["spec"]["replicas"] == 3


def test_explain_describes_the_fields(user: User) -> None:
    """The description of a new kind comes to kubectl a moment after the kind itself."""
    deadline = time.monotonic() + 30
    while (said := user.plane.kubectl("explain", "nodeset.spec")).returncode and time.monotonic() < deadline:
        time.sleep(0.2)
    assert "How many workers, in StatefulSet mode." in said.stdout, said.stderr
    assert "maxUnavailable" in user.says("explain", "nodeset.spec.updateStrategy.rollingUpdate")


def test_defaults_are_filled_in(user: User) -> None:
    user.creates(an_object("NodeSet", "gpu"), an_object("LoginSet", "login"))
    spec = user.reads("nodeset/gpu")["spec"]
    assert (spec["replicas"], spec["scalingMode"], spec["workloadDisruptionProtection"]) == (1, "StatefulSet", True)
    assert user.reads("loginset/login")["spec"]["replicas"] == 1


def test_what_kubernetes_may_learn_one_day_survives_in_pod_specs(user: User) -> None:
    pod = {"hostname": "gpu-", "fromTheFuture": True}
    container = {"name": "slurmd", "fromTheFuture": {"a": [1, {"b": None}]}}
    user.creates(an_object("NodeSet", "gpu", {"template": {"spec": pod}, "slurmd": container}))
    spec = user.reads("nodeset/gpu")["spec"]
    assert spec["template"]["spec"] == pod
    assert spec["slurmd"] == container


def test_a_misspelt_field_is_refused(user: User) -> None:
    wrong = json.dumps(an_object("NodeSet", "gpu", {"replica": 3}))
    said = user.plane.kubectl("--namespace", user.namespace, "create", "-f", "-", stdin=wrong)
    assert said.returncode
    assert 'unknown field "spec.replica"' in said.stderr


def test_the_sample_cluster_is_accepted(user: User) -> None:
    """What `penstock render --sample` starts from is what kubectl applies."""
    _, manifest = sample()
    user.plane.kubectl_says("create", "namespace", "slurm")
    applied = user.plane.kubectl_says("apply", "-f", "-", stdin=manifest)
    assert len(applied.splitlines()) == 5
