"""What Slurm is told of the machines its nodes are on: one change for all that need the same (NS-7)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given as always
from hypothesis import settings
from hypothesis import strategies as st

from penstock.operator.nodeset.marks import TOPOLOGY
from penstock.operator.nodeset.records import FEATURES, FROM_MACHINE, Change, changes
from penstock.operator.nodeset.snapshot import Snapshot

from .workers import Worker, ended, given, idle, leaving, machine, pod, said, stranger, unplaced


def on(
    ordinal: int,
    where: str,
    *,
    topology: str = "",
    features: Iterable[str] = ("n",),
    active: Iterable[str] | None = None,
) -> Worker:
    """A worker on a machine, with what Slurm has of its node."""
    name, available = f"n-{ordinal}", tuple(features)
    report = msgspec.structs.replace(
        said(name, "IDLE"),
        topology=topology,
        features=available,
        active_features=available if active is None else tuple(active),
    )
    return Worker(pod(name, machine=where), report)


def among(machines: dict[str, dict[str, str]], *workers: Worker, **more: Any) -> Snapshot:
    """Workers, and machines with their annotations."""
    found = {name: machine(name, annotations=texts) for name, texts in machines.items()}
    return replace(given(len(workers), *workers, **more), machines=found)


def spec(topology: str | None = None, features: str | None = None) -> dict[str, str]:
    """Annotations of a machine."""
    return {name: text for name, text in ((TOPOLOGY, topology), (FEATURES, features)) if text is not None}


@pytest.mark.parametrize(
    ("wanted", "known", "told"),
    [
        ("sw:s1", "", "sw:s1"),
        ("sw:s1", "sw:s2", "sw:s1"),
        ("sw:s1,block:b2", "sw:s1", "sw:s1,block:b2"),
        ("sw:s1", "sw:s1", None),
        ("", "sw:s1", ""),
        (None, "sw:s1", ""),
        (None, "", None),
    ],
)
def test_a_node_is_where_its_machine_is(wanted: str | None, known: str, told: str | None) -> None:
    """A machine that says nothing among others that do is nowhere."""
    now = among({"a": spec(wanted), "b": spec("sw:s9")}, on(0, "a", topology=known))
    assert changes(now) == ([] if told is None else [Change(("n-0",), (("topology_str", told),))])


def test_where_no_machine_says_anything_the_topology_is_not_ours() -> None:
    """People may have told Slurm themselves."""
    assert changes(among({"a": {}, "b": {}}, on(0, "a", topology="sw:s1"))) == []


@pytest.mark.parametrize(
    ("wanted", "available", "active", "told"),
    [
        ("fast,big", ["n"], ["n"], (["n", "k8s/big", "k8s/fast"],) * 2),
        (" fast , ,fast,", ["n"], ["n"], (["n", "k8s/fast"],) * 2),
        # Those of others stay, and only those with the prefix are replaced.
        ("fast", ["n", "gpu", "k8s/slow"], ["n", "k8s/slow"], (["n", "gpu", "k8s/fast"], ["n", "k8s/fast"])),
        (None, ["n", "k8s/slow"], ["n", "k8s/slow"], (["n"], ["n"])),
        ("", ["k8s/slow", "n"], ["n"], (["n"], ["n"])),
        # One of the two lists is enough to differ.
        ("fast", ["n", "k8s/fast"], ["n"], (["n", "k8s/fast"],) * 2),
        # They are sets: neither order nor repetition counts.
        ("b,a", ["k8s/b", "n", "k8s/a"], ["k8s/a", "k8s/b", "n"], None),
        ("a", ["n", "k8s/a", "n"], ["k8s/a", "n"], None),
        (None, ["n", "gpu"], ["n"], None),
        # Nothing can be said with an empty list.
        (None, ["k8s/slow"], ["k8s/slow"], None),
    ],
)
def test_features_of_a_machine_are_those_of_its_node(
    wanted: str | None, available: list[str], active: list[str], told: tuple[list[str], list[str]] | None
) -> None:
    found = changes(among({"a": spec(features=wanted)}, on(0, "a", features=available, active=active)))
    fields = [{name: [*value] for name, value in one.fields} for one in found]
    assert fields == ([] if told is None else [{"features": told[0], "features_act": told[1]}])


def test_nodes_with_the_same_change_are_told_at_once() -> None:
    """One request for each group, however many nodes are in it."""
    machines = {f"m{number}": spec("sw:s1", "fast") for number in range(1000)} | {"other": spec("sw:s2", "fast")}
    found = changes(among(machines, *(on(number, f"m{number}") for number in range(1000)), on(1000, "other")))
    assert sorted((one.name, len(one.nodes)) for one in found) == [
        ("features", 1001), ("topology_str", 1), ("topology_str", 1000),
    ]  # fmt: skip


def test_a_change_reads_as_a_sentence() -> None:
    now = among({"a": spec("sw:s1", "x,y")}, on(1, "a"), on(0, "a"))
    assert [str(one) for one in changes(now)] == [
        "n-[0-1]: topology_str=sw:s1",
        "n-[0-1]: features=n,k8s/x,k8s/y, features_act=n,k8s/x,k8s/y",
    ]


@pytest.mark.parametrize(
    "worker",
    [
        idle(0, machine="nowhere"),
        unplaced(0),
        stranger(0, machine="a"),
        leaving(on(0, "a")),
        Worker(ended(0, machine="a").pod, said("n-0", "IDLE")),
    ],
)
def test_who_is_on_no_known_machine_or_not_in_slurm_is_not_told(worker: Worker) -> None:
    assert changes(among({"a": spec("sw:s1", "fast")}, worker)) == []


def test_while_slurm_does_not_answer_nobody_is_told() -> None:
    assert changes(among({"a": spec("sw:s1", "fast")}, on(0, "a"), slurm=False)) == []


NAMES = st.lists(st.sampled_from(["n", "gpu", "k8s/a", "k8s/b", "k8s/", "k8sx"]), min_size=1)
MACHINES = st.dictionaries(
    st.sampled_from(["m0", "m1", "m2"]),
    st.builds(spec, st.sampled_from([None, "", "sw:s1", "sw:s2"]), st.sampled_from([None, "", "a", "a,b,,", "b"])),
)
NODES = st.builds(
    lambda where, topology, features, active: (where, topology, ["n", *features], ["n", *active]),
    st.sampled_from(["m0", "m1", "m2"]), st.sampled_from(["", "sw:s1"]), NAMES, NAMES,
)  # fmt: skip


@always(MACHINES, st.lists(NODES, max_size=6))
@settings(max_examples=300, deadline=None)
def test_once_told_there_is_nothing_more_to_tell(machines: dict[str, dict[str, str]], nodes: list[Any]) -> None:
    """And what is not ours stays, no node is told the same thing twice, and no two requests say the same."""
    now = among(machines, *(on(number, *some(node)[0], **some(node)[1]) for number, node in enumerate(nodes)))
    found = changes(now)
    assert len({one.fields for one in found}) == len(found)
    told = [(node, one.name) for one in found for node in one.nodes]
    assert len({*told}) == len(told)
    after = {**(now.slurm or {})}
    for one in found:
        for node in one.nodes:
            after[node] = heeded(after[node], dict(one.fields))
    assert changes(replace(now, slurm=after)) == []
    for name, report in (now.slurm or {}).items():
        for kept, before in zip(lists(after[name]), lists(report), strict=True):
            assert {one for one in kept if not one.startswith(FROM_MACHINE)} == {
                one for one in before if not one.startswith(FROM_MACHINE)
            }


def some(node: Any) -> tuple[tuple[str], dict[str, Any]]:
    where, topology, features, active = node
    return (where,), {"topology": topology, "features": features, "active": active}


def lists(report: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return report.features, report.active_features


def heeded(report: Any, fields: dict[str, Any]) -> Any:
    """The node after Slurm did as it was told."""
    return msgspec.structs.replace(
        report,
        topology=fields.get("topology_str", report.topology),
        features=fields.get("features", report.features),
        active_features=fields.get("features_act", report.active_features),
    )
