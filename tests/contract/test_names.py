"""Names, labels and the rest of metadata are held to Kubernetes' rules, with the reason told."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.api.objects import Json
from penstock.cluster.errors import Refused
from penstock.cluster.port import Cluster

from .world import CONFIG_MAPS, SERVICES, World, contract, refused

BAD_METADATA: dict[str, tuple[Json, str]] = {
    "upper case": ({"name": "One"}, 'metadata.name: Invalid value: "One": a lowercase RFC 1123 subdomain'),
    "underscore": ({"name": "one_two"}, "a lowercase RFC 1123 subdomain"),
    "dash at the end": ({"name": "one-"}, "a lowercase RFC 1123 subdomain"),
    "too long": ({"name": "a" * 254}, "must be no more than 253 characters"),
    "no name": ({}, "metadata.name: Required value: name or generateName is required"),
    "label key": ({"name": "one", "labels": {"a b": "c"}}, 'metadata.labels: Invalid value: "a b": name part must'),
    "label prefix": ({"name": "one", "labels": {"A_b/c": "d"}}, "prefix part a lowercase RFC 1123 subdomain"),
    "label value": ({"name": "one", "labels": {"a": "b c"}}, 'metadata.labels: Invalid value: "b c": a valid label'),
    "long label": ({"name": "one", "labels": {"a": "b" * 64}}, "must be no more than 63 bytes"),
    "annotation key": ({"name": "one", "annotations": {"a b": "c"}}, "metadata.annotations: Invalid value"),
    "finalizer": ({"name": "one", "finalizers": ["plain"]}, "nor is it fully qualified"),
    "owner without uid": (
        {"name": "one", "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": ""}]},
        "metadata.ownerReferences.uid",
    ),
    "two controllers": (
        {
            "name": "one",
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid, "controller": True} for uid in "12"
            ],
        },
        "Only one reference can have Controller set to true",
    ),
}
GOOD_METADATA: dict[str, Json] = {
    "dots and dashes": {"name": "one.two-3"},
    "longest name": {"name": "a" * 253},
    "qualified label": {"name": "one", "labels": {"example.com/Some_Key.x": "Some_value.1", "empty": ""}},
    "annotation of any case and text": {"name": "one", "annotations": {"Example.com/Key": "a b\nc"}},
    "finalizer": {"name": "one", "finalizers": ["example.com/thing"]},
}


@pytest.mark.parametrize("case", BAD_METADATA)
def test_bad_metadata_is_refused_with_the_reason(adapter: Any, case: str) -> None:
    metadata, reason = BAD_METADATA[case]

    @contract
    async def check(world: World) -> None:
        with refused(Refused, reason):
            await world.cluster.create(CONFIG_MAPS, {"metadata": {"namespace": world.namespace, **metadata}})

    check(adapter)


@pytest.mark.parametrize("case", GOOD_METADATA)
def test_good_metadata_is_taken(adapter: Any, case: str) -> None:
    @contract
    async def check(world: World) -> None:
        metadata = {"namespace": world.namespace, **GOOD_METADATA[case]}
        made = await world.cluster.create(CONFIG_MAPS, {"metadata": metadata})
        assert made.metadata.name == metadata["name"]
        await without_finalizers(world.cluster, made.metadata.name, world.namespace)

    check(adapter)


async def without_finalizers(cluster: Cluster, name: str, namespace: str) -> None:
    """Leave nothing that could not be deleted."""
    await cluster.patch(CONFIG_MAPS, name, {"metadata": {"finalizers": None}}, namespace=namespace)


@contract
async def test_every_reason_is_told(world: World) -> None:
    with refused(Refused, 'ConfigMap "One" is invalid: [', "metadata.name", "metadata.labels"):
        await world.cluster.create(CONFIG_MAPS, world.config_map("One", labels={"a": "b c"}))


@contract
async def test_a_service_is_a_host_name_so_its_name_has_no_dots(world: World) -> None:
    body = {"metadata": world.named("one.two"), "spec": {"ports": [{"port": 80}]}}
    with refused(Refused, "must not contain dots"):
        await world.cluster.create(SERVICES, body)


@contract
async def test_a_change_is_held_to_the_same_rules(world: World) -> None:
    await world.cluster.create(CONFIG_MAPS, world.config_map("one"))
    with refused(Refused, "metadata.labels"):
        await world.cluster.patch(CONFIG_MAPS, "one", {"metadata": {"labels": {"a": "b c"}}}, namespace=world.namespace)
    with refused(Refused, "metadata.labels"):
        await world.cluster.apply(CONFIG_MAPS, world.config_map("one", labels={"a": "b c"}))


@contract
async def test_metadata_that_is_of_the_wrong_type_is_refused(world: World) -> None:
    with refused(Refused):
        await world.cluster.create(CONFIG_MAPS, world.config_map("one", annotations={"a": 1}))
