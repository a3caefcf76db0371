"""NodeSets become sets, nodes and partitions of Slurm (PT-1, PT-6, TR-4)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.api.objects import Json
from penstock.render.controller import configuration
from penstock.render.files.slurm_conf import max_node_count
from penstock.render.inventory import Cluster
from penstock.slurm.conf import ConfError

from .builders import cluster, node_set
from .slurm_reader import lines_of


def section(given_cluster: Cluster) -> list[str]:
    """The lines of the last section but one: those about nodes."""
    return configuration(given_cluster)["slurm.conf"].partition("### NODESET & PARTITION ###\n")[2].splitlines()


# Seed 002, section 2.5. The blank at the end of the first case is in the seed's own text.
@pytest.mark.parametrize(
    ("partition", "line"),
    [
        ({"enabled": True, "config": ""}, ["PartitionName=foo Nodes=foo "]),
        ({"enabled": True, "config": "Default=YES"}, ["PartitionName=foo Nodes=foo Default=YES"]),
        (
            {"enabled": True, "config": "MaxTime=24:00:00 Default=YES"},
            ["PartitionName=foo Nodes=foo MaxTime=24:00:00 Default=YES"],
        ),
        ({"enabled": False, "config": "Default=YES"}, []),
    ],
)
def test_the_four_cases_of_the_seeds(partition: Json, line: list[str]) -> None:
    """PT-1: to the byte."""
    assert section(cluster(node_set("foo", partition=partition))) == ["NodeSet=foo Feature=foo", *line]


def test_a_missing_config_is_an_empty_one() -> None:
    """PT-1: `partition: {enabled: true}` is the first case of the table."""
    assert section(cluster(node_set("foo", partition={"enabled": True})))[1] == "PartitionName=foo Nodes=foo "


def test_the_host_name_prefix_names_the_set() -> None:
    """NS-2, facts 2.4: without the dashes at its ends."""
    named = node_set("slurm-worker-gpu", template={"spec": {"hostname": "gpu-"}}, partition={"enabled": True})
    assert section(cluster(named)) == ["NodeSet=gpu Feature=gpu", "PartitionName=gpu Nodes=gpu "]


def test_a_partition_spans_several_sets() -> None:
    """PT-6: by the names of the NodeSets, written as Slurm knows them, each once, in the order given."""
    sets = [node_set("b", template={"spec": {"hostname": "big-"}}), node_set("a")]
    given_cluster = cluster(*sets, partitions=[{"name": "both", "nodeSets": ["b", "a", "b"]}])
    assert section(given_cluster)[-1] == "PartitionName=both Nodes=big,a"


def test_settings_of_a_partition_from_a_map() -> None:
    """PT-6: sorted, booleans as YES and NO, numbers plain, a blank in quotes."""
    config: Json = {"State": "UP", "Default": True, "Hidden": False, "PriorityTier": 10, "AllowAccounts": "a b"}
    given_cluster = cluster(node_set("a"), partitions=[{"name": "p", "nodeSets": ["a"], "config": config}])
    assert section(given_cluster)[-1] == (
        'PartitionName=p Nodes=a AllowAccounts="a b" Default=YES Hidden=NO PriorityTier=10 State=UP'
    )


def test_settings_of_a_partition_from_text() -> None:
    """PT-6: as they are written."""
    text = ' MaxTime=1-0   Default=NO\tAllowAccounts="a b" '
    given_cluster = cluster(node_set("a"), partitions=[{"name": "p", "nodeSets": ["a"], "config": text}])
    assert section(given_cluster)[-1] == 'PartitionName=p Nodes=a MaxTime=1-0 Default=NO AllowAccounts="a b"'


@pytest.mark.parametrize("config", ["nodes=evil", {"NODES": "evil"}, "PartitionName=evil"])
def test_a_partition_cannot_become_another(config: object) -> None:
    """PT-6: its name and its nodes are the object's."""
    given_cluster = cluster(
        node_set("a"), unchecked=True, partitions=[{"name": "p", "nodeSets": ["a"], "config": config}]
    )
    with pytest.raises(ConfError, match=r'partition "p" sets \w+, which is made from the object itself'):
        configuration(given_cluster)


@pytest.mark.parametrize(
    ("names", "nodes"),
    [(["ALL"], "Nodes=ALL"), (["a", "ALL"], "Nodes=ALL"), (["gone", "a"], "Nodes=a"), (["gone"], "")],
)
def test_slurmctld_survives_every_list_of_sets(names: list[str], nodes: str) -> None:
    """PT-5, PT-6: it dies of ALL beside others and of a set it does not know (tried with 24.11 and 26.05)."""
    given_cluster = cluster(node_set("a"), partitions=[{"name": "p", "nodeSets": names}])
    assert section(given_cluster)[-1] == f"PartitionName=p {nodes}".rstrip()


def counted(*replicas: int, daemon_sets: int = 0) -> int:
    made = [node_set(f"n{n}", replicas=count) for n, count in enumerate(replicas)]
    made += [node_set(f"d{n}", scalingMode="DaemonSet") for n in range(daemon_sets)]
    return max_node_count(made)


