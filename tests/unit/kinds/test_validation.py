"""An object is taken as people write it, and whatever it is, there is a verdict."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.api.controller import Controller
from penstock.api.kinds import API_VERSION, BY_NAME
from penstock.api.nodeset import NodeSet
from penstock.api.objects import Json
from penstock.api.problems import Severity, dotted
from penstock.api.schema import encode
from penstock.api.validation import belongs_to_us, decode, examine

from .builders import ABSENT, MINIMAL, an_object, controller, errors_of, node_set, warnings_of

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
scalars = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | texts
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)
json_objects = st.dictionaries(texts, json_values, max_size=4)


# What the seeds write


def test_a_reference_may_name_its_own_namespace() -> None:
    """The seeds write controllerRef.namespace (NS-1)."""
    value = node_set(controllerRef={"name": "slinky", "namespace": "slurm"})
    value["metadata"]["namespace"] = "slurm"
    assert errors_of(value) == []


@pytest.mark.parametrize(
    ("image", "text"),
    [
        ("ghcr.io/slinkyproject/slurmd:25.05", "ghcr.io/slinkyproject/slurmd:25.05"),
        ({"repository": "ghcr.io/slinkyproject/slurmd", "tag": "25.11"}, "ghcr.io/slinkyproject/slurmd:25.11"),
        ({"repository": "r/slurmd", "tag": "25.11", "digest": "sha256:ab"}, "r/slurmd@sha256:ab"),
        ({"repository": "r/slurmd"}, "r/slurmd"),
    ],
)
def test_an_image_may_be_a_text_or_what_charts_write(image: object, text: str) -> None:
    """The seeds write both (NS-1)."""
    kind = decode(node_set(slurmd={"image": image, "args": ["-v"]}))
    assert isinstance(kind, NodeSet)
    assert kind.spec.slurmd == {"image": text, "args": ["-v"]}


@pytest.mark.parametrize(
    ("partition", "enabled", "config"),
    [
        (ABSENT, False, None),
        (None, False, None),
        ({}, True, None),
        ({"enabled": True}, True, None),
        ({"enabled": None}, True, None),
        ({"enabled": False}, False, None),
        ({"config": "Default=YES"}, True, "Default=YES"),
        ({"enabled": True, "config": "MaxTime=24:00:00 Default=YES"}, True, "MaxTime=24:00:00 Default=YES"),
    ],
)
def test_a_partition_is_made_when_there_is_one(partition: object, enabled: bool, config: str | None) -> None:
    """A partition object means a partition, as in the seeds; none means none (NS-1, PT-1)."""
    kind = decode(node_set(partition=partition))
    assert isinstance(kind, NodeSet)
    assert (kind.spec.partition.enabled, kind.spec.partition.config) == (enabled, config)


@pytest.mark.parametrize(
    "config", ["Gres=gpu:4\nWeight=10\n", " Gres=gpu:4   \n\n Weight=10", "Gres=gpu:4\r\nWeight=10"]
)
def test_node_parameters_may_stand_on_lines_of_their_own(config: str) -> None:
    """Slinky splits extraConf at any blank, so people write a YAML block (NS-1)."""
    kind = decode(node_set(extraConf=config))
    assert isinstance(kind, NodeSet)
    assert kind.spec.extra_conf == "Gres=gpu:4 Weight=10"


def test_partitions_take_settings_as_a_map_or_as_text() -> None:
    """Partitions over several NodeSets are objects (PT-6)."""
    as_text = {"name": "a", "nodeSets": ["gpu", "cpu"], "config": "MaxTime=24:00:00 Default=YES"}
    as_map = {"name": "b", "nodeSets": ["ALL"], "config": {"MaxTime": "24:00:00", "PriorityTier": 2, "Default": True}}
    kind = decode(controller(partitions=[as_text, as_map]))
    assert isinstance(kind, Controller)
    assert [partition.config for partition in kind.spec.partitions] == [as_text["config"], as_map["config"]]


# What passes untouched


@settings(max_examples=40)
@given(json_objects)
def test_what_stands_in_a_container_reaches_the_pod_untouched(container: Json) -> None:
    """Fields of Kubernetes that we have never heard of are not ours to change (NS-1)."""
    kind = decode(node_set(slurmd=container | {"image": "i"}, logfile=container))
    assert isinstance(kind, NodeSet)
    assert kind.spec.slurmd == container | {"image": "i"}
    assert warnings_of(node_set(slurmd=container)) == []


@settings(max_examples=40)
@given(json_objects.filter(lambda pod: "hostname" not in pod))
def test_what_stands_in_a_pod_or_service_reaches_it_untouched(raw: Json) -> None:
    """Nulls, unknown fields, whatever: it is Kubernetes' business (NS-1)."""
    kind = decode(controller(template={"spec": raw}, service={"spec": raw}))
    assert isinstance(kind, Controller)
    assert kind.spec.template.spec == raw
    assert kind.spec.service.spec == raw


