"""Machines for tests: one agent of `tools/kube` plays kubelet; pods get ready and go, and nothing runs in them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from .control_plane import TOOL, ControlPlane

MACHINES = 5


@contextmanager
def playing_kubelet(plane: ControlPlane) -> Iterator[None]:
    """Have machines `fake-0` to `fake-4`; that their agent ends well is seen at its end."""
    words = [*TOOL, "fake-nodes", "--count", str(MACHINES), "--kubeconfig", str(plane.kubeconfig)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as agent:  # noqa: S603 - ours
        try:
            assert agent.stdout is not None
            assert agent.stdout.readline() == f"{MACHINES} fake nodes are ready\n"
            yield
        finally:
            agent.terminate()
    assert agent.returncode == 0
