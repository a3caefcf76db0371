"""Words name objects as they do in kubectl."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.cli.objects import grammar
from penstock.cli.objects.complaint import Misuse
from penstock.cli.objects.grammar import Named


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("pods", [Named("pods")]),
        ("pod x", [Named("pod", ("x",))]),
        ("nodeset x y x", [Named("nodeset", ("x", "y"))]),
        ("pods,svc", [Named("pods"), Named("svc")]),
        ("pods,svc x", [Named("pods", ("x",)), Named("svc", ("x",))]),
        ("pods,pods,", [Named("pods")]),
        ("nss/compute", [Named("nss", ("compute",))]),
        ("nss/compute pod/x nss/compute", [Named("nss", ("compute",)), Named("pod", ("x",))]),
        ("crd/nodesets.slinky.slurm.net", [Named("crd", ("nodesets.slinky.slurm.net",))]),
    ],
)
def test_words_are_split_as_kubectl_splits_them(words: str, named: list[Named]) -> None:
    assert grammar.split(words.split()) == named


@pytest.mark.parametrize("words", ["", ",", "pod/x y", "pod/", "/x", "pod/x/y", "pod,svc/x"])
def test_what_names_nothing_is_refused_with_the_way_to_write_it(words: str) -> None:
    with pytest.raises(Misuse, match=r"TYPE/NAME|names no kind"):
        grammar.split(words.split())


@given(
    st.lists(
        st.tuples(st.from_regex(r"[a-z]{1,5}", fullmatch=True), st.from_regex(r"[a-z0-9-]{1,5}", fullmatch=True)),
        min_size=1,
    )
)
def test_every_object_named_is_found_once(pairs: list[tuple[str, str]]) -> None:
    found = grammar.split([f"{kind}/{name}" for kind, name in pairs])
    assert [(one.kind, one.names[0]) for one in found] == list(dict.fromkeys(pairs))


def test_a_bare_name_is_of_the_kind_that_the_command_is_for() -> None:
    assert grammar.one(["x"], otherwise="pods") == Named("pods", ("x",))
    assert grammar.one(["sts/x"], otherwise="pods") == Named("sts", ("x",))
    assert grammar.one(["sts", "x"]) == Named("sts", ("x",))
    with pytest.raises(Misuse, match="name one object"):
        grammar.one(["sts", "x", "y"])
