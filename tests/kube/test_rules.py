"""The API server itself refuses what breaks a rule, in the rule's words (NS-1)."""

from typing import Any

import pytest

from penstock.api.kinds import BY_NAME, GROUP, KINDS, VERSION
from penstock.api.problems import dotted
from penstock.api.rules import RULES, TRANSITIONS

from .control_plane import ControlPlane
from .specs import BROKEN, FORBIDDEN, MINIMAL, RuleName, Spec, an_object

MERGE = "application/merge-patch+json"


def messages(rules: Any) -> dict[RuleName, str]:
    """Every rule's name with its words."""
    return {(info.kind, dotted(rule.field)): rule.message for info in KINDS for rule in rules[info.struct]}


def cases(changes: dict[RuleName, Spec], rules: Any) -> list[Any]:
    words = messages(rules)
    return [pytest.param(name[0], change, words.get(name, "?"), id=" ".join(name)) for name, change in changes.items()]


def collection(namespace: str, kind: str) -> str:
    return f"/apis/{GROUP}/{VERSION}/namespaces/{namespace}/{BY_NAME[kind].plural}"


@pytest.fixture(scope="module")
def minimal(control_plane: ControlPlane, crds: list[str]) -> str:
    """Make a namespace with a minimal object `one` of each kind."""
    assert len(crds) == len(MINIMAL)
    namespace = "minimal"
    control_plane.request("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    for kind in MINIMAL:
        status, answer = control_plane.request("POST", collection(namespace, kind), an_object(kind, "one"))
        assert status == 201, answer
    return namespace


def test_every_rule_is_broken_once() -> None:
    """A new rule does not come without a case here."""
    assert BROKEN.keys() == messages(RULES).keys()
    assert FORBIDDEN.keys() == messages(TRANSITIONS).keys()


@pytest.mark.parametrize(("kind", "change", "words"), cases(BROKEN, RULES))
def test_what_breaks_a_rule_cannot_be_created(
    control_plane: ControlPlane, minimal: str, kind: str, change: Spec, words: str
) -> None:
    path = f"{collection(minimal, kind)}?dryRun=All"
    status, answer = control_plane.request("POST", path, an_object(kind, "two", change))
    assert status == 422
    assert words in answer["message"]


@pytest.mark.parametrize(("kind", "change", "words"), cases(BROKEN, RULES) + cases(FORBIDDEN, TRANSITIONS))
def test_what_breaks_a_rule_is_no_update(
    control_plane: ControlPlane, minimal: str, kind: str, change: Spec, words: str
) -> None:
    """What Slinky keeps in a webhook holds without one."""
    path = f"{collection(minimal, kind)}/one?dryRun=All"
    status, answer = control_plane.request("PATCH", path, {"spec": change}, MERGE)
    assert status == 422
    assert words in answer["message"]
