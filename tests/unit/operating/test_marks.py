"""What the pods of workers say about their Slurm nodes (NS-4, NS-6, NS-7). Properties: `test_marks_properties.py`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from penstock.operator.nodeset.drains import CORDON_REASON, CORDONS, MARK, SCALE_IN
from penstock.operator.nodeset.marks import DRAINED_BY, STATE, TOPOLOGY, WALLS_BROKEN, Mark, freed, marks
from penstock.operator.nodeset.snapshot import REGISTERED, Snapshot
from penstock.operator.resources import MachineCondition, MachineStatus, PodCondition
from penstock.render import labels
from penstock.slurm.nodestate import Base, Flag

from .workers import (
    PERSON,
    SINCE,
    Worker,
    busy,
    drained,
    draining,
    ended,
    given,
    idle,
    leaving,
    machine,
    pod,
    puzzling,
    said,
    stranger,
)

PROTECT = labels.POD_PROTECT


def told(*types: str, message: str = "") -> tuple[PodCondition, ...]:
    """Conditions of ours that a pod has already."""
    states = (PodCondition(f"{STATE}{one}", "True", message=message, last_transition_time=SINCE) for one in types)
    return (*states, PodCondition(REGISTERED, "True", last_transition_time=SINCE))


def on(now: Snapshot, *machines: Any) -> Snapshot:
    """With these machines."""
    return replace(now, machines={one.metadata.name: one for one in machines})


def only(now: Snapshot) -> Mark:
    """The one mark that there is to make."""
    [mark] = marks(now)
    return mark


def said_to_be(*state: str, reason: str = "") -> dict[str, str] | None:
    """The conditions of a worker whose node Slurm reports so."""
    conditions = only(given(1, Worker(pod("n-0"), said("n-0", *state, reason=reason)))).conditions
    return None if conditions is None else {kind: words for kind, words in conditions.items() if kind != REGISTERED}


@pytest.mark.parametrize(
    ("state", "types"),
    [
        ("ALLOCATED", ["Allocated"]),
        ("DOWN", ["Down"]),
        ("ERROR", ["Error"]),
        ("FUTURE", ["Future"]),
        ("IDLE", ["Idle"]),
        ("MIXED", ["Mixed"]),
        ("UNKNOWN", ["Unknown"]),
        ("", ["Unknown"]),
        ("HIBERNATED", ["Unknown"]),
        # Of several base states the first of that order counts.
        ("MIXED+IDLE+DOWN+ALLOCATED", ["Allocated"]),
        ("UNKNOWN+IDLE+FUTURE+ERROR", ["Error"]),
        ("MIXED+IDLE", ["Idle"]),
        ("IDLE+COMPLETING", ["Idle", "Completing"]),
        ("IDLE+DRAIN", ["Idle", "Drain"]),
        ("IDLE+FAIL", ["Idle", "Fail"]),
        ("IDLE+INVALID", ["Idle", "Invalid"]),
        ("IDLE+INVALID_REG", ["Idle", "InvalidReg"]),
        ("IDLE+MAINTENANCE", ["Idle", "Maintenance"]),
        ("DOWN+NOT_RESPONDING", ["Down", "NotResponding"]),
        ("IDLE+DRAIN+UNDRAIN", ["Idle", "Drain", "Undrain"]),
        ("MIXED+NOT_RESPONDING+DRAIN+COMPLETING", ["Mixed", "Completing", "Drain", "NotResponding"]),
        ("IDLE+DYNAMIC_NORM+RESERVED+PLANNED+CLOUD", ["Idle"]),
    ],
)
def test_a_state_comes_to_these_conditions(state: str, types: list[str]) -> None:
    """One base state and any number of flags; each has Slurm's reason as its message."""
    conditions = said_to_be(*state.split("+"), reason=PERSON)
    assert conditions == {f"{STATE}{one}": PERSON for one in types}
    assert conditions is not None
    assert next(iter(conditions)) == f"{STATE}{types[0]}"


