"""`$(NAME)`: exactly as Kubernetes replaces it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.expansion import expand

KNOWN = {"A": "1", "B": "$(A)", "": "none", "A$(B": "odd"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(A)", "1"), ("x$(A)y$(A)", "x1y1"), ("$(C)", "$(C)"), ("$$(A)", "$(A)"), ("$$$(A)", "$1"), ("$$", "$"),
        ("$", "$"), ("$A", "$A"), ("$(A", "$(A"), ("$(B)", "$(A)"), ("$()", "none"), ("$(A$(B)", "odd"),
        ("a)$(A))", "a)1)"), ("$(C$(A))", "$(C$(A))"), ("$((A))", "$((A))"), ("${A}", "${A}"), ("$(\n)", "$(\n)"),
    ],
)  # fmt: skip
def test_expansion_as_kubernetes_has_it(text: str, expected: str) -> None:
    assert expand(text, KNOWN) == expected


@given(st.text(alphabet="$()AB \n"), st.dictionaries(st.text(alphabet="AB$(", max_size=3), st.text(alphabet="$()A")))
def test_it_agrees_with_a_plain_reading_of_the_rules(text: str, known: dict[str, str]) -> None:
    assert expand(text, known) == read_letter_by_letter(text, known)


def read_letter_by_letter(text: str, known: Mapping[str, str]) -> str:
    out, place = "", 0
    while place < len(text):
        follows = text[place + 1] if text[place] == "$" and place + 1 < len(text) else ""
        if follows == "$":
            out, place = out + "$", place + 2
        elif follows == "(" and ")" in text[place:]:
            close = text.index(")", place)
            out, place = out + known.get(text[place + 2 : close], text[place : close + 1]), close + 1
        else:
            out, place = out + text[place], place + 1
    return out
