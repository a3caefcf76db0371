"""Whichever form a change comes in, the object ends up as the client meant it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.api.objects import Json
from penstock.cluster.errors import Refused
from penstock.cluster.store.patches import merge_patched
from penstock.machine.api.patches import difference, json_patched
from penstock.machine.api.strategic import strategic_patched

NAMES = st.sampled_from(["a", "b", "containers", "env", "name", "finalizers", "$patch", "$retainKeys"])
PLAIN = st.integers() | st.booleans() | st.text(max_size=3)
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=4)
POINTERS = st.lists(st.sampled_from(["a", "b", "0", "1", "-", "~1", ""]), max_size=3).map(
    lambda pieces: "".join(f"/{piece}" for piece in pieces)
)
OPERATIONS = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "fly"]), "path": POINTERS | PLAIN},
    optional={"value": VALUES, "from": POINTERS},
)


@given(OBJECTS, OBJECTS)
def test_a_difference_leads_from_the_one_to_the_other(live: Json, wanted: Json) -> None:
    live, wanted = live | {"metadata": {"resourceVersion": "7"}}, wanted | {"metadata": {"labels": {"x": "y"}}}
    patch = difference(live, wanted)
    assert patch["metadata"].pop("resourceVersion") == "7"
    patched = merge_patched(live, patch)
    patched["metadata"].pop("resourceVersion")
    assert patched == wanted


def test_a_difference_holds_for_the_version_that_a_client_names() -> None:
    live = {"metadata": {"resourceVersion": "7", "uid": "u"}}
    assert difference(live, {"metadata": {"resourceVersion": "6"}}) == {"metadata": {"resourceVersion": "6"}}
    assert difference(live, {"metadata": {"uid": "v"}}) == {"metadata": {"resourceVersion": "7", "uid": "v"}}


@given(OBJECTS, st.lists(OPERATIONS, max_size=4) | VALUES)
def test_a_json_patch_works_or_is_refused_and_leaves_its_target_alone(target: Json, operations: Any) -> None:
    before = repr(target)
    with suppress(Refused):
        json_patched(target, operations)
    assert repr(target) == before


@pytest.mark.parametrize(
    ("operation", "patched"),
    [
        ({"op": "add", "path": "/list/1", "value": 9}, {"list": [1, 9, 2], "map": {"a/b": 1}}),
        ({"op": "add", "path": "/list/-", "value": 9}, {"list": [1, 2, 9], "map": {"a/b": 1}}),
        ({"op": "replace", "path": "/map/a~1b", "value": 2}, {"list": [1, 2], "map": {"a/b": 2}}),
        ({"op": "remove", "path": "/list/0"}, {"list": [2], "map": {"a/b": 1}}),
        ({"op": "move", "from": "/list", "path": "/map/x"}, {"map": {"a/b": 1, "x": [1, 2]}}),
        ({"op": "copy", "from": "/list/0", "path": "/one"}, {"list": [1, 2], "map": {"a/b": 1}, "one": 1}),
        ({"op": "test", "path": "/list/0", "value": 1}, {"list": [1, 2], "map": {"a/b": 1}}),
    ],
)
def test_operations_of_a_json_patch(operation: Json, patched: Json) -> None:
    assert json_patched({"list": [1, 2], "map": {"a/b": 1}}, [operation]) == patched


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/a", "value": 2},
        {"op": "remove", "path": "/b"},
        {"op": "replace", "path": "/b", "value": 1},
        {"op": "add", "path": "a", "value": 1},
        {"op": "add", "path": "/a"},
        {"op": "remove", "path": ""},
    ],
)
def test_what_a_json_patch_cannot_do_is_refused(operation: Json) -> None:
    with pytest.raises(Refused):
        json_patched({"a": 1}, [operation])


@given(OBJECTS, OBJECTS)
def test_a_strategic_patch_works_or_is_refused(target: Json, patch: Json) -> None:
    with suppress(Refused):
        strategic_patched(target, patch)


def containers(*names: str) -> Json:
    """Containers, each with a variable."""
    return {"containers": [{"name": name, "env": [{"name": "A", "value": name}]} for name in names]}


@pytest.mark.parametrize(
    ("patch", "names"),
    [
        ({"containers": [{"name": "c"}]}, ["a", "b", "c"]),
        ({"containers": [{"name": "a", "$patch": "delete"}]}, ["b"]),
        ({"containers": [{"$patch": "replace"}, {"name": "x"}]}, ["x"]),
        ({"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}], "containers": [{"name": "b"}]}, ["b", "a"]),
        ({"containers": None}, []),
        ({"$patch": "replace", "containers": [{"name": "y"}]}, ["y"]),
    ],
)
def test_lists_that_kubernetes_knows_are_merged(patch: Json, names: list[str]) -> None:
    patched = strategic_patched(containers("a", "b"), patch)
    assert [item["name"] for item in patched.get("containers", [])] == names


def test_a_merged_item_keeps_what_the_patch_does_not_speak_of() -> None:
    patch = {"containers": [{"name": "a", "image": "x", "env": [{"name": "B", "value": "2"}]}]}
    (merged,) = strategic_patched(containers("a"), patch)["containers"]
    assert merged == {"name": "a", "image": "x", "env": [{"name": "A", "value": "a"}, {"name": "B", "value": "2"}]}


def test_directives_speak_of_the_field_beside_them() -> None:
    target = {"finalizers": ["x/a", "x/b"], "strategy": {"type": "Recreate", "rollingUpdate": {}}, "args": ["a"]}
    patch = {
        "$deleteFromPrimitiveList/finalizers": ["x/a"],
        "finalizers": ["x/c"],
        "strategy": {"$retainKeys": ["type"], "type": "RollingUpdate"},
        "args": ["b"],
    }
    assert strategic_patched(target, patch) == {
        "finalizers": ["x/b", "x/c"],
        "strategy": {"type": "RollingUpdate"},
        "args": ["b"],
    }
