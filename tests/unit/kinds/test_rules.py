"""Every rule refuses what it should, says where, and lets everything else pass (NS-1)."""

from typing import Any

import pytest

from penstock.api.kinds import BY_NAME, Kind
from penstock.api.problems import dotted
from penstock.api.rules import RULES, TRANSITIONS
from penstock.api.validation import decode, examine, examine_change

from . import rule_cases
from .builders import an_object, errors_of


def told(kind: str, old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """The fields that a change is refused for."""
    before, after = (decode(an_object(kind, **spec)) for spec in (old, new))
    return [dotted(problem.path) for problem in examine_change(before, after)]


def test_every_rule_has_cases() -> None:
    """A new rule does not come without them."""

    def named(rules: Any) -> set[tuple[str, str]]:
        return {(kind, dotted(rule.field)) for kind, info in BY_NAME.items() for rule in rules[info.struct]}

    assert set(rule_cases.STATES) == named(RULES)
    assert set(rule_cases.TRANSITIONS) == named(TRANSITIONS)
    assert all(cases.kept and cases.broken for cases in rule_cases.STATES.values())
    assert all(cases.kept and cases.broken for cases in rule_cases.TRANSITIONS.values())


@pytest.mark.parametrize(("kind", "field"), rule_cases.STATES)
def test_a_spec_that_keeps_the_rules_can_be_used(kind: str, field: str) -> None:
    cases = rule_cases.STATES[kind, field]
    assert {str(spec): errors_of(an_object(kind, **spec)) for spec in cases.kept} == {
        str(spec): [] for spec in cases.kept
    }


@pytest.mark.parametrize(("kind", "field"), rule_cases.STATES)
def test_a_spec_that_breaks_a_rule_is_refused_at_its_field(kind: str, field: str) -> None:
    """And for nothing else."""
    for spec in rule_cases.STATES[kind, field].broken:
        verdict = examine(an_object(kind, **spec))
        assert verdict.kind is None, spec
        assert [dotted(problem.path) for problem in verdict.problems] == [f"spec.{field}"], spec


@pytest.mark.parametrize(("kind", "field"), rule_cases.TRANSITIONS)
def test_a_change_that_keeps_a_rule_passes(kind: str, field: str) -> None:
    changes = rule_cases.TRANSITIONS[kind, field].kept
    assert [change for change in changes if f"spec.{field}" in told(kind, *change)] == []


@pytest.mark.parametrize(("kind", "field"), rule_cases.TRANSITIONS)
def test_a_change_that_breaks_a_rule_is_refused_at_its_field(kind: str, field: str) -> None:
    """What Slinky keeps in a webhook is refused here without one (NS-1)."""
    changes = rule_cases.TRANSITIONS[kind, field].broken
    assert [change for change in changes if f"spec.{field}" not in told(kind, *change)] == []


def test_several_broken_rules_are_told_at_once() -> None:
    updates = {"type": "ScheduledUpdate", "rollingUpdate": {"maxUnavailable": 0}}
    assert errors_of(an_object("NodeSet", controllerRef={}, updateStrategy=updates)) == [
        "spec.controllerRef.name: is empty; name the Controller of the cluster",
        "spec.updateStrategy.rollingUpdate.maxUnavailable: must let an update proceed; write at least 1, or 1% to 100%",
        "spec.updateStrategy.scheduledUpdate: ScheduledUpdate needs scheduledUpdate; add its startTime and duration",
    ]


def test_a_refused_change_says_what_to_do_instead() -> None:
    old: Kind = decode(an_object("Controller", clusterName="a"))
    new: Kind = decode(an_object("Controller", clusterName="b"))
    assert [str(problem) for problem in examine_change(old, new)] == [
        "spec.clusterName: cannot change: jobs, state and accounting are kept under it; leave it as it was"
    ]


def test_every_rule_says_what_is_wrong_and_how_to_mend_it() -> None:
    rules: list[Any] = [rule for rules in (*RULES.values(), *TRANSITIONS.values()) for rule in rules]
    assert [rule.message for rule in rules if not all(rule.message.rpartition("; "))] == []
