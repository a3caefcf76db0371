"""The CRDs have every field of Slinky's, with its defaults, and beside them only what is listed here as ours (NS-1)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from penstock.api.crd import crd
from penstock.api.kinds import BY_NAME, KINDS
from penstock.api.objects import Json
from penstock.api.schema import fields_of

LINES = [
    line
    for line in Path(__file__).with_name("slinky_fields.txt").read_text().splitlines()
    if line and not line.startswith("#")
]

OTHER_DEFAULTS = {
    "Controller.spec.inplaceReconfigure": "unset means true here: new configuration reaches slurmctld at once (PT-3)",
    "NodeSet.spec.partition.enabled": "true once there is a partition object, as in the seeds; no object, no line",
    "NodeSet.spec.minReadySeconds": "Slinky's code fills in the same 0 that our schema says",
    "Token.spec.lifetime": "Slinky's code fills in the same 15m that our schema says",
}
"""Fields whose default differs from Slinky's schema, and why."""

ALSO_REQUIRED = {
    "NodeSet.spec.updateStrategy.scheduledUpdate.startTime": "Slinky says it with CEL, for ScheduledUpdate only",
    "NodeSet.spec.volumeClaimTemplates[].metadata": "a claim template without a name cannot be mounted",
    "NodeSet.spec.volumeClaimTemplates[].metadata.name": "a claim template without a name cannot be mounted",
    "Controller.spec": "an empty object cannot be used, and CEL rules look at a spec only when there is one",
    "Accounting.spec": "as for Controller",
    "LoginSet.spec": "as for Controller",
    "NodeSet.spec": "as for Controller",
    "RestApi.spec": "as for Controller",
    "Token.spec": "as for Controller",
}
"""Fields that must be written here and need not with Slinky, and why."""

OURS = re.compile(
    r"Controller\.(spec|status)\.(partitions|topology|sharedRoot)\b.*"
    r"|NodeSet\.spec\.(drain|autoscale|registration|walls)\b.*"
    r"|\w+\.spec\.imageContract"
    r"|\w+\.spec\.controllerRef\.namespace"  # the seeds write it
    r"|\w+\.spec\.template\.spec\.hostname"  # for its pattern; the rest of the pod stays raw
    r"|NodeSet\.spec\.volumeClaimTemplates\[\]\..*|Controller\.spec\.persistence\.resources\..*"  # raw in Slinky
)
"""Fields beyond Slinky's."""


@dataclass
class Listed:
    """A line of the list."""

    path: str
    required: bool = False
    rest: dict[str, str] = field(default_factory=dict)


def listed() -> Iterator[Listed]:
    for line in LINES:
        path, _, rest = line.partition(" ")
        if "." in path:
            words = dict(re.findall(r"(=|enum|min) (\S+)", rest))
            yield Listed(path, required=bool(re.search(r"\brequired\b", rest)), rest=words)


LISTED = list(listed())


