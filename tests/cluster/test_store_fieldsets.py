"""Sets of fields behave as sets, in the form that Kubernetes writes them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.cluster.store.fieldsets import FieldSet, difference, holds, intersection, paths, union, with_named
from penstock.cluster.store.shapes import ATOMIC, DEDUCED, SET, Shape, by, struct
from penstock.cluster.store.structure import compared, merged, stated, without

Path = tuple[str, ...]
ELEMENTS = st.sampled_from(["f:a", "f:b", 'k:{"name":"x"}', 'v:"y"'])
PATHS = st.frozensets(st.lists(ELEMENTS, min_size=1, max_size=4).map(tuple), max_size=8)


def tree(members: frozenset[Path]) -> FieldSet:
    """A set from the paths in it."""
    result: FieldSet = {}
    for path in members:
        node = result
        for element in path:
            node = node.setdefault(element, {})
    return _marked(result, members, ())


def _marked(node: FieldSet, members: frozenset[Path], at: Path) -> FieldSet:
    below = {element: _marked(part, members, (*at, element)) for element, part in node.items()}
    return {".": {}, **below} if at in members and below else below


def members(fields: FieldSet, at: Path = ()) -> set[Path]:
    """The paths in a set."""
    found: set[Path] = set()
    for element, part in fields.items():
        if element != ".":
            found |= ({(*at, element)} if holds(part) else set()) | members(part, (*at, element))
    return found


@given(PATHS, PATHS)
def test_union_intersection_and_difference_are_those_of_sets(one: frozenset[Path], other: frozenset[Path]) -> None:
    assert members(tree(one)) == one
    assert members(union(tree(one), tree(other))) == one | other
    assert members(intersection(tree(one), tree(other))) == one & other
    assert members(difference(tree(one), tree(other))) == one - other


def test_paths_are_spelt_as_in_the_messages_of_the_api_server() -> None:
    fields = {
        "f:spec": {"f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:name": {}}}, "f:set": {'v:"x"': {}}}
    }
    prefix = '.spec.ports[port=80,protocol="TCP"]'
    assert list(paths(fields)) == [prefix, f"{prefix}.name", '.spec.set[="x"]']


SHAPE = struct(
    plain=ATOMIC,
    whole=ATOMIC,
    names=SET,
    items=by("name", "port", port=80),
    raw=DEDUCED,
)
VALUES = st.fixed_dictionaries(
    {},
    optional={
        "plain": st.integers(0, 2),
        "whole": st.lists(st.integers(0, 2), max_size=2),
        "names": st.lists(st.sampled_from("xyz"), unique=True, min_size=1),
        "items": st.lists(
            st.fixed_dictionaries({"name": st.sampled_from("xyz")}, optional={"port": st.sampled_from([80, 81])}),
            unique_by=lambda item: (item["name"], item.get("port", 80)),
            min_size=1,
        ),
        "raw": st.recursive(
            st.integers(0, 2), lambda inner: st.dictionaries(st.sampled_from("pq"), inner, min_size=1), max_leaves=4
        ),
    },
)


@given(VALUES, VALUES)
def test_a_merge_states_everything_that_both_stated(live: dict[str, Any], config: dict[str, Any]) -> None:
    result = merged(SHAPE, live, config)
    assert members(stated(SHAPE, config)) <= members(stated(SHAPE, result))
    assert merged(SHAPE, result, config) == result
    assert not compared(SHAPE, result, merged(SHAPE, result, config)).changed


@given(VALUES, VALUES)
@example({"items": [{"name": "x"}, {"name": "y"}]}, {"items": [{"name": "y"}, {"name": "x"}]})
def test_comparing_finds_what_a_merge_changed_and_removes_nothing(live: dict[str, Any], config: dict[str, Any]) -> None:
    change = compared(SHAPE, live, merged(SHAPE, live, config))
    assert not {path for path in members(change.removed) if "f:raw" not in path}
    if not members(change.changed):
        assert unordered(merged(SHAPE, live, config)) == unordered(live)


def unordered(value: Any) -> Any:
    """Lists without their order: it follows the manager that wrote last, and belongs to no field."""
    if isinstance(value, dict):
        return {name: unordered(item) for name, item in value.items()}
    return sorted((unordered(item) for item in value), key=repr) if isinstance(value, list) else value


@given(VALUES)
def test_what_is_stated_is_all_there_is(value: dict[str, Any]) -> None:
    assert without(SHAPE, value, with_named(stated(SHAPE, value), SHAPE)) == {}


@pytest.mark.parametrize(
    ("live", "config", "order"),
    [("abc", "", "abc"), ("abc", "d", "abcd"), ("abc", "ca", "bca"), ("ab", "xa", "xab"), ("abcd", "dxb", "acdxb")],
)
def test_a_merged_list_keeps_the_order_of_both_as_kubernetes_does(live: str, config: str, order: str) -> None:
    def items(names: str) -> list[dict[str, str]]:
        return [{"name": name} for name in names]

    shape: Shape = struct(items=by("name"))
    result = merged(shape, {"items": items(live)}, {"items": items(config)})
    assert "".join(item["name"] for item in result["items"]) == order
