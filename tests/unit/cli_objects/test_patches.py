"""Patches mean the same here as at the API server."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.api.objects import Json
from penstock.cli.objects import patches
from penstock.cli.objects.complaint import Complaint
from penstock.cluster.store.patches import merge_patched

VALUES = st.recursive(
    st.booleans() | st.integers(0, 2) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3)


@example({"a": 1}, {"a": True})
@given(OBJECTS, OBJECTS)
def test_a_difference_makes_the_new_of_the_old(old: Json, new: Json) -> None:
    """By our own merge and by the store's, which is held to Kubernetes'."""
    patch = patches.difference(old, new)
    assert repr(patches.merged(old, patch)) == repr(merge_patched(old, patch))
    assert same(merge_patched(old, patch), new)
    assert (patch == {}) == same(old, new)


def same(one: Any, other: Any) -> bool:
    """Equal as JSON: true is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, dict) or isinstance(other, dict):
        return False
    return type(one) is type(other) and one == other


@pytest.mark.parametrize(
    ("operations", "result"),
    [
        ([{"op": "replace", "path": "/a", "value": 2}], {"a": 2, "l": [1, 2]}),
        ([{"op": "add", "path": "/b~1c", "value": 2}], {"a": 1, "l": [1, 2], "b/c": 2}),
        ([{"op": "add", "path": "/l/0", "value": 0}], {"a": 1, "l": [0, 1, 2]}),
        ([{"op": "add", "path": "/l/-", "value": 3}], {"a": 1, "l": [1, 2, 3]}),
        ([{"op": "replace", "path": "/l/1", "value": 3}], {"a": 1, "l": [1, 3]}),
        ([{"op": "remove", "path": "/l/0"}, {"op": "remove", "path": "/a"}], {"l": [2]}),
        (
            [{"op": "test", "path": "/a", "value": 1}, {"op": "copy", "from": "/l", "path": "/m"}],
            {"a": 1, "l": [1, 2], "m": [1, 2]},
        ),
        ([{"op": "move", "from": "/a", "path": "/z"}], {"l": [1, 2], "z": 1}),
    ],
)
def test_json_patches_follow_rfc_6902(operations: list[Json], result: Json) -> None:
    before: Json = {"a": 1, "l": [1, 2]}
    assert patches.json_patched(before, operations) == result
    assert before == {"a": 1, "l": [1, 2]}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/nothing"},
        {"op": "replace", "path": "/nothing", "value": 1},
        {"op": "add", "path": "/l/7", "value": 1},
        {"op": "add", "path": "l", "value": 1},
        {"op": "test", "path": "/a", "value": 2},
        {"op": "fly", "path": "/a"},
        {"path": "/a"},
        "remove",
    ],
)
def test_a_patch_that_does_not_fit_is_refused(operation: Any) -> None:
    with pytest.raises(Complaint, match=r"does not fit the object|does not hold"):
        patches.json_patched({"a": 1, "l": [1]}, [operation])


def test_a_strategic_patch_merges_lists_of_named_things_and_null_takes_away() -> None:
    before = {"spec": {"containers": [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}], "old": 1}}
    patch = {"spec": {"containers": [{"name": "b", "image": "b:2"}], "old": None}}
    assert patches.strategic(before, patch) == {
        "spec": {"containers": [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:2"}]}
    }
