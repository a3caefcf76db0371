"""Which partitions go, and what is told of them (PT-5). How they go: `tests/simulation/test_partitions.py`."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.rendering.builders import cluster, node_set

from penstock.operator.partitions import Closing, condition, retired
from penstock.render.files.slurm_conf import slurm_conf
from penstock.render.inventory import ClosedPartition, Cluster

OWN = {"enabled": True, "config": "Default=YES MaxTime=60"}


def made(*sets: str, own: bool = True, shared: tuple[str, ...] = (), extra: str = "") -> Cluster:
    """A cluster of these NodeSets, with and without partitions of their own, and partitions over all of them."""
    node_sets = [node_set(name, partition=OWN if own else {"enabled": False}) for name in sets]
    over_all = [{"name": name, "nodeSets": ["ALL"], "config": {"MaxNodes": 4}} for name in shared]
    return cluster(*node_sets, partitions=over_all, extraConf=extra)


@pytest.mark.parametrize(
    ("before", "after", "gone"),
    [
        pytest.param(made("a", "b"), made("a", "b"), {}, id="nothing"),
        pytest.param(made("a"), made("a", "b"), {}, id="one more"),
        pytest.param(made("a", "b"), made("a"), {"b": "Nodes=b Default=YES MaxTime=60"}, id="a NodeSet less"),
        pytest.param(made("a"), made("a", own=False), {"a": "Nodes=a Default=YES MaxTime=60"}, id="not enabled"),
        pytest.param(made("a"), made("b"), {"a": "Nodes=a Default=YES MaxTime=60"}, id="renamed"),
        pytest.param(made("a", shared=("p",)), made("a"), {"p": "Nodes=ALL MaxNodes=4"}, id="an entry less"),
        pytest.param(
            made("a", shared=("p",)), made("a", shared=("q",)), {"p": "Nodes=ALL MaxNodes=4"}, id="an entry renamed"
        ),
        pytest.param(made(extra="PartitionName=x \\\n  Nodes=n1 # old"), made(), {"x": "Nodes=n1"}, id="a line less"),
        pytest.param(made(extra="PartitionName=DEFAULT MaxTime=1"), made(), {}, id="DEFAULT is none"),
        pytest.param(made("a"), made(extra="PartitionName=a Nodes=ALL"), {}, id="it has moved"),
    ],
)
def test_partitions_that_nobody_asks_for_any_more_are_retired(
    before: Cluster, after: Cluster, gone: dict[str, str]
) -> None:
    """With all that their lines said."""
    found = retired(slurm_conf(before), slurm_conf(after))
    assert {one.name: " ".join(f"{key}={text}" for key, text in one.settings) for one in found} == gone


def test_nothing_is_retired_where_nothing_was() -> None:
    """A new cluster, or one whose ConfigMap somebody deleted."""
    assert retired("", slurm_conf(made("a"))) == []


names = st.sets(st.sampled_from("abcd"), max_size=4)


@given(before=names, after=names, shared=names)
@settings(max_examples=50, deadline=None)
def test_what_is_closed_stays_closed_in_the_same_words(before: set[str], after: set[str], shared: set[str]) -> None:
    """Else each look would write another configuration; and nothing is lost that way, nor comes twice."""
    old = made(*sorted(before), shared=tuple(f"p{name}" for name in sorted(shared)))
    wanted = made(*sorted(after))
    first = replace(wanted, closed=retired(slurm_conf(old), slurm_conf(wanted)))
    second = replace(wanted, closed=retired(slurm_conf(first), slurm_conf(wanted)))
    assert slurm_conf(second) == slurm_conf(first)
    assert {one.name for one in second.closed} == (before - after) | {f"p{name}" for name in shared}


def test_a_name_that_cannot_be_written_holds_nothing_up() -> None:
    assert retired("PartitionName=a\\#b\nPartitionName=c\n", "") == [ClosedPartition("c")]


@pytest.mark.parametrize(
    ("closing", "status", "words"),
    [
        (None, None, "The configuration waits for something else."),
        (Closing({}), False, "No partition waits for its last jobs."),
        (Closing({"b": "is being closed", "a": "stays"}), True, 'partition "a" stays; partition "b" is being closed.'),
    ],
)
def test_what_is_told(closing: Closing | None, status: bool | None, words: str) -> None:
    told = condition(closing)
    assert (told.type, told.status, told.message) == ("PartitionsClosing", status, words)
