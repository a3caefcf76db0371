"""Which cluster is meant, and what is said when there is none."""

from __future__ import annotations

import argparse
import socket
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from penstock.cli import main
from penstock.cli.objects.complaint import Complaint, Misuse
from penstock.cli.objects.connecting import Local, Remote, choose


@pytest.fixture
def place() -> Iterator[Path]:
    """Where sockets are; their names have to be short."""
    with TemporaryDirectory(prefix="penstock-") as directory:
        yield Path(directory)


def cluster(place: Path, name: str) -> socket.socket:
    """A cluster that is up."""
    (place / name).mkdir()
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(place / name / "api.sock"))
    server.listen()
    return server


def chosen(
    place: Path, cluster: str = "", context: str = "", kubeconfig: str = "", **environment: str
) -> Local | Remote:
    """What a command line means in an environment."""
    asked = argparse.Namespace(cluster=cluster, context=context, kubeconfig=kubeconfig)
    return choose(asked, {"PENSTOCK_RUN": str(place), "HOME": str(place)} | environment)


def test_a_cluster_that_is_up_on_this_machine_is_meant(place: Path) -> None:
    with cluster(place, "main"), cluster(place, "lab"):
        assert chosen(place) == chosen(place, KUBECONFIG="x") == Local("main", place / "main/api.sock")
        assert (
            chosen(place, cluster="lab")
            == chosen(place, PENSTOCK_CLUSTER="lab")
            == Local("lab", place / "lab/api.sock")
        )


def test_what_is_said_explicitly_wins(place: Path) -> None:
    with cluster(place, "main"):
        assert chosen(place, context="far") == Remote(None, "far")
        assert chosen(place, kubeconfig="file", PENSTOCK_CLUSTER="main") == Remote(Path("file"), "")
        with pytest.raises(Misuse, match="give one of them"):
            chosen(place, cluster="main", context="far")


def test_without_one_here_the_kubeconfig_is_meant(place: Path) -> None:
    assert chosen(place, KUBECONFIG="x") == chosen(place, KUBERNETES_SERVICE_HOST="10.0.0.1") == Remote(None, None)
    (place / ".kube").mkdir()
    (place / ".kube/config").touch()
    assert chosen(place) == Remote(None, None)


def test_a_socket_that_was_left_behind_is_no_cluster(place: Path) -> None:
    cluster(place, "main").close()
    assert chosen(place, KUBECONFIG="x") == Remote(None, None)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("", "no cluster: none runs on this machine, and there is no kubeconfig; `penstock up` starts one"),
        ("lab", 'cluster "lab" does not run on this machine; `penstock up --cluster lab` starts one'),
    ],
)
def test_none_at_all_is_told_with_the_next_step(place: Path, asked: str, told: str) -> None:
    with pytest.raises(Complaint) as problem:
        chosen(place, cluster=asked)
    assert told in str(problem.value)


def test_another_that_runs_is_named(place: Path) -> None:
    with cluster(place, "lab"), pytest.raises(Complaint, match="there is lab: name it with --cluster"):
        chosen(place)


@pytest.mark.parametrize("name", ["../main", "/main", "..", "."])
def test_a_name_is_no_path(place: Path, name: str) -> None:
    with pytest.raises(Misuse, match="cannot be the name of a cluster"):
        chosen(place, cluster=name)


def test_the_whole_command_says_so_in_one_line(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "PENSTOCK_CLUSTER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PENSTOCK_RUN", str(place))
    monkeypatch.setenv("HOME", str(place))
    assert main(["get", "pods"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("penstock get: no cluster: none runs on this machine")
    assert main(["get", "pods", "--kubeconfig", str(place / "nowhere")]) == 1
    away = f"kubeconfig {place / 'nowhere'}: No such file or directory"
    cure = "name one that can be read, by KUBECONFIG or --kubeconfig FILE"
    assert capsys.readouterr().err == f"penstock get: {away}; {cure}\n"
    monkeypatch.setenv("KUBECONFIG", str(place / "nowhere"))
    assert main(["plan", "nodeset/compute"]) == 1
    assert capsys.readouterr().err == f"penstock plan: {away}; {cure}\n"
