"""Templates are kubectl's: what people copy from the web works, what is wrong is told with its place."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.cli.objects.jsonpath import JsonPathError, Template, shown

THING = {
    "kind": "List",
    "items": [
        {"metadata": {"name": "a", "labels": {"app.kubernetes.io/name": "x"}}, "spec": {"replicas": 1, "on": True}},
        {"metadata": {"name": "b", "labels": {}}, "spec": {"replicas": 3, "on": False}},
    ],
    "data": {"slurm.conf": "ClusterName=x", "plain": "y"},
    "status": {
        "conditions": [
            {"type": "Ready", "status": "True", "n": 2},
            {"type": "Progressing", "status": "False", "n": 10},
            {"type": "Odd"},
        ]
    },
}


@pytest.mark.parametrize(
    ("template", "shown"),
    [
        ("{.kind}", "List"),
        ("kind: {.kind}!", "kind: List!"),
        ("{.items[*].metadata.name}", "a b"),
        ("{.items[0].metadata.name}", "a"),
        ("{.items[-1].metadata.name}", "b"),
        ("{.items[0:1].metadata.name}", "a"),
        ("{.items[5].metadata.name}", ""),
        ("{$.kind}", "List"),
        ("{@.kind}", "List"),
        (r"{.data.slurm\.conf}", "ClusterName=x"),
        ("{.data['slurm.conf']}", "ClusterName=x"),
        ('{.data["slurm.conf"]}', "ClusterName=x"),
        ("{.data['slurm.conf','plain']}", "ClusterName=x y"),
        (r"{.data['slurm\.conf']}", "ClusterName=x"),
        ("{.items[*]['metadata.name','spec.replicas']}", "a b 1 3"),
        ("{.items[0]['metadata.name']}", "a"),
        (r"{.items[0].metadata.labels.app\.kubernetes\.io/name}", "x"),
        ("{.items[*].spec.replicas}", "1 3"),
        ("{.items[*].spec.on}", "true false"),
        ("{.items[0].spec}", '{"on":true,"replicas":1}'),
        ("{.nothing.at.all}", ""),
        ('{.status.conditions[?(@.type=="Ready")].status}', "True"),
        ("{.status.conditions[?(@.type=='Ready')].status}", "True"),
        ("{.status.conditions[?(@.type!='Ready')].type}", "Progressing Odd"),
        ("{.status.conditions[?(@.n>5)].type}", "Progressing"),
        ("{.status.conditions[?(@.n<=2)].type}", "Ready"),
        ("{.status.conditions[?(@.status)].type}", "Ready Progressing"),
        ("{..name}", "a b"),
        ("{.items.*.metadata.name}", "a b"),
        ('{range .items[*]}{.metadata.name}={.spec.replicas}{"\\n"}{end}', "a=1\nb=3\n"),
        ("{range .items[*]}{$.kind} {end}", "List List "),
        ("{range .items[*]}[{range .metadata.labels.*}{@}{end}]{end}", "[x][]"),
        ("{range .nothing[*]}x{end}", ""),
        ("{.kind}{'\\t'}{.kind}", "List\tList"),
        ("{ .kind }", "List"),
        ("", ""),
    ],
)
def test_a_template_shows_what_kubectl_shows(template: str, shown: str) -> None:
    assert Template(template).render(THING) == shown


@pytest.mark.parametrize(
    ("template", "told"),
    [
        ("{.a", "'}' is missing (at character 4)"),
        ("{.a[}", "write [*]"),
        ("{.a[0}", "']' is missing"),
        ("{range .a[*]}x", "{range} without {end}"),
        ("{end}", "{end} without {range}"),
        ("{a}", "a path begins with a dot"),
        ("{'a}", "the quotes are not closed"),
        ("{.a[?(@.b==c)]}", "a filter compares"),
        ("{.a[::0]}", "a step has to be 1 or more"),
        (r"{'\q'}", "has an escape that is none"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(template: str, told: str) -> None:
    with pytest.raises(JsonPathError) as problem:
        Template(template)
    assert told in str(problem.value)
    assert repr(template) in str(problem.value)


@pytest.mark.parametrize("path", ["{.status.n}", ".status.n", "status.n", "{status.n}", "$.status.n"])
def test_a_lone_path_needs_neither_braces_nor_dot(path: str) -> None:
    assert Template.relaxed(path).values({"status": {"n": 3}}) == [3]


@given(st.text(st.characters(exclude_characters="{")))
def test_text_without_braces_is_itself(text: str) -> None:
    assert Template(text).render({"a": 1}) == text


@given(st.text("{}[]().$@'\"\\?=!<>*:,-01ab \nrangeend", max_size=30))
def test_any_text_is_a_template_or_refused(text: str) -> None:
    """Nothing else than `JsonPathError` comes out of the reader, and what it takes can be rendered."""
    try:
        template = Template(text)
    except JsonPathError:
        return
    assert isinstance(template.render({"a": [{"b": 1}, 2], "b": "x"}), str)


KEYS = st.text(min_size=1, max_size=5)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=10,
)


@given(VALUES, st.data())
def test_a_path_finds_what_is_there(value: Any, data: st.DataObject) -> None:
    """A walk through any value, written as a path with any key in quotes, leads to the same place."""
    path, here = "", value
    while isinstance(here, (dict, list)) and here and data.draw(st.booleans()):
        if isinstance(here, dict):
            key = data.draw(st.sampled_from(sorted(here)))
            quoted = key.replace("\\", "\\\\").replace("'", "\\'")
            path, here = f"{path}['{quoted}']", here[key]
        else:
            place = data.draw(st.integers(-len(here), len(here) - 1))
            path, here = f"{path}[{place}]", here[place]
    template = Template(f"{{${path}}}")
    assert template.values(value) == [here]
    assert template.render(value) == shown(here)
