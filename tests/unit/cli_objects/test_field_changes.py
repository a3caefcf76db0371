"""What differs between two values, in words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.cli.objects.field_changes import field_changes

scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": True}, ["a: 1 -> true"]),
        ({"a": "x"}, {"a": ""}, ['a: x -> ""']),
        ({"a": {"b": {"c": 1}}}, {"a": {"b": {"c": 2}}}, ["a.b.c: 1 -> 2"]),
        ({}, {"a": {"b": 1, "c": []}}, ["a.b: 1 (new)", "a.c: [] (new)"]),
        ({"a": {"b": 1}}, {}, ["a.b: 1 (gone)"]),
        ({"a": {}}, {}, ["a: {} (gone)"]),
        ({"a": None}, {}, ["a: null (gone)"]),
        ({"a": [1, 2]}, {"a": [2, 1]}, ["a: [1, 2] -> [2, 1]"]),
        (
            {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
            {"env": [{"name": "B", "value": "3"}, {"name": "C", "value": "4"}]},
            ["env[A].name: A (gone)", "env[A].value: 1 (gone)", "env[B].value: 2 -> 3", "env[C].name: C (new)",
             "env[C].value: 4 (new)"],
        ),
        ({"a": {"b": 1}}, {"a": [1]}, ['a: {"b": 1} -> [1]']),
        ({"a": "x" * 50}, {"a": "y"}, [f"a: {'x' * 37}... -> y"]),
    ],
)  # fmt: skip
def test_each_field_is_told(old: Any, new: Any, told: list[str]) -> None:
    assert [*field_changes(old, new)] == told


@given(values)
def test_the_same_has_no_changes(value: Any) -> None:
    assert [*field_changes({"a": value}, {"a": value})] == []


@given(values, values)
def test_what_differs_is_told(one: Any, other: Any) -> None:
    """Nothing is overlooked, though the order of named things is nobody's change."""
    named = [[{"name": "x", "value": one}], [{"name": "x", "value": other}]]
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (not [*field_changes(named[0], named[1])]) == same
