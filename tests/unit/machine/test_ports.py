"""The ports of a cluster: kept by who serves them, looked at by everybody else."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.cli import main
from penstock.engine.layout import Layout
from penstock.machine.errors import NotUp
from penstock.machine.ports import Ports


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    """A cluster called lab, with nothing in its state."""
    monkeypatch.setenv("PENSTOCK_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("PENSTOCK_RUN", str(tmp_path / "run"))
    found = Layout.of("lab")
    found.make()
    return found


@pytest.fixture
def served(layout: Layout) -> Iterator[Ports]:
    """Ports on which the cluster listens at this moment."""
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        ports = Ports(one.getsockname()[1], other.getsockname()[1])
        ports.keep(layout)
        yield ports


def test_a_unit_is_shown_with_the_ports_that_are_served_and_nothing_is_written(
    layout: Layout, served: Ports, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (layout.state / "ports.json").stat()
    assert main(["up", "--cluster", "lab", "--systemd-unit"]) == 0
    assert " ".join(served.words()) in capsys.readouterr().out
    after = (layout.state / "ports.json").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_unit_of_a_cluster_that_never_was_makes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PENSTOCK_STATE", str(tmp_path / "nothing"))
    assert main(["up", "--cluster", "lab", "--systemd-unit", "--ssh-port", "22222"]) == 0
    assert "--ssh-port 22222 --rest-port " in capsys.readouterr().out
    assert not (tmp_path / "nothing").exists()


def test_a_cluster_that_runs_keeps_its_ports(layout: Layout, served: Ports) -> None:
    assert Ports.served(layout) == served
    assert Ports.served(layout, ssh=served.ssh, rest=served.rest) == served
    told = f"ssh on port {served.ssh} .* penstock down, then penstock up --ssh-port 1 --rest-port {served.rest}"
    with pytest.raises(NotUp, match=told):
        Ports.served(layout, ssh=1)
    assert Ports.kept(layout) == served


def test_a_start_takes_what_it_had_unless_somebody_else_has_it(layout: Layout, served: Ports) -> None:
    assert {*Ports.chosen(layout).taken()}.isdisjoint(served.taken())
    assert Ports.kept(layout) == served, "only who serves writes them down"
    assert Ports.chosen(layout, ssh=served.ssh).ssh == served.ssh, "who asks for one is told that it is taken"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"ssh": 1}', '{"ssh": "x", "rest": 2}'])
def test_what_cannot_be_read_is_as_if_it_were_not_there(
    layout: Layout, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (layout.state / "ports.json").write_text(text)
    assert Ports.kept(layout) is None
    assert main(["up", "--cluster", "lab", "--systemd-unit"]) == 0
    assert "ExecStart=" in capsys.readouterr().out
    Ports(1, 2).keep(layout)
    assert Ports.kept(layout) == Ports(1, 2)
