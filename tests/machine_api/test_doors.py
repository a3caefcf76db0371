"""Who gets in: whoever may open the socket, and on loopback whoever shows the token."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
from pathlib import Path

import pytest

from penstock.cluster.errors import Forbidden, Misconfigured
from penstock.cluster.kube import KubeCluster, find
from penstock.cluster.store import Store
from penstock.machine.api import Door, NoContainers, serve, write_kubeconfig

from .machine import PODS, TOKEN, Machine, run


def test_only_its_owner_can_open_the_socket() -> None:
    async def test(machine: Machine) -> None:
        found = machine.serving.socket.stat()
        assert stat.S_ISSOCK(found.st_mode)
        assert stat.S_IMODE(found.st_mode) == 0o600
        assert found.st_uid == os.getuid()

    run(test)


def test_the_socket_is_gone_when_the_server_is(tmp_path: Path) -> None:
    path = tmp_path / "run" / "s"
    asyncio.run(_serve_once(path))
    assert list(path.parent.iterdir()) == []


def test_a_server_that_was_killed_leaves_no_obstacle(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "s"))
    asyncio.run(_serve_once(tmp_path / "s"))


def test_a_second_server_does_not_take_the_socket_from_the_first() -> None:
    async def test(machine: Machine) -> None:
        with pytest.raises(Misconfigured, match="another process serves"):
            await _serve_once(machine.serving.socket)
        assert (await machine.cluster.get(PODS, "pod", "slurm")).metadata.name == "pod"

    run(test)


@pytest.mark.parametrize("name", ["file", "x" * 120], ids=["a file", "too long"])
def test_a_place_that_cannot_be_served_is_told_of(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("precious")
    with pytest.raises(Misconfigured, match="choose another place"):
        asyncio.run(_serve_once(tmp_path / name))
    assert (tmp_path / "file").read_text() == "precious"


def test_who_shows_the_token_of_the_kubeconfig_gets_in(tmp_path: Path) -> None:
    async def test(machine: Machine) -> None:
        config = tmp_path / "kubeconfig"
        serving = machine.serving
        write_kubeconfig(config, serving.address, TOKEN, certificate=serving.certificate, namespace="slurm")
        assert stat.S_IMODE(config.stat().st_mode) == 0o600
        connection = find(config)
        assert connection.namespace == "slurm"
        async with KubeCluster(connection) as cluster:
            assert (await cluster.get(PODS, "pod", "slurm")).metadata.name == "pod"

    run(test)


@pytest.mark.parametrize("token", ["", "open-sesam", "open-sesame2"])
def test_who_shows_another_token_does_not(tmp_path: Path, token: str) -> None:
    async def test(machine: Machine) -> None:
        config, serving = tmp_path / "kubeconfig", machine.serving
        write_kubeconfig(config, serving.address, token, certificate=serving.certificate)
        async with KubeCluster(find(config)) as cluster:
            with pytest.raises(Forbidden, match="the token is missing or is not the right one"):
                await cluster.get(PODS, "pod", "slurm")

    run(test)


def test_there_is_no_second_way_in_without_a_token(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="needs a token"):
        asyncio.run(_serve_once(tmp_path / "s", Door(token="")))


def test_a_port_that_is_taken_is_told_of(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Misconfigured, match=f"port {port} of 127.0.0.1: Address already in use"):
            asyncio.run(_serve_once(tmp_path / "s", Door(token="x", port=port)))
    assert list(tmp_path.iterdir()) == []


async def _serve_once(path: Path, door: Door | None = None) -> None:
    async with Store() as store, serve(store, NoContainers(), path=path, door=door) as serving:
        assert serving.socket.exists()
