"""Who drains a node, and who gives it back (NS-4, NS-7; facts/slinky.md 3.2.4 without its surprises)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from penstock.operator.nodeset.drains import CORDON_REASON, CORDONS, MARK, SCALE_IN
from penstock.operator.nodeset.plan import plan
from penstock.operator.nodeset.snapshot import Snapshot
from penstock.operator.resources import MachineCondition, MachineStatus

from .workers import (
    PERSON,
    Worker,
    busy,
    drained,
    draining,
    given,
    idle,
    machine,
    puzzling,
    starting,
    stranger,
    told,
)

OLD, SHORT = CORDONS
POD = "penstock: its pod is cordoned"
MACHINE = "penstock: its machine is cordoned"


def cordoned(worker: str = "true", name: str = OLD) -> dict[str, Any]:
    return {"annotations": {name: worker}}


def on_machine(now: Snapshot, *, unschedulable: bool = True, **metadata: object) -> Snapshot:
    return replace(now, machines={"m": machine("m", cordoned=unschedulable, **metadata)})


@pytest.mark.parametrize(
    ("worker", "reason"),
    [
        (idle(0, **cordoned()), POD),
        (busy(0, **cordoned(name=SHORT)), POD),
        (idle(0, **cordoned("True")), POD),
        (idle(0, annotations={OLD: "false", SHORT: "true"}), POD),
        (idle(0, **cordoned("false")), None),
        (idle(0), None),
        # Cordoned for the second time: Slurm 24.11 leaves the reason of a drain that is over.
        (idle(0, reason=POD, **cordoned()), POD),
        # Ours already, for this reason or for another one.
        (drained(0, reason=POD, **cordoned()), None),
        (draining(0, reason=SCALE_IN, **cordoned()), POD),
        # A person's own drain is left alone, and so is a node that is down.
        (drained(0, reason=PERSON, extra="", **cordoned()), None),
        (drained(0, reason=PERSON, extra=MARK, **cordoned()), None),
        (puzzling(0, "DOWN+NOT_RESPONDING", **cordoned()), None),
    ],
)
def test_a_cordoned_worker_is_drained(worker: Worker, reason: str | None) -> None:
    decided = plan(given(1, worker))
    assert [one.why for one in decided.drain] == ([reason] if reason else [])
    assert not decided.undrain
    assert not decided.remove


SILENT = [
    idle(0),
    busy(0),
    draining(0, reason=POD),
    drained(0, reason=POD),
    drained(0, reason=PERSON, extra=""),
]


@pytest.mark.parametrize("worker", [stranger(0), stranger(0, **cordoned()), starting(0, **cordoned())])
@pytest.mark.parametrize("unschedulable", [False, True])
def test_a_node_that_slurm_does_not_know_is_neither_drained_nor_given_back(worker: Worker, unschedulable: bool) -> None:
    """Slurm would refuse the order, and with it that of the others, which are asked for in the same request."""
    alone = on_machine(given(1, worker), unschedulable=unschedulable)
    assert told(plan(alone)) == []
    beside = on_machine(given(2, worker, idle(1, machine="m2", **cordoned())), unschedulable=unschedulable)
    assert told(plan(beside)) == ["drain n-1"], "who is known is cordoned all the same"
    beside = on_machine(given(2, worker, drained(1, machine="m2")), unschedulable=unschedulable)
    assert told(plan(beside)) == ["give back n-1"]


@pytest.mark.parametrize("worker", SILENT)
@pytest.mark.parametrize("unschedulable", [False, True])
@pytest.mark.parametrize("annotations", [{}, {OLD: "true"}])
def test_while_slurm_is_away_nobody_is_drained_or_given_back(
    worker: Worker, unschedulable: bool, annotations: dict[str, str]
) -> None:
    """Whatever it said before: whose drain it is may have changed since."""
    meta = msgspec.structs.replace(worker.pod.metadata, annotations=annotations)
    worker = Worker(msgspec.structs.replace(worker.pod, metadata=meta), worker.report)
    now = on_machine(given(1, worker, slurm=False), unschedulable=unschedulable)
    assert told(plan(now)) == []
    assert told(plan(replace(now, slurm={}))) == [], "it answers, and has forgotten all nodes"


@pytest.mark.parametrize(
    ("annotations", "reason"),
    [
        ({}, MACHINE),
        ({CORDON_REASON: "fan\tbroken\n"}, "penstock: fan broken"),
        ({CORDON_REASON: "a\x00b" + "x" * 400}, "penstock: ab" + "x" * 254),
        ({CORDON_REASON: "\x07"}, MACHINE),
    ],
)
def test_a_cordoned_machine_drains_its_workers(annotations: dict[str, str], reason: str) -> None:
    decided = plan(on_machine(given(1, busy(0)), annotations=annotations))
    assert [(one.node, one.why) for one in decided.drain] == [("n-0", reason)]


def test_conditions_of_a_machine_are_told_as_the_reason() -> None:
    conditions = (
        MachineCondition("DiskPressure", "True", "KubeletHasDiskPressure", "disk is full"),
        MachineCondition("MemoryPressure", "False", "Fine", "fine"),
        MachineCondition("Ready", "True", "KubeletReady", "posting"),
    )
    now = on_machine(given(1, idle(0)))
    told_of = machine("m", cordoned=True)
    now = replace(
        now,
        machines={"m": type(told_of)(told_of.metadata, told_of.spec, MachineStatus(conditions))},
        told_conditions={"DiskPressure", "MemoryPressure"},
    )
    assert plan(now).drain[0].why == "penstock: (KubeletHasDiskPressure: disk is full)"


@pytest.mark.parametrize("reason", [POD, MACHINE, SCALE_IN, "slurm-operator: Node cordoned"])
def test_what_was_cordoned_is_given_back_when_nobody_cordons_it_any_more(reason: str) -> None:
    """Both of Slinky's surprises: neither is a cordon undone while it stands, nor does a drain outlive it."""
    extra = "" if reason.startswith("slurm-operator") else MARK
    worker = drained(0, reason=reason, extra=extra)
    assert told(plan(given(1, worker))) == ["give back n-0"]
    for strategy in ("OnDelete", "RollingUpdate"):
        assert told(plan(given(1, worker, updateStrategy={"type": strategy}))) == ["give back n-0"]


