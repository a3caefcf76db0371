"""What happens between two looks: others change, replace and remove things, links break, history is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Any, cast

import pytest

from penstock.cli.objects import watching
from penstock.cli.objects.kinds import Kinds
from penstock.cli.objects.selecting import Where
from penstock.cli.objects.session import Session
from penstock.cluster import catalogue
from penstock.cluster.errors import Expired, Unreachable
from penstock.cluster.port import Event, EventType, Listing

from .world import World, config_map, node_set, pod

CONFIG_MAPS = catalogue.find("cm").reading(cast(Any, dict))


def before_the_first(world: World, verb: str, act: Callable[[], Any]) -> None:
    """Do something right before the first call of a verb of the cluster."""
    original, acted = getattr(world.cluster, verb), list[bool]()

    async def wrapped(*given: Any, **named: Any) -> Any:
        if not acted:
            acted.append(True)
            world.monkeypatch.setattr(world.cluster, verb, original)
            await act()
        return await original(*given, **named)

    world.monkeypatch.setattr(world.cluster, verb, wrapped)


def test_a_new_object_of_the_same_name_is_not_deleted(world: World) -> None:
    world.put(config_map(a="old"))

    async def replaced() -> None:
        await world.cluster.delete(CONFIG_MAPS, "settings", namespace="slurm")
        await world.cluster.create(CONFIG_MAPS, config_map(a="new"))

    before_the_first(world, "delete", replaced)
    said = world.run("delete", "cm", "settings")
    assert said.code == 1
    assert "configmap/settings: " in said.err
    assert world.have("cm", "settings")["data"] == {"a": "new"}


def test_a_patch_that_was_worked_out_on_an_old_version_is_worked_out_again(world: World) -> None:
    """A JSON patch of a list would otherwise put back what somebody else has just taken out."""
    world.put(config_map(a="1", b="2"))

    async def changed() -> None:
        await world.cluster.patch(CONFIG_MAPS, "settings", {"data": {"a": "9"}}, namespace="slurm")

    before_the_first(world, "patch", changed)
    patch = '[{"op":"copy","from":"/data/a","path":"/data/b"}]'
    assert world.says("patch", "cm/settings", "--type=json", "-p", patch) == "configmap/settings patched\n"
    assert world.have("cm", "settings")["data"] == {"a": "9", "b": "9"}


def test_only_the_namespace_that_is_meant_is_looked_at(world: World) -> None:
    other = pod("elsewhere")
    other["metadata"]["namespace"] = "other"
    world.put(pod("here"), other)
    assert world.says("get", "pods", "-o", "name") == "pod/here\n"
    assert world.says("get", "pods", "-n", "other", "-o", "name") == "pod/elsewhere\n"
    assert world.says("get", "pods", "-A", "-o", "name") == "pod/elsewhere\npod/here\n"
    world.says("delete", "pods", "--all")
    assert world.names("pods") == ["elsewhere"]


def test_a_hiccup_does_not_keep_the_others_back_but_silence_ends_it(world: World) -> None:
    world.put(node_set("a"), node_set("b"), node_set("c"))
    original, broken = world.cluster.patch, {"a"}

    async def patch(resource: Any, name: str, *given: Any, **named: Any) -> Any:
        if name in broken:
            raise Unreachable(f"patch {name}: the connection broke off")
        return await original(resource, name, *given, **named)

    world.monkeypatch.setattr(world.cluster, "patch", patch)
    said = world.run("label", "nss", "--all", "x=1")
    assert (said.code, said.out.count("labeled")) == (1, 2)
    broken |= {"b", "c"}
    said = world.run("label", "nss", "--all", "x=2", "--overwrite")
    assert (said.code, said.out, said.err.count("broke off")) == (1, "", 2)


class Cluster:
    """Watches that a test wrote down: each is events, and perhaps an error at its end."""

    def __init__(self, *scenes: Sequence[Event[Any] | Exception]) -> None:
        self.scenes = list(scenes)
        self.since: list[str] = []

    async def list(self, *_: Any, **__: Any) -> Listing[Any]:
        """What is there when history is lost."""
        return Listing([{"metadata": {"name": "listed"}}], "100")

    async def watch(self, *_: Any, since: str) -> AsyncGenerator[Event[Any], None]:
        """The next scene; then nothing ever happens again."""
        self.since.append(since)
        if not self.scenes:
            await asyncio.Event().wait()
        for one in self.scenes.pop(0):
            if isinstance(one, Exception):
                raise one
            yield one


def added(name: str, version: str) -> Event[Any]:
    """A thing that came."""
    return Event(EventType.ADDED, {"metadata": {"name": name}}, version)


def followed(world: World, cluster: Cluster, wanted: int) -> list[str]:
    """The names of what a watch tells."""
    world.monkeypatch.setattr(watching, "_PAUSE", 0.0)
    session = Session(cluster=cast(Any, cluster), namespace="slurm", title="x", kinds=Kinds())

    async def story() -> list[str]:
        names: list[str] = []
        told = watching.changes(session, catalogue.find("cm"), Where(), since="1")
        async with asyncio.timeout(30), aclosing(told) as changes:
            async for _, item in changes:
                names.append(item["metadata"]["name"])
                if len(names) == wanted:
                    break
        return names

    return asyncio.run(story())


def test_a_watch_goes_on_where_it_stopped(world: World) -> None:
    bookmark: Event[Any] = Event(EventType.BOOKMARK, None, "7")
    cluster = Cluster([added("a", "5"), bookmark], [Unreachable("broke off")], [added("b", "9")])
    assert followed(world, cluster, 2) == ["a", "b"]
    assert cluster.since == ["1", "7", "7"]


def test_lost_history_is_made_up_for_by_a_listing(world: World) -> None:
    cluster = Cluster([Expired("too old")], [added("b", "101")])
    assert followed(world, cluster, 2) == ["listed", "b"]
    assert cluster.since == ["1", "100"]


def test_a_cluster_that_is_gone_for_good_is_told(world: World) -> None:
    cluster = Cluster(*([Unreachable("broke off")] for _ in range(40)))
    with pytest.raises(Unreachable, match="broke off"):
        followed(world, cluster, 1)
    assert len(cluster.since) == 31
