"""Which static nodes slurm.conf has (TR-4). How they go: `tests/simulation/test_static_nodes.py`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.rendering.builders import cluster, node_set

from penstock.api.nodeset import NodeSet
from penstock.operator.resources import Pod
from penstock.operator.static_nodes import narrowed, nodes_in, retired, standing, used
from penstock.render import names
from penstock.render.controller import configuration
from penstock.render.files.slurm_conf import slurm_conf
from penstock.render.inventory import Cluster, KeptNodes
from penstock.slurm import hostlist

from .workers import pod


def static(replicas: int = 1, *, padding: int = 0, prefix: str = "", **spec: Any) -> NodeSet:
    """A set with static nodes."""
    named: dict[str, Any] = {"template": {"spec": {"hostname": prefix}}} if prefix else {}
    return node_set("w", registration="Static", replicas=replicas, ordinalPadding=padding, **named, **spec)


def workers(of: NodeSet, ordinals: Iterable[int]) -> list[Pod]:
    """Its workers with these ordinals, every other one of them leaving."""
    return [pod(names.worker(of, n), node=names.slurm_node(of, n), going=n % 2 == 1) for n in ordinals]


def with_pods(of: NodeSet, ordinals: Iterable[int]) -> Cluster:
    """A cluster of one set that has these workers."""
    return replace(cluster(of), standing={of.metadata.name: standing(of, workers(of, ordinals))})


def named(text: str) -> list[str]:
    """Every node of a slurm.conf."""
    return [name for nodes in nodes_in(text) for name in hostlist.expand(nodes)]


sets = st.builds(
    static, st.integers(0, 120), padding=st.integers(0, 4), prefix=st.sampled_from(["", "gpu-", "rack1-", "n1"])
)


@given(of=sets, ordinals=st.sets(st.integers(0, 1200), max_size=8))
@settings(max_examples=60, deadline=None)
def test_every_worker_that_is_there_or_asked_for_is_a_node(of: NodeSet, ordinals: set[int]) -> None:
    """Whatever is asked for: slurmctld ends the jobs of a node that it does not know any more."""
    found = named(slurm_conf(with_pods(of, ordinals)))
    there = {names.slurm_node(of, n) for n in ordinals}
    assert {*found} >= there | {names.slurm_node(of, n) for n in range(of.spec.replicas)}
    assert len(found) == len({*found}) == max([of.spec.replicas, *(n + 1 for n in ordinals)])


@pytest.mark.parametrize(
    ("of", "ordinals", "nodes"),
    [
        pytest.param(static(1), [0, 2], ["w-[0-2]"], id="a busy one stays"),
        pytest.param(static(1), [2], ["w-[0-2]"], id="it is the only one"),
        pytest.param(static(3), [0], ["w-[0-2]"], id="some are to come"),
        pytest.param(static(0), [], [], id="none"),
        pytest.param(static(0), [0], ["w-0"], id="the last one leaves"),
        pytest.param(static(1, padding=2), [0, 11], ["w-[00-11]"], id="with zeros"),
        pytest.param(static(1), [70000], ["w-0"], id="Slurm knows no such number"),
        pytest.param(static(1, autoscale={"enabled": True, "maxReplicas": 4}), [5], ["w-[0-5]"], id="autoscaling"),
    ],
)
def test_the_line_reaches_to_the_last_worker(of: NodeSet, ordinals: list[int], nodes: list[str]) -> None:
    assert [*nodes_in(slurm_conf(with_pods(of, ordinals)))] == nodes


def test_workers_that_are_called_otherwise_stretch_no_line() -> None:
    """They are of a template with another name or width; their own lines are kept."""
    assert standing(static(1), workers(static(1, prefix="old-"), [7])) == 0
    assert standing(static(1, padding=3), workers(static(1), [7])) == 0
    assert standing(static(1), [pod("w-x"), pod("strange")]) == 0


def test_devices_and_room_are_there_for_workers_that_leave_too() -> None:
    """PT-8, NS-9: slurmd reads gres.conf anew while its jobs run, and slurmctld counts what slurm.conf names."""
    of = static(1, slurmd={"resources": {"limits": {"amd.com/gpu": 1}}})
    files = configuration(with_pods(of, [2999]))
    assert "NodeName=w-[0-8191] Name=gpu" in files["gres.conf"]
    assert "MaxNodeCount=4096\n" in files["slurm.conf"]


def test_devices_and_room_are_there_for_nodes_that_are_kept() -> None:
    """Their set is gone, or called otherwise. What other lines tell, or nobody can read, is not told again."""
    amd = static(3, slurmd={"resources": {"limits": {"amd.com/gpu": 1}}})
    before = configuration(cluster(amd))
    kept = KeptNodes("w-[0-2]", nodes_in(before["slurm.conf"])["w-[0-2]"])
    after = replace(cluster(static(1, prefix="new-")), kept_nodes=[kept], kept_gres=before["gres.conf"])
    files = configuration(after)
    assert "NodeName=w-[0-2] Name=gpu File=/dev/dri/renderD128\n" in files["gres.conf"]
    assert "GresTypes=gpu\n" in files["slurm.conf"]
    assert configuration(replace(after, kept_gres=files["gres.conf"])) == files
    same = replace(cluster(amd), kept_nodes=[kept], kept_gres=before["gres.conf"] + "NodeName=w-[ Name=gpu\n")
    assert configuration(same)["gres.conf"] == before["gres.conf"]
    found_by_slurmd = replace(after, kept_gres="AutoDetect=nvidia\n")
    assert "AutoDetect=nvidia\n" in configuration(found_by_slurmd)["gres.conf"]
    many = replace(after, kept_nodes=[KeptNodes("w-[0-2999]")])
    assert "MaxNodeCount=4096\n" in slurm_conf(many)
    assert "gres.conf" not in configuration(many)


def test_a_worker_that_registers_by_itself_is_not_named() -> None:
    """Its slurmd would end, and its jobs with it."""
    assert used([pod("w-0")]) == {"w-0"}
    named_by = replace(cluster(static(3)), dynamic_nodes=frozenset({"w-0"}))
    assert [*nodes_in(slurm_conf(named_by))] == ["w-[1-2]"]
    assert [*nodes_in(slurm_conf(replace(named_by, dynamic_nodes=frozenset({"w-0", "w-1", "w-2"}))))] == []


ADDRESSES = (("NodeHostname", "w-[0-2]"), ("NodeAddr", "w-[0-2].slurm-workers-slurm.hpc.svc"), ("CPUs", "4"))


@pytest.mark.parametrize(
    ("before", "after", "gone"),
    [
        pytest.param(static(3), static(3), {}, id="nothing"),
        pytest.param(static(3), static(5), {}, id="more"),
        pytest.param(static(3), static(1), {"w-[0-2]": ["w-1", "w-2"]}, id="fewer"),
        pytest.param(static(2), static(2, prefix="new-"), {"w-[0-1]": ["w-0", "w-1"]}, id="another name"),
        pytest.param(static(12), static(12, padding=2), {"w-[0-11]": [f"w-{n}" for n in range(10)]}, id="more zeros"),
        pytest.param(static(2), node_set("w", replicas=2), {"w-[0-1]": ["w-0", "w-1"]}, id="dynamic"),
    ],
)
def test_nodes_that_nobody_asks_for_are_retired(before: NodeSet, after: NodeSet, gone: dict[str, list[str]]) -> None:
    assert dict(retired(slurm_conf(cluster(before)), slurm_conf(cluster(after)))) == gone


def test_lines_that_nobody_can_read_hold_nothing_up() -> None:
    """People write in extraConf what they like."""
    assert dict(retired("NodeName=a[1-\nNodeName=b\n", "NodeName=c[\n")) == {"b": ["b"]}


def test_a_kept_line_says_what_it_said_of_the_nodes_that_are_left() -> None:
    """Addresses that a person wrote are of the whole list; nobody knows which of them is whose."""
    service = "slurm-workers-slurm.hpc.svc"
    assert narrowed("w-[0-2]", ADDRESSES, ["w-0", "w-1", "w-2"]) == KeptNodes("w-[0-2]", ADDRESSES)
    fewer = (("NodeHostname", "w-[0,2]"), ("NodeAddr", f"w-[0,2].{service}"), ("CPUs", "4"))
    assert narrowed("w-[0-2]", ADDRESSES, ["w-2", "w-0"]) == KeptNodes("w-[0,2]", fewer)
    theirs = (("nodeaddr", "10.0.0.[1-3]"), ("CPUs", "4"))
    assert narrowed("w-[0-2]", theirs, ["w-1"]) == KeptNodes("w-1", (("CPUs", "4"),))


def test_what_is_kept_stays_in_the_same_words() -> None:
    """Else each look would write another configuration."""
    wanted = cluster(static(1, prefix="new-"))
    text = slurm_conf(cluster(static(3)))
    [(nodes, _)] = retired(text, slurm_conf(wanted))
    kept = narrowed(nodes, nodes_in(text)[nodes], ["w-0", "w-2"])
    first = slurm_conf(replace(wanted, kept_nodes=[kept]))
    assert "NodeName=w-[0,2] NodeHostname=w-[0,2] NodeAddr=w-[0,2].slurm-workers-slurm.hpc.svc" in first
    [(nodes, missing)] = retired(first, slurm_conf(wanted))
    assert slurm_conf(replace(wanted, kept_nodes=[narrowed(nodes, nodes_in(first)[nodes], missing)])) == first


def test_without_a_cluster_the_wish_counts() -> None:
    """`penstock render` knows of no pods."""
    assert [*nodes_in(slurm_conf(cluster(static(3))))] == ["w-[0-2]"]
