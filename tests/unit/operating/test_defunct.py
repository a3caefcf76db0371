"""Which records of Slurm nodes may go: those that nobody could miss, and no other (NS-7)."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import msgspec
import pytest
from hypothesis import given as always
from hypothesis import settings
from hypothesis import strategies as st
from tests.unit.rendering.builders import node_set

from penstock.api.nodeset import NodeSet
from penstock.operator.nodeset.defunct import Neighbours, defunct
from penstock.operator.nodeset.drains import MARK, SCALE_IN
from penstock.operator.nodeset.snapshot import HOSTNAME_OVERRIDE, Snapshot, slurm_node
from penstock.operator.resources import Machine, Pod
from penstock.slurm.nodestate import Base, Flag
from penstock.slurm.rest.messages import NodeReport

from .workers import PERSON, machine, pod, said

DEAD = ("DOWN", "NOT_RESPONDING", "DYNAMIC_NORM")
LAST_WORDS = "slurm-operator: the worker's pod ends"


def pruning(name: str = "n", **spec: Any) -> NodeSet:
    """A NodeSet that wants old records gone."""
    wish: dict[str, Any] = {"pruneSlurmNodeRecords": "NodeNotFound", "replicas": 2}
    return node_set(name, metadata={"uid": f"uid-{name}"}, **wish | spec)


def record(name: str, *state: str, **fields: Any) -> NodeReport:
    """A dead node of the NodeSet, unless something else is said of it."""
    return msgspec.structs.replace(said(name, *(state or DEAD)), **{"features": ("n",), **fields})


def seen(
    *reports: NodeReport,
    of: NodeSet | None = None,
    pods: tuple[Pod, ...] = (),
    machines: tuple[Machine, ...] = (),
    **more: Any,
) -> Snapshot:
    """A NodeSet, and all nodes that Slurm knows."""
    found = {one.name: one for one in reports}
    there = {one.metadata.name: one for one in machines}
    return Snapshot(node_set=of or pruning(), pods=pods, slurm=found, machines=there, **more)


def gone(now: Snapshot, *node_sets: NodeSet, nodes: tuple[str, ...] = ()) -> list[str]:
    """The records that go, while these NodeSets are there too, with these nodes."""
    return defunct(now, Neighbours([*node_sets, now.node_set], frozenset(nodes)))


def test_the_record_of_a_seat_that_nobody_wants_any_more_goes() -> None:
    now = seen(record("n-0"), record("n-1"), record("n-2"), record("n-10"))
    assert gone(now) == ["n-10", "n-2"]


def test_who_does_not_ask_for_it_keeps_all_records() -> None:
    assert gone(seen(record("n-2"), of=pruning(pruneSlurmNodeRecords="Never"))) == []


def test_while_slurm_does_not_answer_nothing_goes() -> None:
    assert gone(replace(seen(record("n-2")), slurm=None)) == []


@pytest.mark.parametrize(
    ("state", "fields", "goes"),
    [
        (DEAD, {}, True),
        ((*DEAD, "INVALID_REG"), {}, True),
        (("DOWN", "DYNAMIC_NORM"), {}, False),
        (("IDLE", "NOT_RESPONDING", "DYNAMIC_NORM"), {}, False),
        (("UNKNOWN", "NOT_RESPONDING", "DYNAMIC_NORM"), {}, False),
        (("NOT_RESPONDING", "DYNAMIC_NORM"), {}, False),
        (("FUTURE", "NOT_RESPONDING", "DYNAMIC_NORM"), {}, False),
        # Never one that stands in slurm.conf.
        (("DOWN", "NOT_RESPONDING"), {}, False),
        # Never one with a job.
        (("ALLOCATED", "NOT_RESPONDING", "DYNAMIC_NORM"), {}, False),
        (("MIXED", "DOWN", "NOT_RESPONDING", "DYNAMIC_NORM"), {}, False),
        ((*DEAD, "COMPLETING"), {}, False),
        # Never one that comes back, or of which something new is said.
        ((*DEAD, "POWERED_DOWN"), {}, False),
        ((*DEAD, "REBOOT_ISSUED"), {}, False),
        ((*DEAD, "SNORING"), {}, False),
        # Never one that is reserved: Slurm would refuse.
        (DEAD, {"reservation": "maintenance"}, False),
        ((*DEAD, "RESERVED"), {}, False),
        # A drain of ours goes with it, a person's stays for the next worker of this name.
        ((*DEAD, "DRAIN"), {"reason": LAST_WORDS, "extra": MARK}, True),
        ((*DEAD, "DRAIN"), {"reason": SCALE_IN, "extra": MARK}, True),
        ((*DEAD, "DRAIN"), {"reason": PERSON, "extra": MARK}, False),
        # Its worker left because of us, and said itself that it ends: nobody has to wait until Slurm misses it.
        (("DOWN", "DYNAMIC_NORM", "DRAIN"), {"reason": SCALE_IN, "extra": MARK}, True),
        (("DOWN", "DYNAMIC_NORM", "DRAIN"), {"reason": PERSON}, False),
        (("IDLE", "DYNAMIC_NORM", "DRAIN"), {"reason": SCALE_IN, "extra": MARK}, False),
        ((*DEAD, "DRAIN"), {"reason": PERSON}, False),
        ((*DEAD, "DRAIN"), {"reason": LAST_WORDS}, False),
        ((*DEAD, "FAIL"), {"reason": PERSON}, False),
        (DEAD, {"reason": PERSON}, True),
    ],
)
def test_a_record_goes_only_when_the_node_is_dead(state: tuple[str, ...], fields: dict[str, Any], goes: bool) -> None:
    assert gone(seen(record("n-7", *state, **fields))) == (["n-7"] if goes else [])


@pytest.mark.parametrize(
    ("owner", "report", "goes"),
    [
        (pruning(), record("n-7"), True),
        (pruning(), record("n-007"), True),
        (pruning(), record("m-7"), False),
        (pruning(), record("n-x"), False),
        (pruning(), record("n-"), False),
        (pruning(), record("n-7-1"), False),
        (pruning(), record("n-\u0667"), False),
        # By its feature: there may be a static node, or a worker of others, that is called the same.
        (pruning(), record("n-7", features=("other",)), False),
        (pruning(), record("n-7", features=()), False),
        (pruning(), record("n-7", features=("gpu", "n")), True),
        # With a prefix the set has another name in Slurm, and so have its nodes.
        (pruning(template={"spec": {"hostname": "gpu-"}}), record("gpu-7", features=("gpu",)), True),
        (pruning(template={"spec": {"hostname": "gpu"}}), record("gpu7", features=("gpu",)), True),
        (pruning(template={"spec": {"hostname": "gpu-"}}), record("n-7", features=("gpu",)), False),
        (pruning(template={"spec": {"hostname": "gpu-"}}), record("gpu-7"), False),
        # A record of another width is nobody's, though the ordinal is wanted.
        (pruning(ordinalPadding=3), record("n-1"), True),
        (pruning(ordinalPadding=3), record("n-001"), False),
        # What Slinky noted must not speak against it.
        (pruning(), record("n-7", comment="a person's note"), True),
        (pruning(), record("n-7", comment='{"a": 1}'), True),
        (pruning(), record("n-7", comment="[1]"), True),
        (
            pruning(),
            record("n-7", comment='{"namespace":"hpc","nodeSetName":"n","nodeSetUID":"uid-n","podName":"n-7"}'),
            True,
        ),
        (pruning(), record("n-7", comment='{"namespace":"hpc","nodeSetName":"other"}'), False),
        (pruning(), record("n-7", comment='{"namespace":"other","nodeSetName":"n"}'), False),
        (pruning(), record("n-7", comment='{"nodeSetName":"n","nodeSetUID":"of another life"}'), False),
    ],
)
def test_a_record_goes_only_when_it_is_of_this_node_set(owner: NodeSet, report: NodeReport, goes: bool) -> None:
    assert gone(seen(report, of=owner)) == ([report.name] if goes else [])


def test_the_node_of_a_worker_stays_even_of_one_that_leaves() -> None:
    pods = (pod("n-5"), pod("n-6", going=True), pod("x", node="n-7"))
    assert gone(seen(*(record(f"n-{number}") for number in range(5, 9)), pods=pods)) == ["n-8"]


def test_what_another_node_set_has_or_wants_stays() -> None:
    now = seen(*(record(f"n-{number}") for number in range(4, 8)))
    twin = node_set("other", metadata={"uid": "other"}, replicas=6, template={"spec": {"hostname": "n-"}})
    assert gone(now, twin, nodes=("n-7",)) == ["n-6"]


def test_seats_that_may_be_wanted_without_an_edit_are_wanted() -> None:
    owner = pruning(autoscale={"enabled": True, "maxReplicas": 6})
    assert gone(seen(record("n-5"), record("n-6"), of=owner)) == ["n-6"]


def test_a_node_set_that_is_deleted_wants_no_seat() -> None:
    assert gone(seen(record("n-0"), pods=(pod("n-1"),), deleting=True)) == ["n-0"]


MODES = [pruning(scalingMode="DaemonSet"), pruning(template={"spec": {"hostNetwork": True}})]


@pytest.mark.parametrize("owner", MODES, ids=["DaemonSet", "host network"])
def test_where_nodes_are_called_as_machines_the_machine_must_be_gone(owner: NodeSet) -> None:
    there = (machine("m1.site.example"), machine("m2"))
    now = seen(record("m1"), record("m2"), record("m3"), record("n-9"), of=owner, machines=there)
    assert gone(now) == ["m3", "n-9"]
    assert gone(replace(now, pods=(pod("p", machine="m3.site.example", node="m3"),))) == ["n-9"]


def test_a_machine_may_have_another_name_in_slurm() -> None:
    """Its old record goes and its new one stays; on the host's network the name is the machine's, whatever is said."""
    there = (machine("m1", annotations={HOSTNAME_OVERRIDE: "blade"}),)
    names = [record("m1"), record("blade")]
    assert gone(seen(*names, of=MODES[0], machines=there)) == ["m1"]
    assert gone(seen(*names, of=MODES[1], machines=there)) == ["blade"]


def test_machines_matter_to_others_too() -> None:
    other = node_set("other", metadata={"uid": "other"}, scalingMode="DaemonSet")
    assert gone(seen(record("n-7"), machines=(machine("n-7"),)), other) == []
    assert gone(seen(record("n-7"), machines=(machine("n-7"),))) == ["n-7"]


NAMES = [f"n-{number}" for number in range(5)] + ["m1", "m2", "blade"]
REPORTS = [
    record("", *state, extra=extra, reason=reason, features=features)
    for state, (extra, reason), features in product(
        [DEAD, (*DEAD, "DRAIN"), ("IDLE", "DYNAMIC_NORM"), ("DOWN", "NOT_RESPONDING"), (*DEAD, "COMPLETING")],
        [("", ""), (MARK, SCALE_IN), ("", PERSON)],
        [("n",), ("other",)],
    )
]
OWNERS = [pruning(), *MODES, pruning(ordinalPadding=2), pruning(replicas=0)]
OTHERS = [node_set("other", metadata={"uid": "other"}, replicas=3, template={"spec": {"hostname": "n-"}})]
SNAPSHOTS = st.builds(
    lambda owner, found, pods, machines, deleting: seen(
        *(msgspec.structs.replace(one, name=name) for name, one in found.items()),
        of=owner, pods=tuple(pod(name, machine=where, node=node) for name, where, node in pods),
        machines=tuple(machine(name) for name in machines), deleting=deleting,
    ),
    st.sampled_from(OWNERS),
    st.dictionaries(st.sampled_from(NAMES), st.sampled_from(REPORTS)),
    st.lists(st.tuples(st.sampled_from(["n-1", "n-4"]), st.sampled_from(["m1", ""]), st.sampled_from(["", "n-3"]))),
    st.sets(st.sampled_from(["m1", "m2"])),
    st.booleans(),
)  # fmt: skip


@always(SNAPSHOTS, st.sets(st.sampled_from(NAMES), max_size=2), st.booleans())
@settings(max_examples=400, deadline=None)
def test_nothing_goes_that_anybody_could_miss(now: Snapshot, theirs: set[str], crowded: bool) -> None:
    for name in gone(now, *(OTHERS if crowded else []), nodes=tuple(theirs)):
        report = (now.slurm or {})[name]
        assert report.condition.base is Base.DOWN
        assert not report.condition.busy
        assert {Flag.DYNAMIC_NORM, Flag.NOT_RESPONDING} <= report.condition.flags
        assert not (report.condition.drain and report.reason == PERSON)
        assert "n" in report.features
        assert name not in theirs
        assert name not in {slurm_node(now.node_set, one) for one in now.pods}
        assert not (crowded and name in {"n-0", "n-1", "n-2"})
        if now.node_set in MODES:
            assert name not in now.machines
