"""Each contract test runs once per adapter."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from penstock.cluster.port import Cluster
from tests.kube.conftest import crds
from tests.kube.control_plane import ControlPlane, control_plane

from .adapters import ADAPTERS
from .kube_adapter import kube_cluster

__all__ = ["control_plane", "crds"]


@pytest.fixture(params=[*ADAPTERS, "kube"])
def adapter(request: pytest.FixtureRequest, tmp_path: Path) -> AbstractAsyncContextManager[Cluster]:
    """Give a cluster that is yet to be entered; `contract` enters it in the test's own loop."""
    if request.param != "kube":
        return ADAPTERS[request.param](tmp_path)
    request.getfixturevalue("crds")
    plane: ControlPlane = request.getfixturevalue("control_plane")
    return kube_cluster(plane.kubeconfig)
