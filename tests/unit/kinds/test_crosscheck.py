"""What only several objects together show: names that collide, partitions over sets that are not there (PT-6)."""

import pytest

from penstock.api.crosscheck import ConfigMaps, crosscheck
from penstock.api.kinds import Kind
from penstock.api.objects import Json
from penstock.api.validation import decode

from .builders import KEY, an_object, controller, node_set

NAME_IT = "name it as Slurm does, or include it from a file that Slurm reads"


def told(*values: Json, config_maps: ConfigMaps | None = None) -> list[str]:
    """Each problem with the object it is told at."""
    kinds = [decode(value) for value in values]
    return [line(kind, str(problem)) for kind, problem in crosscheck(kinds, config_maps or {})]


def line(kind: Kind, problem: str) -> str:
    return f"{kind.kind} {kind.metadata.namespace}/{kind.metadata.name}: {problem}"


def elsewhere(value: Json) -> Json:
    return value | {"metadata": value["metadata"] | {"namespace": "elsewhere"}}


def prefixed(name: str, prefix: str) -> Json:
    return node_set(name, template={"spec": {"hostname": prefix}})


def over(*node_sets: str, name: str = "all") -> Json:
    return controller(partitions=[{"name": name, "nodeSets": list(node_sets)}])


def test_objects_that_fit_together_are_not_mentioned() -> None:
    assert told(over("gpu", "cpu"), node_set("gpu"), node_set("cpu"), an_object("LoginSet"), an_object("Token")) == []


def test_two_objects_of_one_kind_and_name_are_one_too_many() -> None:
    assert told(node_set("gpu"), node_set("cpu"), node_set("gpu", replicas=2)) == [
        'NodeSet default/gpu: metadata.name: NodeSet "gpu" is defined twice; keep one'
    ]
    assert told(node_set("gpu"), elsewhere(node_set("gpu")), an_object("RestApi", "gpu")) == []


def test_two_sets_of_one_name_inside_slurm_collide() -> None:
    """The set's name in slurm.conf is its hostname prefix, and only then its own name (facts/slinky.md 2.4)."""
    collision = 'spec.template.spec.hostname: is called "gpu" inside Slurm, and so is NodeSet "a"'
    mend = "give each its own hostname prefix"
    assert told(controller(), prefixed("a", "gpu-"), prefixed("b", "gpu-"), prefixed("c", "cpu-")) == [
        f"NodeSet default/b: {collision}; {mend}"
    ]
    assert told(prefixed("a", "gpu-"), node_set("gpu")) == [f"NodeSet default/gpu: {collision}; {mend}"]


def test_sets_of_different_clusters_do_not_collide() -> None:
    other = node_set("b", controllerRef={"name": "other"}, template={"spec": {"hostname": "gpu-"}})
    assert told(controller(), an_object("Controller", "other"), prefixed("a", "gpu-"), other) == []
    assert told(controller(), elsewhere(controller()), prefixed("a", "gpu-"), elsewhere(prefixed("b", "gpu-"))) == []


def test_a_login_set_and_workers_with_sshd_need_names_of_their_own() -> None:
    """Both would make `<name>-ssh-config` (facts/slinky.md 2.1)."""
    with_sshd = node_set("slurm", ssh={"enabled": True, "sssdConfRef": KEY})
    clash = 'a LoginSet is called "slurm" too, and both would make its -ssh-config ConfigMap; rename one of them'
    assert told(an_object("LoginSet", "slurm"), with_sshd) == [f"NodeSet default/slurm: metadata.name: {clash}"]
    assert told(an_object("LoginSet", "slurm"), node_set("slurm")) == []
    assert told(an_object("LoginSet", "slurm"), elsewhere(with_sshd)) == []


def test_a_partition_over_an_unknown_set_is_a_warning() -> None:
    """The set may be in the cluster already, so it is no error (PT-6)."""
    missing = 'NodeSet "cpu" is not among these manifests; name one that is, or ALL'
    assert told(over("gpu", "cpu"), node_set("gpu")) == [
        f"Controller default/slurm: spec.partitions[0].nodeSets[1]: {missing}"
    ]
    assert told(over("cpu"), elsewhere(node_set("cpu")), node_set("gpu")) == [
        f"Controller default/slurm: spec.partitions[0].nodeSets[0]: {missing}"
    ]


def test_a_partition_may_span_every_set() -> None:
    assert told(over("ALL")) == []


def test_a_set_that_is_there_with_errors_of_its_own_is_not_missed() -> None:
    kinds = [decode(over("gpu"))]
    assert list(crosscheck(kinds, {}, unusable={("default", "gpu")})) == []
    assert len(list(crosscheck(kinds, {}, unusable={("elsewhere", "gpu")}))) == 1


def test_a_partition_and_a_set_with_its_own_partition_cannot_share_a_name() -> None:
    """Slurm would take the last line and forget the other (PT-6)."""
    own = node_set("gpu", partition={"enabled": True})
    clash = 'partition "gpu" is also made by a NodeSet of that name; rename it, or set partition.enabled: false there'
    assert told(over("gpu", name="gpu"), own) == [f"Controller default/slurm: spec.partitions[0].name: {clash}"]
    assert told(over("gpu", name="gpu"), node_set("gpu", partition={"enabled": False})) == []


@pytest.mark.parametrize(
    ("file", "problem"),
    [
        ("slurm.conf", "holds slurm.conf, which Penstock writes itself; put its settings into extraConf"),
        ("slurmdbd.conf", "holds slurmdbd.conf, which Penstock writes itself; put its settings into extraConf"),
        ("notes.txt", f"holds notes.txt, which Slurm does not read by itself; {NAME_IT}"),
        ("gres.conf", None),
        ("topology.yaml", None),
        ("job_submit.lua", None),
    ],
)
def test_configuration_files_are_those_that_slurm_reads(file: str, problem: str | None) -> None:
    """As in Slinky's webhook: two files are ours, some Slurm does not know (facts/slinky.md 6)."""
    value = controller(configFileRefs=[{"name": "missing"}, {"name": "extra"}])
    expected = [f'Controller default/slurm: spec.configFileRefs[1]: ConfigMap "extra" {problem}'] if problem else []
    assert told(value, config_maps={("default", "extra"): {file: ""}, ("elsewhere", "missing"): {"x": ""}}) == expected