def test_last_words_of_a_slinky_worker_give_nothing_back() -> None:
    """It wrote them over whatever reason there was, which may have been a person's."""
    words = "slurm-operator: Pod is terminating"
    assert told(plan(given(1, drained(0, reason=words, extra="")))) == []


@pytest.mark.parametrize("extra", ["", MARK])
def test_a_node_that_drains_itself_because_its_walls_do_not_hold_is_left_to_itself(extra: str) -> None:
    """Whether its machine is cordoned or not; with our mark, too, which an earlier drain of ours may have left."""
    worker = drained(0, reason="penstock-walls: rights: MKNOD is missing", extra=extra)
    assert told(plan(given(1, worker))) == []
    assert told(plan(on_machine(given(1, worker)))) == []


def test_a_worker_that_is_not_there_yet_is_not_given_back() -> None:
    report = drained(0).report
    assert told(plan(given(1, Worker(starting(0).pod, report)))) == []


def test_a_cordoned_worker_leaves_with_its_own_reason_when_it_is_one_too_many() -> None:
    """From then on it counts how long it has been leaving."""
    decided = plan(given(0, draining(0, reason=POD, **cordoned())))
    assert [(one.node, one.why) for one in decided.drain] == [("n-0", SCALE_IN)]
    assert told(plan(given(0, drained(0, reason=POD, **cordoned())))) == ["remove n-0 if drained"]


def test_idle_and_cordoned_goes_before_idle() -> None:
    decided = plan(given(2, idle(0), idle(1), drained(2, reason=PERSON, extra=""), idle(3)))
    assert [one.pod.metadata.name for one in decided.leaving] == ["n-2", "n-3"]