def test_all_words_of_slurm_are_either_told_or_left_out_on_purpose() -> None:
    assert [len(said_to_be(base) or {}) for base in Base] == [1] * len(Base)
    spoken = {flag for flag in Flag if len(said_to_be("IDLE", flag) or {}) == 2}
    assert spoken == {
        "COMPLETING", "DRAIN", "FAIL", "INVALID", "INVALID_REG", "MAINTENANCE", "NOT_RESPONDING", "UNDRAIN",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("worker", "wanted"),
    [
        (idle(0, conditions=told("Idle")), None),
        (idle(0, conditions=told("Idle", "Drain")), ["Idle"]),
        (idle(0, conditions=told("Allocated")), ["Idle"]),
        (idle(0, conditions=told("Idle", message="old words")), ["Idle"]),
        (idle(0, conditions=(PodCondition(f"{STATE}Idle", "False"),)), ["Idle"]),
        (stranger(0), None),
        (stranger(0, conditions=told("Idle")), []),
    ],
)
def test_only_what_differs_is_written(worker: Worker, wanted: list[str] | None) -> None:
    """And all of ours at once, so that what no longer applies goes. Conditions of others do not count."""
    now = given(1, worker)
    if wanted is None:
        assert marks(now) == []
    else:
        assert [*(only(now).conditions or {})] == [*(f"{STATE}{one}" for one in wanted), REGISTERED]


@pytest.mark.parametrize(
    ("state", "reason", "message"),
    [
        ("IDLE+DRAIN", "penstock-walls: rights: MKNOD is missing", "rights: MKNOD is missing"),
        ("MIXED+DRAIN", "penstock-walls: policies: line 1", "policies: line 1"),
        # Slurm 24.11 leaves the reason when the drain is over.
        ("IDLE", "penstock-walls: rights: MKNOD is missing", None),
        ("IDLE+DRAIN", PERSON, None),
        ("IDLE+DRAIN", SCALE_IN, None),
    ],
)
def test_a_worker_whose_walls_do_not_hold_says_so_and_why(state: str, reason: str, message: str | None) -> None:
    assert (said_to_be(*state.split("+"), reason=reason) or {}).get(WALLS_BROKEN) == message


def test_that_walls_do_not_hold_is_written_once_and_taken_away_when_they_do() -> None:
    broken = PodCondition(WALLS_BROKEN, "True", message="rights: x", last_transition_time=SINCE)
    reason = "penstock-walls: rights: x"
    there = (*told("Idle", "Drain", message=reason), broken)
    told_by = {DRAINED_BY: f"slurm: {reason}"}
    assert marks(given(1, drained(0, reason=reason, extra="", conditions=there, annotations=told_by))) == []
    assert only(given(1, idle(0, conditions=(*told("Idle"), broken)))).conditions == {
        f"{STATE}Idle": "",
        REGISTERED: "",
    }


def test_what_slurm_does_not_say_stays_as_it_was_told() -> None:
    known = {PROTECT: "true"}
    worker = busy(0, conditions=told("Mixed", "Drain"), labels=known, annotations={DRAINED_BY: "pod"})
    assert marks(given(1, worker, slurm=False)) == []


@pytest.mark.parametrize(
    ("worker", "protected", "change"),
    [
        (busy(0), False, {PROTECT: "true"}),
        (busy(0), True, {}),
        (draining(0), False, {PROTECT: "true"}),
        (puzzling(0, "IDLE+COMPLETING"), False, {PROTECT: "true"}),
        (idle(0), True, {PROTECT: None}),
        (idle(0), False, {}),
        (drained(0), True, {PROTECT: None}),
        (puzzling(0, "DOWN+NOT_RESPONDING"), True, {PROTECT: None}),
        (puzzling(0), True, {}),
        (puzzling(0), False, {}),
        (puzzling(0, "UNKNOWN+DRAIN"), True, {}),
        (stranger(0), True, {}),
        (stranger(0), False, {}),
    ],
)
def test_who_has_jobs_is_protected_and_nobody_knows_keeps_the_label(
    worker: Worker, protected: bool, change: dict[str, str | None]
) -> None:
    """NS-7: the disruption budget selects the label."""
    assert label_change(worker, protected) == change


