"""A machine for every test that asks; a real Kubernetes for those that compare."""

from collections.abc import Iterator

import pytest

from tests.kube.conftest import crds
from tests.kube.control_plane import control_plane

from .machine import Machine, machine

__all__ = ["control_plane", "crds"]


@pytest.fixture
def main() -> Iterator[Machine]:
    """Have a machine of one's own."""
    with machine() as given:
        yield given
