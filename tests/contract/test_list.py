"""Listings: in order, page by page at one moment, and only what was selected."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from penstock.cluster.errors import Refused
from penstock.cluster.pages import pages
from penstock.cluster.port import Selection
from penstock.cluster.store import Store

from .world import CONFIG_MAPS, NODE_SETS, PODS, World, contract, refused


async def make(world: World, *names: str, **labels: str) -> None:
    """ConfigMaps with labels."""
    for name in names:
        await world.cluster.create(CONFIG_MAPS, world.config_map(name, labels=labels))


@contract
async def test_objects_come_in_the_order_of_their_names(world: World) -> None:
    await make(world, "b", "a", "c", "a.b", "a-b")
    assert await world.names(CONFIG_MAPS) == ["a", "a-b", "a.b", "b", "c"]


@contract
async def test_an_empty_listing_has_a_version_as_well(world: World) -> None:
    found = await world.cluster.list(NODE_SETS, world.here)
    assert (found.items, found.continue_token) == ([], "")
    assert int(found.resource_version) >= 0


@contract
async def test_pages_show_the_moment_of_the_first_whatever_happens_meanwhile(world: World) -> None:
    await make(world, "a", "b", "c", "d", "e")
    first = await world.cluster.list(CONFIG_MAPS, world.here, limit=2)
    await world.cluster.delete(CONFIG_MAPS, "c", namespace=world.namespace)
    await world.cluster.patch(CONFIG_MAPS, "d", {"data": {"late": "yes"}}, namespace=world.namespace)
    await make(world, "b2", "z")
    second = await world.cluster.list(CONFIG_MAPS, world.here, limit=2, continue_token=first.continue_token)
    third = await world.cluster.list(CONFIG_MAPS, world.here, limit=2, continue_token=second.continue_token)
    pages = [first, second, third]
    assert [[item.metadata.name for item in page.items] for page in pages] == [["a", "b"], ["c", "d"], ["e"]]
    assert second.items[1].data == {}
    assert third.continue_token == ""
    assert len({page.resource_version for page in pages}) == 1


@contract
async def test_all_pages_are_read_as_one_listing(world: World) -> None:
    """More objects than a page holds: what an informer reads at its start."""
    names = [f"m-{number:04}" for number in range(501)]
    async with asyncio.TaskGroup() as group:
        for part in range(10):
            group.create_task(make(world, *names[part::10]))
    found = [page async for page in pages(world.cluster, CONFIG_MAPS, world.here)]
    assert [item.metadata.name for page in found for item in page.items] == names
    assert [len(page.items) for page in found] == [500, 1]
    assert len({page.resource_version for page in found}) == 1


@contract
async def test_what_is_said_early_of_the_next_page_is_true(world: World) -> None:
    await make(world, "a", "b", "c")
    said: list[str] = []
    first = await world.cluster.list(CONFIG_MAPS, world.here, limit=2, early=said.append)
    # The store has a page as soon as it is asked; a server that no longer says it early makes our start slower.
    assert said == ([] if isinstance(world.cluster, Store) else [first.continue_token])
    last = await world.cluster.list(
        CONFIG_MAPS, world.here, limit=2, continue_token=first.continue_token, early=said.append
    )
    assert (last.continue_token, len(said) <= 1) == ("", True)


@contract
async def test_a_page_is_filled_with_what_was_selected(world: World) -> None:
    await make(world, "a", "c", "e", pick="yes")
    await make(world, "b", "d", pick="no")
    where = world.where(labels="pick=yes")
    first = await world.cluster.list(CONFIG_MAPS, where, limit=2)
    second = await world.cluster.list(CONFIG_MAPS, where, limit=2, continue_token=first.continue_token)
    assert [item.metadata.name for item in [*first.items, *second.items]] == ["a", "c", "e"]


@contract
async def test_a_page_that_holds_all_has_no_next(world: World) -> None:
    await world.cluster.create(NODE_SETS, world.node_set("a"))
    await world.cluster.create(NODE_SETS, world.node_set("b"))
    assert (await world.cluster.list(NODE_SETS, world.here, limit=2)).continue_token == ""


@contract
async def test_a_token_that_is_none_is_refused(world: World) -> None:
    with refused(Refused, "continue"):
        await world.cluster.list(CONFIG_MAPS, world.here, continue_token="nonsense")


@contract
async def test_all_namespaces_can_be_listed_together(world: World) -> None:
    await make(world, "a", of=world.namespace)
    found = await world.cluster.list(CONFIG_MAPS, Selection(labels=f"of={world.namespace}"))
    assert [item.metadata.namespace for item in found.items] == [world.namespace]


SELECTORS = {
    "app=x": ["one", "three"],
    "app==x": ["one", "three"],
    "app = x , tier = a": ["one"],
    "app!=x": ["none", "two"],
    "app": ["one", "three", "two"],
    "!app": ["none"],
    "app in (x, y)": ["one", "three", "two"],
    "app notin (x)": ["none", "two"],
    "tier in (a),app notin (y)": ["one"],
    "app,!tier": ["three"],
    "size>3": ["two"],
    "size<3": ["one"],
    "example.com/key": ["two"],
    "app=": [],
    "in in (in)": ["three"],
    "": ["none", "one", "three", "two"],
}


@pytest.mark.parametrize("selector", SELECTORS)
def test_labels_select_as_in_kubernetes(adapter: Any, selector: str) -> None:
    @contract
    async def check(world: World) -> None:
        await make(world, "one", app="x", tier="a", size="1")
        await make(world, "two", **{"app": "y", "tier": "a", "size": "5", "example.com/key": ""})
        await make(world, "three", **{"app": "x", "size": "many", "in": "in"})
        await make(world, "none")
        found = await world.names(CONFIG_MAPS, world.where(labels=selector))
        assert found == SELECTORS[selector]

    check(adapter)


@pytest.mark.parametrize(
    "selector",
    ["a b", "a in b", "a=b c", "a===b", "a>c", "a,,b", "a,", ",a", "-a", "a=-b", "a in (b", "!", "a=b=c", "(a)"],
)
def test_what_is_no_selector_is_refused(adapter: Any, selector: str) -> None:
    @contract
    async def check(world: World) -> None:
        with refused(Refused):
            await world.names(CONFIG_MAPS, world.where(labels=selector))

    check(adapter)


@contract
async def test_fields_select_by_name_and_pods_also_by_machine_and_phase(world: World) -> None:
    await make(world, "a", "b")
    assert await world.names(CONFIG_MAPS, world.where(fields="metadata.name=a")) == ["a"]
    fields = f"metadata.namespace={world.namespace},metadata.name!=a"
    assert await world.names(CONFIG_MAPS, world.where(fields=fields)) == ["b"]
    await world.cluster.create(PODS, world.pod("here", node="machine"))
    await world.cluster.create(PODS, world.pod("nowhere"))
    assert await world.names(PODS, world.where(fields="spec.nodeName=machine")) == ["here"]
    assert await world.names(PODS, world.where(fields="spec.nodeName=")) == ["nowhere"]
    assert await world.names(PODS, world.where(fields="status.phase=Pending")) == ["here", "nowhere"]


@contract
async def test_fields_that_nobody_indexed_are_refused(world: World) -> None:
    with refused(Refused, "data.a"):
        await world.names(CONFIG_MAPS, world.where(fields="data.a=1"))
    with refused(Refused, "spec.replicas"):
        await world.names(NODE_SETS, world.where(fields="spec.replicas=1"))
    with refused(Refused, "can't understand"):
        await world.names(CONFIG_MAPS, world.where(fields="metadata.name"))
