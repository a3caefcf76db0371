"""The CEL of every rule gives the verdicts of its Python form, on specs as an API server sees them (NS-1)."""

import copy
from functools import cache
from typing import Any

import celpy
import pytest
from celpy.adapter import json_to_cel
from celpy.evaluation import CELEvalError

from penstock.api.kinds import BY_NAME
from penstock.api.objects import Json
from penstock.api.problems import Path, dotted
from penstock.api.rules import RULES, TRANSITIONS
from penstock.api.schema import schema_of
from penstock.api.shape import without_nulls

from . import rule_cases
from .builders import an_object

ENVIRONMENT = celpy.Environment()


@cache
def program(cel: str) -> celpy.Runner:
    return ENVIRONMENT.program(ENVIRONMENT.compile(cel))


def holds(cel: str, **variables: Any) -> bool:
    """The verdict of a rule; one that cannot be evaluated is broken, as it is for an API server."""
    try:
        return bool(program(cel).evaluate({name: json_to_cel(value) for name, value in variables.items()}))
    except CELEvalError:
        return False


def as_stored(kind: str, changes: Json) -> Json:
    """The spec as an API server keeps it: without nulls, with the defaults of everything that is there."""
    schema = schema_of(BY_NAME[kind].struct)["properties"]["spec"]
    spec: Json = without_nulls(copy.deepcopy(an_object(kind, **changes)["spec"]), schema)
    fill_in(spec, schema)
    return spec


def fill_in(value: Any, schema: Json) -> None:
    if isinstance(value, dict) and "properties" in schema:
        for name, child in schema["properties"].items():
            if "default" in child:
                value.setdefault(name, child["default"])
            fill_in(value.get(name), child)
    elif isinstance(value, list) and "items" in schema:
        for item in value:
            fill_in(item, schema["items"])


def at(value: Any, path: Path) -> Any:
    """The part that a rule calls `self`; nothing when it is not there, and then the rule is not looked at."""
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def rule_of(rules: Any, kind: str, field: str) -> Any:
    [rule] = [rule for rule in rules[BY_NAME[kind].struct] if dotted(rule.field) == field]
    return rule


@pytest.mark.parametrize(("kind", "field"), rule_cases.STATES)
def test_a_rule_has_the_same_verdict_in_cel(kind: str, field: str) -> None:
    rule, cases = rule_of(RULES, kind, field), rule_cases.STATES[kind, field]

    def verdict(spec: Json) -> bool:
        part = at(as_stored(kind, spec), rule.at)
        return part is None or holds(rule.cel, self=part)

    assert [spec for spec in cases.kept if not verdict(spec)] == []
    assert [spec for spec in cases.broken if verdict(spec)] == []


@pytest.mark.parametrize(("kind", "field"), rule_cases.TRANSITIONS)
def test_a_rule_about_a_change_has_the_same_verdict_in_cel(kind: str, field: str) -> None:
    rule, cases = rule_of(TRANSITIONS, kind, field), rule_cases.TRANSITIONS[kind, field]

    def verdict(change: tuple[Json, Json]) -> bool:
        old, new = (at(as_stored(kind, spec), rule.at) for spec in change)
        return old is None or new is None or holds(rule.cel, self=new, oldSelf=old)

    assert [change for change in cases.kept if not verdict(change)] == []
    assert [change for change in cases.broken if verdict(change)] == []


def test_a_rule_that_cannot_be_evaluated_is_broken() -> None:
    """As in a cluster: a rule over a field that is not there refuses the object."""
    assert not holds("self.name == 'a'", self={})
    assert holds("has(self.name) || true", self={})