@given(counts=st.lists(st.integers(0, 9000), max_size=6), daemon_sets=st.integers(0, 3))
@settings(max_examples=25, deadline=None)
def test_there_is_room_for_every_worker_and_for_those_that_leave(counts: list[int], daemon_sets: int) -> None:
    """NS-9, L15 of facts 9.1: never fewer than may exist, never more than Slurm can take."""
    found, possible = counted(*counts, daemon_sets=daemon_sets), sum(counts)
    assert possible + 512 * daemon_sets <= found <= 65536
    assert found >= min(2 * possible, 65536)
    assert found & (found - 1) == 0


@given(count=st.integers(0, 500), more=st.integers(0, 12))
@settings(max_examples=25, deadline=None)
def test_small_clusters_scale_without_a_new_configuration(count: int, more: int) -> None:
    """PT-3: MaxNodeCount needs a restart of slurmctld, so it stays put while workers come and go."""
    assert counted(count) == counted(min(count + more, 512)) == 1024


def test_room_follows_what_autoscaling_may_reach() -> None:
    """NS-9: maxReplicas counts, not the replicas of the moment."""
    autoscale = {"enabled": True, "minReplicas": 0, "maxReplicas": 3000}
    assert max_node_count([node_set(replicas=1, autoscale=autoscale)]) == 8192


def test_more_workers_than_slurm_can_count_are_refused() -> None:
    """NS-9: with a larger MaxNodeCount slurmctld does not start, so the edit must not reach it."""
    assert counted(65536) == 65536
    with pytest.raises(ConfError, match="may come to 65537 workers, more than Slurm's 65536"):
        counted(65537)


def static(name: str = "w", **spec: Any) -> str:
    return section(cluster(node_set(name, registration="Static", **spec)))[0]


def test_static_nodes_are_known_before_they_come() -> None:
    """TR-4: one line for all workers, with addresses through the headless Service; CPUs and memory from requests."""
    resources = {"requests": {"cpu": "3500m", "memory": "7900Mi"}, "limits": {"cpu": 8, "memory": "16Gi"}}
    assert static(replicas=3, slurmd={"resources": resources}) == (
        "NodeName=w-[0-2] NodeHostname=w-[0-2] NodeAddr=w-[0-2].slurm-workers-slurm.hpc.svc"
        " CPUs=4 RealMemory=7900 Feature=w"
    )


def test_limits_speak_where_there_are_no_requests() -> None:
    """TR-4: as Kubernetes takes them; a container's own amounts before the pod's."""
    template = {"spec": {"resources": {"limits": {"cpu": 2, "memory": "1Gi"}}}}
    line = static(slurmd={"resources": {"limits": {"memory": "4Gi"}}}, template=template)
    assert "CPUs=2 RealMemory=4096" in line


@pytest.mark.parametrize(
    ("spec", "nodes"),
    [
        ({"replicas": 1}, "w-0"),
        ({"replicas": 12}, "w-[0-11]"),
        ({"replicas": 12, "ordinalPadding": 3}, "w-[000-011]"),
        ({"replicas": 101, "ordinalPadding": 2}, "w-[00-100]"),
        ({"replicas": 2, "template": {"spec": {"hostname": "rack1-"}}}, "rack1-[0-1]"),
        ({"autoscale": {"enabled": True, "maxReplicas": 5}}, "w-[0-4]"),
    ],
)
def test_static_names_are_those_of_the_workers(spec: Json, nodes: str) -> None:
    """TR-4, NS-2: padding and prefix count, and all that autoscaling may bring."""
    assert static(**spec).split()[0] == f"NodeName={nodes}"


def test_extra_conf_wins_over_what_we_reckon() -> None:
    """TR-4: and joins the features; a key given twice is one list."""
    resources = {"limits": {"cpu": 8, "memory": "16Gi", "nvidia.com/gpu": 2}}
    line = static(
        slurmd={"resources": resources},
        extraConf="RealMemory=1000 Sockets=2 Gres=gpu:a:1 gres=shard:4 Feature=x NodeAddr=10.0.0.1 Weight=5",
    )
    assert lines_of(line)[0] == [
        ("NodeName", "w-0"), ("NodeHostname", "w-0"), ("RealMemory", "1000"), ("Sockets", "2"),
        ("Gres", "gpu:a:1,shard:4"), ("NodeAddr", "10.0.0.1"), ("Weight", "5"), ("Feature", "w,x"),
    ]  # fmt: skip


def test_no_workers_no_line() -> None:
    """TR-4: a set of none has no nodes, and still its NodeSet line."""
    assert static(replicas=0) == "NodeSet=w Feature=w"


@pytest.mark.parametrize("spec", [{"scalingMode": "DaemonSet"}, {"template": {"spec": {"hostNetwork": True}}}])
def test_nodes_named_by_machines_cannot_be_static(spec: Json) -> None:
    """TR-4: their names are not known, and slurmd dies of a name that is not in slurm.conf."""
    with pytest.raises(
        ConfError, match='NodeSet "w" registers statically, but its workers are named by their machines'
    ):
        static(**spec)
