"""A partition that goes is closed before it is gone (PT-5)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.render.controller import configuration
from penstock.render.inventory import ClosedPartition, Cluster
from penstock.slurm import conf

from .builders import cluster, node_set
from .hostile import FRAGMENTS, nasty, quick
from .slurm_reader import Line, Unreadable, lines_of

DELETED = {"deletionTimestamp": "2026-11-16T08:00:00Z"}


def partitions(given_cluster: Cluster, *closed: ClosedPartition) -> dict[str, Line]:
    """The lines of partitions, by name, as Slurm reads them."""
    lines = lines_of(configuration(replace(given_cluster, closed=closed))["slurm.conf"])
    return {line[0][1]: line[1:] for line in lines if line[0][0] == "PartitionName"}


@pytest.mark.parametrize("config", ["", "State=UP", "DEFAULT=YES state=INACTIVE"])
def test_the_partition_of_a_nodeset_that_is_deleted_takes_no_new_jobs(config: str) -> None:
    """Whatever it says itself; a default partition that refuses everybody is none."""
    made = node_set("a", metadata=DELETED, partition={"enabled": True, "config": config})
    assert partitions(cluster(made))["a"] == [("Nodes", "a"), ("State", "DRAIN")]


def test_all_else_that_it_says_stays() -> None:
    """Jobs that wait in it start by the same rules as before; a lower tier could cost those that run their nodes."""
    config = "MaxTime=1-00:00:00 PriorityTier=10 State=UP PreemptMode=OFF"
    made = node_set("a", metadata=DELETED, partition={"enabled": True, "config": config})
    assert partitions(cluster(made))["a"] == [
        ("Nodes", "a"), ("MaxTime", "1-00:00:00"), ("PriorityTier", "10"), ("PreemptMode", "OFF"), ("State", "DRAIN"),
    ]  # fmt: skip


def test_it_stays_in_the_partitions_over_several_sets() -> None:
    """They are not closed: other sets are in them."""
    made = cluster(node_set("a", metadata=DELETED), node_set("b"), partitions=[{"name": "p", "nodeSets": ["a", "b"]}])
    assert partitions(made)["p"] == [("Nodes", "a,b")]


def test_closed_partitions_come_last_and_sorted() -> None:
    given_cluster = cluster(node_set("m", partition={"enabled": True}), partitions=[{"name": "n", "nodeSets": ["ALL"]}])
    assert [*partitions(given_cluster, ClosedPartition("z"), ClosedPartition("a"))] == ["m", "n", "a", "z"]


@pytest.mark.parametrize(
    ("nodes", "remain"),
    [
        ("a", "a"),
        ("gone", ""),
        ("a,gone,b", "a,b"),
        ("ALL", "ALL"),
        ("theirs,gone", "theirs"),
        ("n[1,3]", ""),
        ("", ""),
    ],
)
def test_of_its_sets_those_remain_that_are_there(nodes: str, remain: str) -> None:
    """Slurmctld dies of a set or of a node that it does not know (PT-6)."""
    given_cluster = cluster(node_set("a"), node_set("b"), extraConf="NodeSet=theirs Feature=x")
    one = ClosedPartition("p", (("Nodes", nodes), ("MaxTime", "5")))
    expected = [*([("Nodes", remain)] if remain else []), ("MaxTime", "5"), ("State", "DRAIN")]
    assert partitions(given_cluster, one)["p"] == expected


@given(text=st.one_of(st.sampled_from(FRAGMENTS), nasty))
@quick
def test_no_setting_of_a_closed_partition_becomes_another_line(text: str) -> None:
    """What was read from a file may be anything; what cannot be said is left out, for nobody could mend it."""
    closed = ClosedPartition("p", (("Nodes", text), ("AllowGroups", text), ("5", "x"), ("MaxTime", "5")))
    line = partitions(cluster(), closed)["p"]
    assert [key for key, _ in line if key != "AllowGroups"] in (["MaxTime", "State"], ["Nodes", "MaxTime", "State"])
    assert dict(line).get("AllowGroups", text) == text


WORDS = [*FRAGMENTS, "PartitionName=p", "partitionname = q ", "Nodes=x ", 'A="b c" ', 'B="c"d ', "\n"]


@given(text=st.lists(st.sampled_from(WORDS)))
@example(text=["Include /etc/passwd", "\r", "PartitionName=p"])
@quick
def test_lines_are_read_as_slurm_reads_them(text: list[str]) -> None:
    """The judge is a reader of its own (`slurm_reader`)."""
    whole = "".join(text).replace("\0", "").replace("\r\n", "\n")
    try:
        expected = [tuple(line) for line in lines_of(whole) if line[0][0].lower() == "partitionname"]
    except (Unreadable, UnicodeError):
        return
    assert [*conf.entries(whole, "PartitionName")] == expected
