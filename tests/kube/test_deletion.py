"""A real API server deletes no NodeSet in the foreground, and all others as it is asked to (NS-3)."""

import json
from typing import Any

import pytest

from penstock.api.deletion import refusal
from penstock.api.kinds import API_VERSION

from .control_plane import ControlPlane
from .specs import an_object

pytestmark = pytest.mark.usefixtures("crds")
HOLD = "example.org/hold"
_OF_DELETIONS = ("uid", "deletionTimestamp", "deletionGracePeriodSeconds", "finalizers", "ownerReferences")
FOREGROUND: dict[str, Any] = {"propagationPolicy": "Foreground"}


class Site:
    """A NodeSet `gpu` that something holds, with a worker, in a namespace of its own."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self.plane, self.namespace = plane, namespace
        self.sets = f"/apis/{API_VERSION}/namespaces/{namespace}/nodesets"
        self.pods = f"/api/v1/namespaces/{namespace}/pods"
        made = self.asks("POST", self.sets, _held(an_object("NodeSet", "gpu")))
        owner = {"apiVersion": API_VERSION, "kind": "NodeSet", "name": "gpu", "uid": made["metadata"]["uid"]}
        about = {"name": "gpu-0", "ownerReferences": [owner | {"controller": True, "blockOwnerDeletion": True}]}
        spec = {"containers": [{"name": "slurmd", "image": "x"}], "automountServiceAccountToken": False}
        self.asks("POST", self.pods, {"metadata": about, "spec": spec})

    def asks(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """Send a request that must succeed."""
        status, answer = self.plane.request(method, path, body)
        assert status in {200, 201}, answer
        found: dict[str, Any] = answer
        return found

    def seen(self) -> list[dict[str, Any]]:
        """What one could see of a deletion; others write to the pod meanwhile, for nobody has room for it."""
        found = [self.asks("GET", path)["metadata"] for path in (f"{self.sets}/gpu", f"{self.pods}/gpu-0")]
        return [{key: meta[key] for key in _OF_DELETIONS if key in meta} for meta in found]

    def is_refused(self, path: str, options: dict[str, Any]) -> None:
        """Ask for a deletion that is denied in our words and changes nothing."""
        before = self.seen()
        status, answer = self.plane.request("DELETE", path, options)
        assert (status, answer["reason"]) == (403, "Forbidden"), answer
        assert refusal("gpu", self.namespace) in answer["message"]
        assert self.seen() == before


def _held(body: dict[str, Any], *more: str) -> dict[str, Any]:
    return body | {"metadata": body["metadata"] | {"finalizers": [HOLD, *more]}}


@pytest.fixture
def site(control_plane: ControlPlane, namespace: str) -> Site:
    # Without its account no pod is made; another test's patience is not needed for one that never runs.
    control_plane.request("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": "default"}})
    return Site(control_plane, namespace)


def test_kubectl_is_told_what_to_type(site: Site) -> None:
    before = site.seen()
    said = site.plane.kubectl("delete", "nodeset/gpu", "-n", site.namespace, "--cascade=foreground")
    assert said.returncode == 1
    assert said.stderr.startswith("Error from server (Forbidden): ")
    assert said.stderr.endswith(f"denied request: {refusal('gpu', site.namespace)}\n")
    assert site.seen() == before


def test_a_set_that_is_being_deleted_is_not_hastened(site: Site) -> None:
    site.asks("DELETE", f"{site.sets}/gpu", {"propagationPolicy": "Background"})
    assert "deletionTimestamp" in site.seen()[0]
    site.is_refused(f"{site.sets}/gpu", FOREGROUND)


def test_a_whole_collection_is_refused_by_the_name_of_its_sets(site: Site) -> None:
    site.is_refused(site.sets, FOREGROUND)


@pytest.mark.parametrize("asked", ["?propagationPolicy=Foreground", "?dryRun=All&propagationPolicy=Foreground"])
def test_it_is_the_same_in_an_address(site: Site, asked: str) -> None:
    """An API server reads it there when a request has no body."""
    before = site.seen()
    said = site.plane.kubectl("delete", "--raw", f"{site.sets}/gpu{asked}")
    assert said.returncode == 1, said.stdout
    assert refusal("gpu", site.namespace) in said.stderr
    assert site.seen() == before


def test_a_rehearsal_is_refused_as_well(site: Site) -> None:
    site.is_refused(f"{site.sets}/gpu", FOREGROUND | {"dryRun": ["All"]})


def test_a_finalizer_is_no_way_round(site: Site) -> None:
    """Who does not say how to delete would get what the finalizer says."""
    patch = [{"op": "add", "path": "/metadata/finalizers/-", "value": "foregroundDeletion"}]
    site.plane.kubectl_says("patch", "nodeset/gpu", "-n", site.namespace, "--type=json", "-p", json.dumps(patch))
    site.is_refused(f"{site.sets}/gpu", {})


@pytest.mark.parametrize(
    "options",
    [{}, {"propagationPolicy": "Background"}, {"propagationPolicy": "Orphan"}, {"orphanDependents": True}],
    ids=str,
)
@pytest.mark.parametrize("place", ["gpu", ""])
def test_other_deletions_are_let_through(site: Site, options: dict[str, Any], place: str) -> None:
    site.asks("DELETE", f"{site.sets}/{place}".rstrip("/"), options)
    node_set, worker = site.seen()
    assert "deletionTimestamp" in node_set
    assert "foregroundDeletion" not in node_set["finalizers"]
    assert "deletionTimestamp" not in worker


def test_other_kinds_go_in_the_foreground_as_ever(site: Site) -> None:
    logins = f"/apis/{API_VERSION}/namespaces/{site.namespace}/loginsets"
    site.asks("POST", logins, an_object("LoginSet", "login"))
    site.asks("DELETE", f"{logins}/login", FOREGROUND)