def test_a_null_is_as_good_as_nothing() -> None:
    """Helm writes nulls for values that are not set; an API server drops them."""
    nulls = {
        "clusterName": None,
        "ha": None,
        "persistence": {"enabled": None, "existingClaim": None},
        "partitions": None,
    }
    assert decode(controller(**nulls, service={"metadata": {"labels": {"a": None}}})) == decode(
        controller(persistence={}, service={"metadata": {"labels": {}}})
    )


@pytest.mark.parametrize("kind", MINIMAL)
def test_the_least_of_a_kind_is_enough(kind: str) -> None:
    assert examine(an_object(kind)).problems == []


@pytest.mark.parametrize("kind", MINIMAL)
def test_what_we_write_we_read(kind: str) -> None:
    """Defaults are left out, and what is left means the same."""
    value = an_object(kind, template={"metadata": {"labels": {"a": "b"}}, "spec": {"priority": 0}})
    if kind == "Token":
        value = an_object(kind, lifetime="1h30m")
    decoded = decode(value)
    assert decode({"apiVersion": API_VERSION, "kind": kind} | encode(decoded)) == decoded


# The frame around a spec


@pytest.mark.parametrize(
    "metadata",
    [
        {"name": "a.b-c"},
        {"labels": {"a": "", "b": "A_b.c", "x.y/c": "d"}},
        {"labels": {"a": None}},
        {"annotations": {"a": "b c\n", "A.B/c": ""}},
        {"resourceVersion": "7", "uid": "u", "generation": 3, "managedFields": [{"manager": "m"}]},
        {"creationTimestamp": None, "finalizers": ["a/b"], "ownerReferences": [{"name": "x"}]},
    ],
)
def test_metadata_that_an_api_server_takes_is_taken(metadata: Json) -> None:
    """Also that of objects which were read from a cluster."""
    value = node_set()
    value["metadata"] |= metadata
    assert examine(value).problems == []


def test_a_whole_status_is_read() -> None:
    """Also with fields of a newer release: what we know of it still counts."""
    kind = decode(node_set() | {"status": {"replicas": 5, "selector": "a=b", "nodeSetHash": "x", "newer": 1}})
    assert isinstance(kind, NodeSet)
    assert (kind.status.replicas, kind.status.selector) == (5, "a=b")


@pytest.mark.parametrize(
    ("version", "ours"),
    [("slinky.slurm.net/v1beta1", True), ("slinky.slurm.net/v9", True), ("v1", False), (None, False)],
)
def test_objects_of_our_group_are_ours_whatever_their_version(version: str | None, ours: bool) -> None:
    assert belongs_to_us({"apiVersion": version}) is ours


# Whatever it is


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for step, child in children for place in places(child, (*path, step)))]


RICH = [
    controller(
        partitions=[{"name": "a", "nodeSets": ["b"], "config": {"MaxTime": 1}}],
        persistence={"resources": {"requests": {"storage": "1Gi"}}},
        metrics={"serviceMonitor": {"labels": {"a": "b"}, "endpoints": [{"path": "/"}]}},
    ),
    node_set(
        updateStrategy={
            "rollingUpdate": {"maxUnavailable": 1},
            "scheduledUpdate": {"startTime": "2026-11-15T08:00:00Z"},
        },
        volumeClaimTemplates=[{"metadata": {"name": "a"}, "spec": {"accessModes": ["b"]}}],
        template={"spec": {"hostname": "a-"}},
    ),
    *(an_object(kind) for kind in BY_NAME),
]


@settings(max_examples=100)
@given(st.data())
def test_no_object_whatever_is_in_it_makes_us_stumble(data: st.DataObject) -> None:
    """A verdict for everything: the object, or at least one error, each with a field that can be named."""
    value: Any = copy.deepcopy(data.draw(st.sampled_from(RICH)))
    place = data.draw(st.sampled_from([path for path in places(value) if path]))
    part = value
    for step in place[:-1]:
        part = part[step]
    part[place[-1]] = data.draw(json_values)
    verdict = examine(value)
    errors = [problem for problem in verdict.problems if problem.severity is Severity.ERROR]
    assert (verdict.kind is None) == bool(errors)
    for problem in verdict.problems:
        assert dotted(problem.path)
        assert problem.message
        assert problem.mend
        assert str(problem).isprintable() or not dotted(problem.path).isprintable()
