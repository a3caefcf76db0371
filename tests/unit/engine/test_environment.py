"""The variables of a container: order, origins, and `$(NAME)`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.engine.pods import Given, pod

from penstock.engine.downward import Facts
from penstock.engine.environment import BadVariable, environment
from penstock.engine.expansion import expand
from penstock.engine.volumes.sources import MissingReference

GIVEN = Given({"cm": {"one": b"1", "two": b"2"}}, {"sec": {"key": b"secret", "raw": b"\xff"}})


def variables(sources: Given = GIVEN, **container: Any) -> dict[str, str]:
    me = pod("p", containers=[{"name": "c", **container}])
    return environment(me.spec.containers[0], me, sources, Facts(pod_ip="10.244.0.9"))


def ref(kind: str, name: str, key: str, *, optional: bool = False) -> dict[str, Any]:
    return {"name": "X", "valueFrom": {f"{kind}KeyRef": {"name": name, "key": key, "optional": optional}}}


def test_variables_come_from_everywhere_and_the_last_word_counts() -> None:
    assert variables(
        envFrom=[{"configMapRef": {"name": "cm"}}, {"prefix": "S_", "secretRef": {"name": "sec2"}}],
        env=[
            {"name": "two", "value": "own"},
            {"name": "ip", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            {"name": "both", "value": "$(one)/$(two)/$(ip)/$(later)/$$(one)"},
            {"name": "later", "valueFrom": {"secretKeyRef": {"name": "sec", "key": "key"}}},
            {"name": "empty"},
        ],
        sources=Given(GIVEN.config_maps, {"sec": {"key": b"secret"}, "sec2": {"a": b"b", "bad=name": b"", "é": b""}}),
    ) == {
        "one": "1",
        "two": "own",
        "S_a": "b",
        "ip": "10.244.0.9",
        "both": "1/own/10.244.0.9/$(later)/$(one)",
        "later": "secret",
        "empty": "",
    }


@pytest.mark.parametrize(
    ("container", "words"),
    [
        ({"env": [ref("secret", "none", "key")]}, "Secret slurm/none does not exist"),
        ({"env": [ref("secret", "sec", "jwt.key")]}, "Secret slurm/sec has no key jwt.key"),
        ({"env": [ref("configMap", "cm", "x")]}, "ConfigMap slurm/cm has no key x"),
        ({"envFrom": [{"configMapRef": {"name": "none"}}]}, "ConfigMap slurm/none does not exist"),
    ],
)
def test_what_is_missing_is_named(container: dict[str, Any], words: str) -> None:
    with pytest.raises(MissingReference, match=words):
        variables(**container)


def test_what_is_optional_may_be_missing() -> None:
    missing = [ref("secret", "none", "key", optional=True), ref("configMap", "cm", "x", optional=True)]
    assert variables(env=missing, envFrom=[{"secretRef": {"name": "none", "optional": True}}]) == {}


def test_bytes_that_are_no_text_are_refused_with_a_way_out() -> None:
    with pytest.raises(BadVariable, match=r"Secret slurm/sec, key raw: .* mount it as a file"):
        variables(env=[ref("secret", "sec", "raw")])


def test_what_no_process_can_be_given_is_refused() -> None:
    with pytest.raises(BadVariable, match="container c: variable 'X'"):
        variables(env=[{"name": "X", "value": "a\0b"}])


def test_a_wrong_field_names_the_container() -> None:
    with pytest.raises(BadVariable, match="container c: pod slurm/p: no field"):
        variables(env=[{"name": "X", "valueFrom": {"fieldRef": {"fieldPath": "spec.x"}}}])


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("$(A)", "a"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$a"),
        ("$(B)", "$(B)"),
        ("$(A", "$(A"),
        ("$A $", "$A $"),
        ("$($(A))", "$($(A))"),
        ("$()", "$()"),
        ("$(A)$(A)", "aa"),
        ("$(C)", "$(A)"),
    ],
)
def test_names_are_replaced_as_kubernetes_does(text: str, result: str) -> None:
    """Cases of Kubernetes' own table (third_party/forked/golang/expansion); a value is never looked into."""
    assert expand(text, {"A": "a", "C": "$(A)"}) == result


@given(st.text(alphabet="$()AB "))
def test_without_dollars_doubled_any_text_can_be_said(text: str) -> None:
    """Doubling every dollar is a way to say anything, whatever is known."""
    assert expand(text.replace("$", "$$"), {"A": "1", "B": "2", "": "3"}) == text
