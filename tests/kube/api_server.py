"""The API server of a control plane, killed and started again: as it was, where it was, over the same etcd."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from kube import processes
from kube.control_plane import reserved_ports

from .control_plane import ROOT, ControlPlane, run

NAME = "kube-apiserver"
START = """
import sys, pathlib
from kube import processes
_, directory, name, *command = sys.argv
processes.start(pathlib.Path(directory), name, command)
"""
PATIENCE = 60.0


@contextmanager
def without_api_server(plane: ControlPlane) -> Iterator[None]:
    """Kill the API server; after the block it is there again, another process that answers.

    Killed, for one that is told to stop first waits a minute for the watches of others to end.
    """
    server = _server(plane)
    command = Path(f"/proc/{server.number}/cmdline").read_text().rstrip("\0").split("\0")
    assert processes.kill(server)
    with reserved_ports(int(plane.server.rpartition(":")[2])):  # nobody else may have it meanwhile
        yield
        _start(plane, command)
        _answers(plane, _server(plane))
    assert _server(plane).number != server.number


def _server(plane: ControlPlane) -> processes.Process:
    """The one that was started last."""
    return [one for one in processes.recorded(plane.directory) if one.name == NAME][-1]


def _start(plane: ControlPlane, command: Sequence[str]) -> None:
    """Start it as `tools/kube` does: by a process that ends, so that it is nobody's child."""
    said = run(
        sys.executable, "-c", START, str(plane.directory), NAME, *command, env={"PYTHONPATH": str(ROOT / "tools")}
    )
    assert said.returncode == 0, said.stderr


def _answers(plane: ControlPlane, server: processes.Process) -> None:
    """Wait until it is ready. Nobody is told when a server begins to listen, so it is asked."""
    deadline = time.monotonic() + PATIENCE
    while plane.kubectl("get", "--raw", "/readyz").returncode:
        assert server.alive, processes.last_words(plane.directory, NAME)
        assert time.monotonic() < deadline, processes.last_words(plane.directory, NAME)
        time.sleep(0.05)