@pytest.mark.parametrize(
    ("worker", "protected", "change"),
    [
        (idle(0), True, {}),
        (idle(0), False, {PROTECT: "true"}),
        (puzzling(0, "DOWN"), True, {}),
        (busy(0), True, {}),
        (puzzling(0), False, {}),
    ],
)
def test_who_has_suspended_jobs_is_protected_too(
    worker: Worker, protected: bool, change: dict[str, str | None]
) -> None:
    """NS-7: no state shows them."""
    found = marks(replace(given(1, labelled(worker) if protected else worker), suspended={"n-0"}))
    assert [one.labels for one in found if one.labels] == ([change] if change else [])


@pytest.mark.parametrize(
    ("worker", "asked"),
    [
        (idle(0), ["n-0"]),
        (puzzling(0, "DOWN"), ["n-0"]),
        (busy(0), []),
        (puzzling(0), []),
        (stranger(0), []),
        (leaving(idle(0)), []),
        (ended(0), []),
    ],
)
def test_slurm_is_asked_about_those_only_who_would_lose_their_protection(worker: Worker, asked: list[str]) -> None:
    """NS-7: so nobody is asked about at rest."""
    protected = labelled(worker)
    assert [report.name for report in freed(given(1, protected))] == asked
    assert [*freed(given(1, worker))] == []
    assert [*freed(given(1, protected, slurm=False))] == []
    assert [*freed(given(1, protected, workloadDisruptionProtection=False))] == []


@pytest.mark.parametrize("worker", [busy(0), idle(0), puzzling(0), stranger(0)])
def test_without_protection_nobody_has_the_label(worker: Worker) -> None:
    assert label_change(worker, True, workloadDisruptionProtection=False) == {PROTECT: None}
    assert label_change(worker, False, workloadDisruptionProtection=False) == {}
    assert label_change(worker, True, slurm=False, workloadDisruptionProtection=False) == {PROTECT: None}


def label_change(worker: Worker, protected: bool, **more: Any) -> dict[str, str | None]:
    """What becomes of the label of a worker that has it, or has it not."""
    found = marks(given(1, labelled(worker) if protected else worker, **more))
    return {**found[0].labels} if found else {}


def labelled(worker: Worker) -> Worker:
    """The worker with the label."""
    meta = msgspec.structs.replace(worker.pod.metadata, labels=worker.pod.metadata.labels | {PROTECT: "true"})
    return Worker(msgspec.structs.replace(worker.pod, metadata=meta), worker.report)


def by(user: str, reason: str, extra: str = "") -> dict[str, Any]:
    """A drained node, by whom, and in which words."""
    return {"state": ("IDLE", "DRAIN"), "reason_set_by_user": user, "reason": reason, "extra": extra}


CORDONED_POD = {"nodeset.slinky.slurm.net/pod-cordon": "true"}
MACHINE = {"cordoned": True}
TOLD_MACHINE = {"cordoned": True, "annotations": {CORDON_REASON: "new disks"}}


