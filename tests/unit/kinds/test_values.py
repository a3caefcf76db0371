"""Chart values are read as the NodeSets that a release makes of them, and their mistakes are told like any others."""

from typing import Any

import pytest

from penstock.api import values
from penstock.api.nodeset import NodeSet
from penstock.api.objects import Json
from penstock.api.patterns import HINTS, NODE_PARAMETERS, OBJECT_NAME
from penstock.api.problems import dotted
from penstock.api.validation import decode, examine

SLURMD = {"image": {"repository": "ghcr.io/slinkyproject/slurmd", "tag": "25.11"}}
"""As the seeds write it."""


def made(nodesets: Any) -> list[Json]:
    return [value for _, value in values.node_sets({"nodesets": nodesets}, release="slurm", namespace="hpc")]


def one(nodesets: Any) -> NodeSet:
    [value] = made(nodesets)
    kind = decode(value)
    assert isinstance(kind, NodeSet)
    return kind


@pytest.mark.parametrize(
    ("document", "answer"),
    [
        ({"nodesets": {}}, True),
        ({"nodesets": []}, True),
        ({"configFiles": {}, "nodesets": {"a": {}}}, True),
        ({"nodesets": None}, False),
        ({"nodesets": "all"}, False),
        ({"loginsets": {}}, False),
        ({"kind": "Anything", "nodesets": {}}, False),
    ],
)
def test_values_are_told_from_objects(document: Json, answer: bool) -> None:
    assert values.is_values(document) is answer


def test_a_map_of_sets_becomes_node_sets_by_its_keys() -> None:
    """The seeds' values.yaml (NS-1)."""
    kind = one({"compute": {"enabled": True, "replicas": 4, "slurmd": SLURMD, "partition": {"enabled": True}}})
    assert (kind.metadata.name, kind.metadata.namespace) == ("slurm-worker-compute", "hpc")
    assert kind.spec.controller_ref.name == "slurm"
    assert kind.spec.replicas == 4
    assert kind.spec.slurmd == {"image": "ghcr.io/slinkyproject/slurmd:25.11"}
    assert kind.spec.partition.enabled


def test_slurm_nodes_are_named_by_the_key() -> None:
    """Charts always set the hostname prefix, whatever the pod says (facts/slinky.md 5.1)."""
    kind = one({"gpu": {"podSpec": {"hostname": "mine-", "nodeSelector": {"node-type": "gpu"}}}})
    assert kind.spec.template.spec == {"hostname": "gpu-", "nodeSelector": {"node-type": "gpu"}}
    assert kind.slurm_name == "gpu"


def test_a_list_of_sets_becomes_node_sets_by_their_names() -> None:
    """The seeds' FAQ writes lists, with container fields at the top of each entry (NS-1)."""
    kind = one([{"name": "pyxis", "image": {"repository": "r/slurmd-pyxis"}, "securityContext": {"privileged": True}}])
    assert kind.metadata.name == "slurm-worker-pyxis"
    assert kind.spec.slurmd == {"image": "r/slurmd-pyxis", "securityContext": {"privileged": True}}


def test_what_stands_in_slurmd_wins_over_what_stands_above_it() -> None:
    kind = one({"a": {"args": ["-v"], "env": [{"name": "A"}], "slurmd": {"args": ["-vv"]}}})
    assert kind.spec.slurmd == {"args": ["-vv"], "env": [{"name": "A"}]}


def test_labels_of_an_entry_go_to_its_pods() -> None:
    kind = one({"a": {"metadata": {"labels": {"team": "x"}}}})
    assert kind.spec.template.metadata.labels == {"team": "x"}


def test_sets_that_are_switched_off_are_left_out() -> None:
    assert [value["metadata"]["name"] for value in made({"a": {"enabled": False}, "b": {}, "c": None})] == [
        "slurm-worker-b",
        "slurm-worker-c",
    ]


def test_an_unnamed_entry_of_a_list_is_named_by_its_place() -> None:
    assert [value["metadata"]["name"] for value in made([{}, {"name": "b"}])] == ["slurm-worker-0", "slurm-worker-b"]


@pytest.mark.parametrize(
    ("nodesets", "told"),
    [
        ({"a": 5}, "nodesets.a: is 5; write a map"),
        ([5], "nodesets[0]: is 5; write a map"),
        ([None], None),
        ({"a": {"slurmd": "image"}}, 'nodesets.a.slurmd: is "image"; write a map'),
        ({"a": {"podSpec": []}}, "nodesets.a.podSpec: is a list; write a map"),
        ({"a": {"podSpec": {"hostname": 5}}}, None),
        ({"a": {"metadata": 5}}, "nodesets.a.metadata: is 5; write a map"),
        ({"a": {"metadata": {"labels": {"b": 1}}}}, 'nodesets.a.metadata.labels.b: is 1; put it in quotes: "1"'),
        ({"a": {"replicas": "4"}}, 'nodesets.a.replicas: is "4"; take off the quotes: 4'),
        ([{"name": "b", "partition": {"enabled": 1}}], "nodesets[0].partition.enabled: is 1; write true or false"),
        ({"a": {"replica": 4}}, "nodesets.a.replica: is not a field we know; did you mean replicas?"),
        ({"a": {"extraConf": "Gres"}}, f'nodesets.a.extraConf: is "Gres"; {HINTS[NODE_PARAMETERS]}'),
        ({"A": {}}, f'nodesets.A: is "slurm-worker-A"; {HINTS[OBJECT_NAME]}'),
    ],
)
def test_a_mistake_in_values_is_told_at_its_place_in_the_values(nodesets: Any, told: str | None) -> None:
    """Not at the place it would have in a NodeSet that nobody wrote."""
    [(at, value)] = values.node_sets({"nodesets": nodesets}, release="slurm", namespace="hpc")
    problems = examine(value).problems
    lines = [str(problem).replace(dotted(problem.path), place(at, problem.path), 1) for problem in problems]
    assert lines[:1] == ([told] if told else [])


def place(at: tuple[str | int, ...], path: tuple[str | int, ...]) -> str:
    return dotted(values.path_in_values(at, path))
