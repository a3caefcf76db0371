"""The CRDs are what an API server takes: structural, explained, the same every time, and the ones in charts/."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.api import shape
from penstock.api.crd import crd
from penstock.api.kinds import BY_NAME, KINDS
from penstock.api.objects import Json
from penstock.api.patterns import HINTS
from penstock.cli.crds import files

CHART = Path(__file__).resolve().parents[3] / "charts" / "slurm-operator" / "crds"
TYPES = ("object", "array", "string", "integer", "number", "boolean")
KEYWORDS = {
    "additionalProperties", "default", "description", "enum", "format", "items", "maxItems", "maxLength", "maximum",
    "minItems", "minLength", "minimum", "pattern", "properties", "required", "type",
    "x-kubernetes-int-or-string", "x-kubernetes-list-map-keys", "x-kubernetes-list-type", "x-kubernetes-map-type",
    "x-kubernetes-preserve-unknown-fields", "x-kubernetes-validations",
}  # fmt: skip
"""What a structural schema may say; $ref, anyOf, oneOf, allOf, not, nullable and the like are not among it."""


def nodes(schema: Json, path: str) -> Iterator[tuple[str, Json]]:
    """Every schema inside a schema, with its path."""
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from nodes(child, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if key in schema:
            yield from nodes(schema[key], f"{path}.{key}")


def object_schema(kind: str) -> Json:
    schema: Json = crd(BY_NAME[kind])["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


NODES = [pair for kind in BY_NAME for pair in nodes(object_schema(kind), kind)]


def broken(rule: str) -> list[str]:
    return [path for path, node in NODES if complaints(node).get(rule)]


def complaints(node: Json) -> dict[str, bool]:
    """The rules of structural schemas (Kubernetes: Extend the API with CRDs), each with whether a node breaks it."""
    untyped = node.get("x-kubernetes-int-or-string") or node.get("x-kubernetes-preserve-unknown-fields")
    keys = node.get("x-kubernetes-list-map-keys", [])
    items = node.get("items", {})
    known = items.get("properties", {})
    return {
        "has a type": node.get("type") not in TYPES if "type" in node else not untyped,
        "says only what it may": not set(node) <= KEYWORDS,
        "is either a map or an object": "additionalProperties" in node and "properties" in node,
        "types belong to their keywords": ("items" in node) != (node.get("type") == "array")
        or ("properties" in node and node.get("type") != "object"),
        "int-or-string has no type": bool(node.get("x-kubernetes-int-or-string") and "type" in node),
        "map lists name their keys": (node.get("x-kubernetes-list-type") == "map") != bool(keys),
        "map keys are always there": any(
            key not in known or (key not in items.get("required", ()) and "default" not in known[key]) for key in keys
        ),
        "required fields are fields": not set(node.get("required", ())) <= set(node.get("properties", {})),
        "defaults fit": "default" in node and bool(list(shape.check(node["default"], node))),
    }


@pytest.mark.parametrize("rule", complaints({"type": "object"}))
def test_every_schema_is_structural(rule: str) -> None:
    """An API server takes the CRDs, prunes what they do not know and fills in their defaults (NS-1)."""
    assert broken(rule) == []


@pytest.mark.parametrize(
    ("rule", "node"),
    [
        ("has a type", {"description": "?"}),
        ("has a type", {"type": "null"}),
        ("has a type", {"type": ["string", "null"]}),
        ("says only what it may", {"type": "string", "anyOf": []}),
        ("says only what it may", {"$ref": "#/definitions/Part"}),
        ("is either a map or an object", {"type": "object", "properties": {}, "additionalProperties": {}}),
        ("types belong to their keywords", {"type": "array"}),
        ("int-or-string has no type", {"type": "string", "x-kubernetes-int-or-string": True}),
        ("map lists name their keys", {"type": "array", "x-kubernetes-list-type": "map", "items": {}}),
        ("map keys are always there", {"x-kubernetes-list-map-keys": ["a"], "items": {"properties": {"a": {}}}}),
        ("required fields are fields", {"type": "object", "required": ["a"]}),
        ("defaults fit", {"type": "integer", "default": "one"}),
        ("defaults fit", {"type": "string", "enum": ["A"], "default": "B"}),
    ],
)
def test_the_checker_above_sees_what_is_not_structural(rule: str, node: Json) -> None:
    assert complaints(node)[rule]


def test_kubectl_explain_has_a_word_on_every_field() -> None:
    inner = re.compile(r".*\.(items|additionalProperties)")
    fields = [(path, node) for path, node in NODES if re.match(r"\w+\.(spec|status)\b", path)]
    assert [path for path, node in fields if not inner.fullmatch(path) and not node.get("description")] == []


def test_every_pattern_is_one_for_both_sides() -> None:
    """Python and the API server (RE2) read a pattern alike, and a person is told what to write instead."""
    patterns = {node["pattern"] for _, node in NODES if "pattern" in node}
    assert patterns <= set(HINTS)
    unlike = re.compile(
        r"\(\?|\\[0-9]|\\[sSdDwWbB]"
    )  # lookaround, back references; classes with Unicode in Python only
    assert [pattern for pattern in patterns if unlike.search(pattern)] == []
    assert [pattern for pattern in patterns if not re.match(r"\^.*\$$", pattern)] == []


def test_every_rule_has_cel_and_a_message() -> None:
    rules = [rule for _, node in NODES for rule in node.get("x-kubernetes-validations", ())]
    assert len(rules) > 20
    assert [rule for rule in rules if not rule["rule"].strip() or not rule["message"].strip()] == []


def test_the_crds_are_the_same_in_every_process() -> None:
    """Sets and hashes do not shuffle what stands in git."""
    program = "import json; from penstock.cli.crds import files; print(json.dumps(files()))"
    again = subprocess.run(  # noqa: S603 - our own interpreter and our own words
        [sys.executable, "-c", program], check=True, capture_output=True, env={"PYTHONHASHSEED": "7"}
    )
    assert json.loads(again.stdout) == files()


def test_making_a_crd_leaves_no_trace_in_the_next_one() -> None:
    first = crd(KINDS[0])
    first["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"].clear()
    assert crd(KINDS[0]) != first


def test_the_chart_holds_the_crds_that_we_make() -> None:
    """What helm installs is what the code decodes (NS-1)."""
    committed = {file.name: file.read_text() for file in CHART.glob("*.yaml")}
    stale = {name for name, _ in committed.items() ^ files().items()}
    assert not stale, "the kinds have changed: run `make crds` and commit charts/"
