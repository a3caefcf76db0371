"""What the tests against a real Kubernetes API share."""

import itertools
import sys
import time
from collections.abc import Iterator

import pytest

from penstock.api.kinds import API_VERSION

from .control_plane import ControlPlane, control_plane, run
from .kubelet import playing_kubelet
from .specs import an_object

__all__ = ["control_plane", "crds", "fake_nodes", "namespace"]

NUMBERS = itertools.count()


@pytest.fixture
def namespace(control_plane: ControlPlane) -> str:
    """Make a namespace that no other test knows; it goes with the control plane."""
    name = f"test-{next(NUMBERS)}"
    status, answer = control_plane.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    assert status == 201, answer
    return name


@pytest.fixture(scope="session")
def fake_nodes(control_plane: ControlPlane) -> Iterator[None]:
    """Play kubelet for the pods of all tests."""
    with playing_kubelet(control_plane):
        yield


@pytest.fixture(scope="session")
def crds(control_plane: ControlPlane) -> list[str]:
    """Have the six kinds; their names."""
    return install_crds(control_plane)


def install_crds(plane: ControlPlane) -> list[str]:
    """Install the six kinds as the documentation says; their names, once the API server serves them."""
    printed = run(sys.executable, "-m", "penstock", "crds").stdout
    applied = plane.kubectl_says("apply", "--server-side", "-f", "-", "-o", "name", stdin=printed).split()
    crds = [name for name in applied if name.startswith("customresourcedefinition")]
    plane.kubectl_says("wait", "--for=condition=Established", "--timeout=30s", *crds)
    _see_the_policy_at_work(plane)
    return crds


def _see_the_policy_at_work(plane: ControlPlane) -> None:
    """An API server takes a moment to learn of a policy, and tells nobody when it has."""
    sets = f"/apis/{API_VERSION}/namespaces/default/nodesets"
    rehearsed = {"propagationPolicy": "Foreground", "dryRun": ["All"]}  # beside a body nobody reads the query
    status, answer = plane.request("POST", sets, an_object("NodeSet", "probe"))
    assert status == 201, answer
    deadline = time.monotonic() + 30
    while plane.request("DELETE", f"{sets}/probe", rehearsed)[0] != 403:
        assert time.monotonic() < deadline, "the policy does not work"
        time.sleep(0.1)
    assert plane.request("DELETE", f"{sets}/probe", {})[0] == 200
