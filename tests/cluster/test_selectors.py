"""Selectors mean what their requirements say, however they are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.cluster.errors import Refused
from penstock.cluster.selectors import field_matcher, label_matcher, object_matcher

Labels = Mapping[str, str]
Claim = tuple[str, Callable[[Labels], bool]]
"""A requirement as text, and what it means."""

KEYS = st.sampled_from(["a", "b", "in", "notin", "example.com/c", "d.e-f_g"])
VALUES = st.sampled_from(["", "x", "y", "in", "1", "Z.z_z-9"])
BLANKS = st.sampled_from(["", " ", "\t", "  "])
LABELS = st.dictionaries(KEYS, VALUES, max_size=5)


@st.composite
def claims(draw: st.DrawFn) -> Claim:
    """One requirement."""
    key, blank = draw(KEYS), draw(BLANKS)
    operator = draw(st.sampled_from(["=", "==", "!=", "in", "notin", "exists", "!"]))
    if operator == "exists":
        return key, lambda labels: key in labels
    if operator == "!":
        return f"!{blank}{key}", lambda labels: key not in labels
    if operator in {"in", "notin"}:
        values = draw(st.lists(VALUES, min_size=1, max_size=3))
        text = f"{key} {operator} ({f'{blank},{blank}'.join(values)})"
        return text, lambda labels: (labels.get(key) in values) is (operator == "in")
    value = draw(VALUES)
    return f"{key}{blank}{operator}{blank}{value}", lambda labels: (labels.get(key) == value) is (operator != "!=")


@given(st.lists(claims(), min_size=1, max_size=4), LABELS, BLANKS)
def test_a_selector_matches_when_all_its_requirements_hold(parts: list[Claim], labels: Labels, blank: str) -> None:
    selector = f"{blank},{blank}".join(text for text, _ in parts)
    assert label_matcher(selector)(labels) is all(holds(labels) for _, holds in parts)


@given(st.text(alphabet="ab=!<>(), in", max_size=12), LABELS)
def test_any_text_is_a_selector_or_refused(text: str, labels: Labels) -> None:
    with suppress(Refused):
        assert label_matcher(text)(labels) in {True, False}


@pytest.mark.parametrize(
    ("selector", "words"),
    [
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("a===b", "unable to parse requirement: found '=', expected: identifier"),
        ("a>c", "the value must be an integer"),
        ("a,,b", "found ',', expected: identifier after ','"),
        ("a,", "found '', expected: identifier after ','"),
        (",a", "found ',', expected: !, identifier, or 'end of string'"),
    ],
)
def test_a_refusal_has_the_words_of_the_api_server(selector: str, words: str) -> None:
    with pytest.raises(Refused) as refusal:
        label_matcher(selector)
    assert words in str(refusal.value)


@given(LABELS)
def test_a_selector_object_means_the_same_as_the_text(labels: Labels) -> None:
    selector = {
        "matchLabels": {"a": "x"},
        "matchExpressions": [
            {"key": "b", "operator": "In", "values": ["x", "y"]},
            {"key": "in", "operator": "NotIn", "values": ["1"]},
            {"key": "notin", "operator": "DoesNotExist"},
            {"key": "a", "operator": "Exists"},
        ],
    }
    same = label_matcher("a=x,b in (x,y),in notin (1),!notin,a")
    assert object_matcher(selector)(labels) is same(labels)
    assert object_matcher({})(labels)


def test_fields_are_compared_as_texts_and_only_known_ones() -> None:
    known = ("metadata.name", "spec.nodeName")
    fields = {"metadata.name": "pod", "spec.nodeName": ""}
    assert field_matcher("metadata.name=pod,spec.nodeName=", known)(fields)
    assert not field_matcher("metadata.name==pod,spec.nodeName!=", known)(fields)
    with pytest.raises(Refused, match=r'"data\.a" is not a known field selector'):
        field_matcher("data.a=1", known)
