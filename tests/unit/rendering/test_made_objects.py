"""Every object we make is one that Kubernetes takes and that finds what it refers to (CL-1, NS-1, MO-4)."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator

import pytest

from penstock.api.objects import Json

from .builders import SECRETS
from .variants import VARIANTS, objects

every = pytest.mark.parametrize("variant", VARIANTS)


def templates(variant: str) -> Iterator[tuple[str, Json, Json, list[str]]]:
    """Every pod or pod template: a name for messages, its metadata and spec, and the volumes a StatefulSet adds."""
    for each in objects(variant):
        body = each if each["kind"] == "Pod" else each.get("spec", {}).get("template")
        if body:
            added = [claim["metadata"]["name"] for claim in each["spec"].get("volumeClaimTemplates", [])]
            yield f"{each['kind']} {each['metadata'].get('name')}", body["metadata"], body["spec"], added


def containers(spec: Json) -> list[Json]:
    return [*spec.get("initContainers", []), *spec["containers"]]


def assert_unique(names: Iterable[object], where: str) -> None:
    listed = list(names)
    assert len(listed) == len(set(listed)), f"{where}: {listed}"


@every
def test_every_mount_has_its_volume(variant: str) -> None:
    """CL-1, ST-2: and every volume of a pod is mounted somewhere."""
    for name, _, spec, added in templates(variant):
        volumes = {volume["name"] for volume in spec["volumes"]} | set(added)
        mounted = {mount["name"] for each in containers(spec) for mount in each.get("volumeMounts", [])}
        assert mounted == volumes, name


@every
def test_names_inside_a_pod_are_unique(variant: str) -> None:
    """CL-1: containers, volumes, ports, and paths of one container; the API server refuses doubles."""
    for name, _, spec, added in templates(variant):
        assert_unique((each["name"] for each in containers(spec)), name)
        assert_unique([*(volume["name"] for volume in spec["volumes"]), *added], name)
        assert_unique((port["name"] for each in containers(spec) for port in each.get("ports", [])), name)
        for each in containers(spec):
            assert_unique((mount["mountPath"] for mount in each.get("volumeMounts", [])), f"{name} {each['name']}")
            assert_unique((entry["name"] for entry in each.get("env", [])), f"{name} {each['name']}")


@every
def test_no_two_files_of_a_volume_have_one_name(variant: str) -> None:
    """PT-8: the API server refuses conflicting paths in a projected volume."""
    for name, _, spec, _ in templates(variant):
        for volume in spec["volumes"]:
            sources = volume.get("projected", {}).get("sources", [])
            items = [item for source in sources for body in source.values() for item in body.get("items", [])]
            assert_unique((item["path"] for item in items), f"{name} {volume['name']}")


@every
def test_probes_ask_ports_that_exist(variant: str) -> None:
    """CL-1: a probe of a port name that the container lacks never succeeds."""
    for name, _, spec, _ in templates(variant):
        for each in containers(spec):
            ports = {port["name"] for port in each.get("ports", [])}
            for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                handlers = [body for body in each.get(probe, {}).values() if isinstance(body, dict)]
                assert {body["port"] for body in handlers if "port" in body} <= ports, f"{name} {each['name']}"


@every
def test_services_and_owners_find_their_pods(variant: str) -> None:
    """MO-4: selectors match labels of pods, target ports exist in them, kubectl finds the main container."""
    pods = list(templates(variant))
    for each in objects(variant):
        if each["kind"] == "Service":
            wanted = each["spec"]["selector"]
            # Of several slurmctlds the active one is marked when it runs.
            wanted = {key: value for key, value in wanted.items() if key != "controller.slinky.slurm.net/active"}
            found = [spec for _, metadata, spec, _ in pods if wanted.items() <= metadata["labels"].items()]
            assert found, each["metadata"]["name"]
            ports = {port["name"] for spec in found for part in containers(spec) for port in part.get("ports", [])}
            assert {port["targetPort"] for port in each["spec"]["ports"]} <= ports
        if each["kind"] in {"StatefulSet", "Deployment"}:
            labels = each["spec"]["template"]["metadata"]["labels"]
            assert each["spec"]["selector"]["matchLabels"].items() <= labels.items()
    for name, metadata, spec, _ in pods:
        main = metadata["annotations"]["kubectl.kubernetes.io/default-container"]
        assert main in {each["name"] for each in spec["containers"]}, name


@every
def test_every_object_says_whose_component_it_is(variant: str) -> None:
    """MO-4: the seeds' label stands on everything, claims too; tokens and rings of keys belong to no component."""
    for each in objects(variant):
        if each["metadata"].get("name") not in {"robot-jwt-slurm", "keys-ring"}:
            labels = each["metadata"]["labels"]
            assert labels["slinky.slurm.net/component"] == labels["app.kubernetes.io/name"]
            assert each["metadata"]["namespace"] == "hpc"


@every
def test_secrets_are_in_secrets_alone(variant: str) -> None:
    """CL-1: no key or password in a ConfigMap, an annotation, an argument or a variable, in whatever disguise."""
    shown = json.dumps([each for each in objects(variant) if each["kind"] != "Secret"])
    for values in SECRETS.values():
        for value in values.values():
            assert value.decode() not in shown
            assert base64.b64encode(value).decode() not in shown
            assert value.hex() not in shown


@every
def test_no_pod_holds_a_token_for_the_api_server(variant: str) -> None:
    """CL-1, facts 4.1: jobs and people run in these pods."""
    for name, _, spec, _ in templates(variant):
        assert spec["automountServiceAccountToken"] is False, name
        assert spec["enableServiceLinks"] is False, name