@pytest.mark.parametrize(
    ("node", "annotations", "where", "told"),
    [
        ({"state": ("IDLE",)}, {}, {}, None),
        ({"state": ("IDLE", "DRAIN", "UNDRAIN"), "reason": PERSON}, {}, {}, None),
        ({"state": ("IDLE",), "reason": SCALE_IN, "extra": MARK}, {}, {}, None),
        # A drain that somebody made in Slurm.
        (by("ann", PERSON), {}, {}, f"slurm: ann: {PERSON}"),
        (by("root", ""), {}, {}, "slurm: root"),
        (by("", PERSON), {}, {}, f"slurm: {PERSON}"),
        (by("ann", PERSON, MARK), {}, {}, f"slurm: ann: {PERSON}"),
        (by("ann", SCALE_IN), {}, {}, f"slurm: ann: {SCALE_IN}"),
        (by("ann", PERSON), CORDONED_POD, MACHINE, f"slurm: ann: {PERSON}"),
        (by("slurm", "Duplicate jobid"), {}, {}, "slurm: slurm: Duplicate jobid"),
        # A cordon by annotation, in either spelling.
        (by("slurm", "penstock: its pod is cordoned", MARK), CORDONED_POD, {}, "pod"),
        (by("slurm", "penstock: its pod is cordoned", MARK), {CORDONS[1]: "True"}, {}, "pod"),
        # A cordoned machine, whatever Slurm was told as the reason.
        (by("slurm", "penstock: its machine is cordoned", MARK), {}, MACHINE, "machine m"),
        (by("slurm", "penstock: its machine is cordoned", MARK), CORDONED_POD, MACHINE, "machine m"),
        (by("slurm", "penstock: new disks", MARK), {}, TOLD_MACHINE, "machine m"),
        # A drain of ours.
        (by("slurm", SCALE_IN, MARK), {}, {}, "penstock: scale-in"),
        (by("slurm", "penstock: update to abc", MARK), {}, {}, "penstock: update to abc"),
        (by("slurm", "penstock: its NodeSet is deleted", f"{MARK} 1"), {}, {}, "penstock: its NodeSet is deleted"),
        (by("slurm", SCALE_IN, MARK), CORDONED_POD, MACHINE, "penstock: scale-in"),
        (by("slurm", "penstock: its machine is cordoned", MARK), {}, {}, "penstock: its machine is cordoned"),
        # One that was here before us.
        (by("slurm", "slurm-operator: node pressure"), {}, {}, "slurm-operator: node pressure"),
    ],
)  # fmt: skip
def test_a_drained_worker_says_because_of_whom(
    node: dict[str, Any], annotations: dict[str, str], where: dict[str, Any], told: str | None
) -> None:
    """NS-4; and it says so only as long as it drains."""

    def becomes(before: dict[str, str]) -> dict[str, str | None]:
        worker = Worker(pod("n-0", annotations=annotations | before), msgspec.structs.replace(said("n-0"), **node))
        mark = only(on(given(1, worker), machine("m", **where)))
        return {name: text for name, text in mark.annotations.items() if name == DRAINED_BY}

    assert becomes({}) == ({} if told is None else {DRAINED_BY: told})
    assert becomes({DRAINED_BY: "somebody else"}) == {DRAINED_BY: told}
    assert becomes({} if told is None else {DRAINED_BY: told}) == {}


def test_conditions_of_a_machine_may_be_the_reason() -> None:
    """The drain is the machine's, in whatever words Slurm was told of it."""
    reason = "penstock: (KernelDeadlock: task hangs)"
    where = machine("m", cordoned=True)
    broken = MachineStatus((MachineCondition("Trouble", "True", "KernelDeadlock", "task hangs"),))
    where = msgspec.structs.replace(where, status=broken)
    now = replace(on(given(1, drained(0, reason=reason)), where), told_conditions={"Trouble"})
    assert only(now).annotations == {DRAINED_BY: "machine m"}


def test_a_node_that_slurm_does_not_know_drains_because_of_nobody() -> None:
    assert only(given(1, stranger(0, annotations={DRAINED_BY: "pod"}))).annotations == {DRAINED_BY: None}


@pytest.mark.parametrize(
    ("where", "before", "change"),
    [
        ("sw:s1", None, {TOPOLOGY: "sw:s1"}),
        ("sw:s1", "sw:s2", {TOPOLOGY: "sw:s1"}),
        ("sw:s1", "sw:s1", {}),
        ("", "sw:s1", {TOPOLOGY: ""}),
        (None, "sw:s1", {TOPOLOGY: None}),
        (None, None, {}),
    ],
)
def test_a_worker_has_the_topology_of_its_machine(
    where: str | None, before: str | None, change: dict[str, str | None]
) -> None:
    """Whether Slurm answers or not."""
    given_to = {} if where is None else {TOPOLOGY: where}
    has = {} if before is None else {TOPOLOGY: before}
    for slurm in (True, False):
        worker = idle(0, conditions=told("Idle"), annotations=has)
        found = marks(on(given(1, worker, slurm=slurm), machine("m", annotations=given_to)))
        assert [{**one.annotations} for one in found] == ([change] if change else [])


def test_a_worker_whose_machine_is_not_known_keeps_its_topology() -> None:
    worker = idle(0, conditions=told("Idle"), annotations={TOPOLOGY: "sw:s1"})
    assert marks(given(1, worker)) == []


def test_who_leaves_or_has_ended_says_nothing_more() -> None:
    assert marks(given(0, leaving(busy(0)), ended(1, conditions=told("Idle")))) == []
