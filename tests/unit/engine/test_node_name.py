"""What a machine is called in its store: whatever its host name is, and the same for ever."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.cluster.store import Store
from penstock.engine import node
from penstock.engine.node_name import from_host, node_name
from penstock.engine.podspec import PODS
from penstock.engine.workloads.kinds import MACHINES

NOW = datetime(2026, 11, 16, tzinfo=UTC)


async def registered(store: Store, directory: Path, host: str) -> str:
    """Start once on a machine that is called so."""
    name = await node_name(store, directory / "node", host=host)
    await node.register(store, name, address="127.0.0.1", storage=directory, now=NOW)
    return name


async def names(store: Store) -> list[str]:
    return [one.metadata.name for one in (await store.list(MACHINES)).items]


async def bound(store: Store, name: str, machine: str) -> None:
    spec = {"nodeName": machine, "containers": [{"name": "c", "image": "i"}]}
    await store.create(PODS, {"metadata": {"name": name, "namespace": "slurm"}, "spec": spec})


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("lab", "lab"),
        ("Lab-Server_3", "lab-server-3"),
        ("n1.example.org", "n1.example.org"),
        ("xn--cole-9oa", "xn--cole-9oa"),
        ("-a-.", "a"),
        ("a" * 64, "a" * 63),
        (f"{'a' * 62}.{'b' * 10}", "a" * 62),
        ("", "machine"),
        ("___", "machine"),
        ("École", "cole"),
    ],
)
def test_a_host_name_becomes_a_name_that_kubernetes_takes(host: str, name: str) -> None:
    assert from_host(host) == name


@given(host=st.text(alphabet=st.sampled_from("aZ0-._ é/"), max_size=70))
def test_the_store_takes_a_machine_of_any_host_name(host: str, tmp_path_factory: Any) -> None:
    """A name that it refuses would end the daemon each time it starts."""
    directory = tmp_path_factory.mktemp("state")
    assert asyncio.run(registered(Store(), directory, host))


def test_a_machine_that_is_renamed_keeps_its_name_here(tmp_path: Path) -> None:
    """Its pods are bound to that name: under another one nobody would look after them."""

    async def story() -> None:
        store = Store()
        assert await registered(store, tmp_path, "first") == "first"
        assert await registered(store, tmp_path, "second") == "first"
        assert await registered(Store(), tmp_path, "second") == "first", "whatever the store says"
        assert await names(store) == ["first"]

    asyncio.run(story())


def test_a_cluster_from_before_keeps_the_name_of_its_node(tmp_path: Path) -> None:
    async def story() -> None:
        store = Store()
        await node.register(store, "before", address="", storage=tmp_path, now=NOW)
        assert await registered(store, tmp_path, "after") == "before"
        assert await names(store) == ["before"]

    asyncio.run(story())


def test_of_several_nodes_the_one_that_pods_are_bound_to_is_this_machine(tmp_path: Path) -> None:
    """It was renamed before its name was kept, so both are in the store."""

    async def story() -> None:
        store = Store()
        for name in ("first", "second", "third"):
            await node.register(store, name, address="", storage=tmp_path, now=NOW)
        await bound(store, "a", "second")
        await bound(store, "b", "second")
        await bound(store, "c", "third")
        assert await registered(store, tmp_path, "third") == "second"

    asyncio.run(story())


def test_of_several_nodes_without_pods_the_host_name_chooses(tmp_path: Path) -> None:
    async def story() -> None:
        store = Store()
        for name in ("first", "second"):
            await node.register(store, name, address="", storage=tmp_path, now=NOW)
        assert await registered(store, tmp_path, "second") == "second"

    asyncio.run(story())


@pytest.mark.parametrize("text", ["", "\0\0\0\0", "Not A Name\n"])
def test_a_note_that_makes_no_sense_is_written_again(tmp_path: Path, text: str) -> None:
    async def story() -> None:
        store = Store()
        await node.register(store, "before", address="", storage=tmp_path, now=NOW)
        (tmp_path / "node").write_text(text)
        assert await registered(store, tmp_path, "after") == "before"
        assert (tmp_path / "node").read_text() == "before"

    asyncio.run(story())