@cache
def object_schema(kind: str) -> Json:
    schema: Json = crd(BY_NAME[kind])["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def our_fields() -> set[str]:
    paths = {f"{info.kind}.{path}" for info in KINDS for path in fields_of(object_schema(info.kind))}
    return {path for path in paths if re.match(r"\w+\.(spec|status)\b", path)}


def at(path: str) -> tuple[Json, bool]:
    """The schema of a field, and whether it must be written."""
    kind, *steps = path.split(".")
    node, required = object_schema(kind), False
    for step in steps:
        node = node.get("items", node) if "properties" not in node else node
        name = step.removesuffix("[]")
        required = name in node.get("required", ())
        node = node["properties"][name]
    return node, required


def text(default: Any) -> str | None:
    """A default as the list writes it."""
    if default is None:
        return None
    return str(default).lower() if isinstance(default, bool) else str(default) or '""'


def test_every_field_of_slinky_is_in_the_schema() -> None:
    """Manifests written for Slinky apply unchanged (NS-1)."""
    assert {one.path for one in LISTED} - our_fields() == set()


def test_every_other_field_is_listed_as_ours() -> None:
    """What is not Slinky's has a name of its own, and a place in the list above."""
    others = our_fields() - {one.path for one in LISTED}
    assert {path for path in others if not OURS.fullmatch(path)} == set()


def test_the_list_is_as_long_as_the_facts() -> None:
    """A list that lost its lines would make the tests above easy."""
    counts = {info.kind: sum(one.path.startswith(f"{info.kind}.") for one in LISTED) for info in KINDS}
    assert counts == {"Accounting": 52, "Controller": 86, "LoginSet": 35, "NodeSet": 65, "RestApi": 25, "Token": 25}


def told(one: Listed) -> Listed:
    """The same line as our schema would write it, its known deviations aside."""
    schema, required = at(one.path)
    default = one.rest.get("=") if one.path in OTHER_DEFAULTS else text(schema.get("default"))
    words = {"=": default, "enum": "|".join(schema.get("enum", ())), "min": "min" in one.rest and schema["minimum"]}
    rest = {word: str(value) for word, value in words.items() if value}
    return Listed(one.path, required=one.required if one.path in ALSO_REQUIRED else required, rest=rest)


@pytest.mark.parametrize("kind", BY_NAME)
def test_fields_have_their_defaults_enums_and_bounds(kind: str) -> None:
    """Objects made without a field behave as with Slinky (NS-1)."""
    wanted = [one for one in LISTED if one.path.startswith(f"{kind}.")]
    assert [told(one) for one in wanted] == wanted


def test_the_deviations_are_what_they_say() -> None:
    """A deviation that is gone must leave the tables, too."""
    defaults = {path: text(at(path)[0].get("default")) for path in OTHER_DEFAULTS}
    assert defaults == {
        "Controller.spec.inplaceReconfigure": None,
        "NodeSet.spec.partition.enabled": "true",
        "NodeSet.spec.minReadySeconds": "0",
        "Token.spec.lifetime": "15m",
    }
    assert [path for path in ALSO_REQUIRED if not at(path)[1]] == []


def test_a_status_has_no_defaults() -> None:
    """A default in a status would claim what nobody has seen."""
    status = [path for path in our_fields() if re.match(r"\w+\.status\.", path)]
    assert [path for path in status if "default" in at(path)[0]] == []


@pytest.mark.parametrize("line", [line for line in LINES if line.startswith("kind ")], ids=lambda line: line.split()[1])
def test_a_kind_answers_to_its_names_and_scales(line: str) -> None:
    """`kubectl get nss`, `kubectl scale nodeset`: what people's fingers know works (NS-1)."""
    _, kind, plural, short_names, *scale = line.split()
    spec = crd(BY_NAME[kind])["spec"]
    assert (spec["group"], spec["scope"]) == ("slinky.slurm.net", "Namespaced")
    assert spec["names"]["kind"] == kind
    assert spec["names"]["plural"] == plural
    assert spec["names"]["shortNames"] == short_names.split(",")
    [version] = spec["versions"]
    assert (version["name"], version["served"], version["storage"]) == ("v1beta1", True, True)
    assert "status" in version["subresources"]
    paths = {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }
    assert version["subresources"].get("scale") == (paths if scale else None)


@pytest.mark.parametrize("kind", BY_NAME)
def test_kubectl_get_shows_slinkys_columns(kind: str) -> None:
    """Same columns in the same order; kubectl prints their names in capitals (NS-1)."""
    wanted = [line.split()[2:] for line in LINES if line.startswith(f"column {kind} ")]
    columns = crd(BY_NAME[kind])["spec"]["versions"][0]["additionalPrinterColumns"]
    shown = [[one["name"].upper(), one["jsonPath"], *(["wide"] if one.get("priority") == 1 else [])] for one in columns]
    assert shown == wanted


def test_dates_and_numbers_are_columns_of_their_type() -> None:
    """A date is shown as an age, a number to the right."""
    columns = {
        column["jsonPath"]: column["type"]
        for info in KINDS
        for column in crd(info)["spec"]["versions"][0]["additionalPrinterColumns"]
    }
    assert columns[".metadata.creationTimestamp"] == columns[".status.issuedAt"] == "date"
    assert columns[".status.desired"] == columns[".status.slurmIdle"] == "integer"
    assert columns[".spec.username"] == "string"
