"""CustomResourceDefinitions, made from the structs and their rules."""

from __future__ import annotations

import copy

from penstock.api.kinds import GROUP, VERSION, Column, KindInfo
from penstock.api.objects import Json
from penstock.api.problems import Path
from penstock.api.rule import Rule, Transition
from penstock.api.rules import RULES, TRANSITIONS
from penstock.api.schema import schema_of

_META_FIELDS: Json = {
    "apiVersion": {"type": "string", "description": "Version of this representation."},
    "kind": {"type": "string", "description": "Kind of the object."},
    "metadata": {"type": "object"},
}
_AGE = Column(name="Age", path=".metadata.creationTimestamp", type="date")


def crd(info: KindInfo) -> Json:
    """The CustomResourceDefinition of a kind."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{info.plural}.{GROUP}"},
        "spec": {"group": GROUP, "names": _names(info), "scope": "Namespaced", "versions": [_version(info)]},
    }


def object_schema(info: KindInfo) -> Json:
    """The schema of a whole object of the kind, with its rules."""
    schema = copy.deepcopy(schema_of(info.struct))
    properties = _META_FIELDS | {"spec": schema["properties"]["spec"], "status": _status(info, schema)}
    rules: list[Rule | Transition] = [*RULES[info.struct], *TRANSITIONS[info.struct]]
    for rule in rules:
        node = _at(properties["spec"], rule.at)
        node.setdefault("x-kubernetes-validations", []).append({"rule": rule.cel, "message": rule.message})
    return {"type": "object", "description": schema["description"], "properties": properties, "required": ["spec"]}


def _status(info: KindInfo, schema: Json) -> Json:
    """A status has no defaults: they would claim what nobody has seen."""
    status: Json = schema["properties"]["status"]
    for field in status["properties"].values():
        field.pop("default", None)
    return status | ({"required": list(info.required_status)} if info.required_status else {})


def _names(info: KindInfo) -> Json:
    return {
        "kind": info.kind,
        "listKind": f"{info.kind}List",
        "plural": info.plural,
        "shortNames": list(info.short_names),
        "singular": info.kind.lower(),
    }


def _version(info: KindInfo) -> Json:
    return {
        "name": VERSION,
        "served": True,
        "storage": True,
        "subresources": _subresources(info),
        "additionalPrinterColumns": [_column(column) for column in (*info.columns, _AGE)],
        "schema": {"openAPIV3Schema": object_schema(info)},
    }


def _subresources(info: KindInfo) -> Json:
    if not info.scales:
        return {"status": {}}
    paths = {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }
    return {"status": {}, "scale": paths}


def _column(column: Column) -> Json:
    body: Json = {"name": column.name, "type": column.type, "jsonPath": column.path}
    return body | ({"priority": 1} if column.wide else {})


def _at(schema: Json, path: Path) -> Json:
    for step in path:
        schema = schema["properties"][step]
    return schema
