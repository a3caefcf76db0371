"""Which edits of a NodeSet make its workers old (NS-5)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.rendering.builders import SSSD, claim, cluster, node_set

from penstock.api.nodeset import NodeSet, NodeSetSpec
from penstock.api.objects import Json
from penstock.operator.nodeset.revision import revision
from penstock.render import worker
from penstock.render.seat import seat

WHAT_MAKES_WORKERS: list[dict[str, Any]] = [
    {"template": {"spec": {"nodeSelector": {"gpu": "yes"}}}},
    {"template": {"metadata": {"labels": {"team": "x"}}}},
    {"template": {"metadata": {"annotations": {"note": "x"}}}},
    {"template": {"spec": {"hostname": "gpu-"}}},
    {"template": {"spec": {"hostNetwork": True}}},
    {"slurmd": {"image": "other:26.05"}},
    {"slurmd": {"resources": {"requests": {"cpu": 2}}}},
    {"extraConf": "Weight=5"},
    {"ordinalPadding": 3},
    {"oversubscribeNode": True},
    {"logfile": {"image": "busybox"}, "slurmd": {"image": "ghcr.io/slinkyproject/slurmd:26.05"}},
    {"ssh": {"enabled": True, "sssdConfRef": SSSD}},
    {"registration": "Static"},
    {"walls": {"configMap": {"name": "w"}}},
    {"imageContract": "Slinky"},
]
WHAT_DOES_NOT: list[dict[str, Any]] = [
    {"replicas": 7},
    {"partition": {"enabled": True, "config": "Default=YES"}},
    {"drain": {"timeout": "1h"}},
    {"autoscale": {"enabled": True, "maxReplicas": 9}},
    {"updateStrategy": {"type": "OnDelete"}},
    {"minReadySeconds": 5},
    {"revisionHistoryLimit": 5},
    {"persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete"}},
    {"workloadDisruptionProtection": False},
    {"pruneSlurmNodeRecords": "NodeNotFound"},
    {"pinToNode": True},
]


def changes_pods(before: NodeSet, after: NodeSet) -> bool:
    pods = [worker.pod(cluster(one), one, seat(one, 0)) for one in (before, after)]
    return pods[0] != pods[1]


@pytest.mark.parametrize("spec", WHAT_MAKES_WORKERS, ids=str)
def test_what_makes_a_worker_makes_a_revision(spec: Json) -> None:
    plain, edited = node_set("n"), node_set("n", **spec)
    assert changes_pods(plain, edited), "else this line proves nothing"
    assert revision(edited) != revision(plain)


@pytest.mark.parametrize("spec", WHAT_DOES_NOT, ids=str)
def test_other_edits_leave_workers_alone(spec: Json) -> None:
    plain, edited = node_set("n"), node_set("n", **spec)
    assert not changes_pods(plain, edited)
    assert revision(edited) == revision(plain)


def test_every_field_of_a_spec_is_on_one_of_the_lists() -> None:
    fixed = {"controllerRef", "scalingMode", "volumeClaimTemplates"}
    listed = {name for spec in [*WHAT_MAKES_WORKERS, *WHAT_DOES_NOT] for name in spec}
    assert {*NodeSetSpec.__struct_encode_fields__} == listed | fixed


def test_labels_of_the_nodeset_and_the_size_of_its_claims_leave_workers_alone() -> None:
    """People and tools label objects all the time; claims can grow under a running worker (ST-5)."""
    labelled = node_set("n", metadata={"labels": {"team": "x"}, "annotations": {"note": "x"}, "generation": 9})
    assert revision(labelled) == revision(node_set("n"))
    large = claim("scratch", resources={"requests": {"storage": "99Gi"}})
    sizes = [node_set("n", volumeClaimTemplates=[one]) for one in (claim("scratch"), large)]
    assert revision(sizes[0]) == revision(sizes[1])


def test_defaults_are_the_same_whether_written_or_not() -> None:
    """And a name of ten letters fits into a label."""
    assert revision(node_set("n", ordinalPadding=0, oversubscribeNode=False)) == revision(node_set("n"))
    assert len(revision(node_set("n"))) == 10


def test_the_order_of_a_map_is_nobodys_edit() -> None:
    one, other = {"a": "1", "b": "2"}, {"b": "2", "a": "1"}
    made = [node_set("n", template={"spec": {"nodeSelector": each}}) for each in (one, other)]
    assert revision(made[0]) == revision(made[1])
