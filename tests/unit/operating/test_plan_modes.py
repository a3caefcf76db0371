"""Who leaves when the scaling mode changes, and in DaemonSet mode when a machine is renamed or has several workers.

However they came to be where nobody wants them: they are drained first, and jobs are waited for (NS-2, NS-3).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from penstock.operator.nodeset.drains import MARK
from penstock.operator.nodeset.order import DEADLINE, DELETION_COST, cost
from penstock.operator.nodeset.plan import plan
from penstock.operator.nodeset.revision import HASH
from penstock.operator.nodeset.snapshot import HOSTNAME_OVERRIDE, Snapshot
from penstock.operator.nodeset.steps import Cause
from penstock.render import labels

from .workers import (
    Worker,
    busy,
    drained,
    draining,
    ended,
    given,
    idle,
    machine,
    on,
    pod,
    said,
    spread,
    starting,
    told,
    unplaced,
)

OTHER_MODE = f"penstock: {Cause.MODE.value}"
OTHER_MACHINE = f"penstock: {Cause.MACHINE.value}"


def made_as(mode: str, worker: Worker) -> Worker:
    """A worker that was made in a scaling mode."""
    meta = worker.pod.metadata
    meta = msgspec.structs.replace(meta, labels=meta.labels | {labels.SCALING_MODE: mode})
    return Worker(msgspec.structs.replace(worker.pod, metadata=meta), worker.report)


def counted(worker: Worker) -> Worker:
    return made_as("StatefulSet", worker)


def placed(where: str, state: str = "IDLE", *, reason: str = "", extra: str = "", **of_pod: Any) -> Worker:
    """The worker of a machine, with its mode, and in whose words it drains."""
    worker = made_as("DaemonSet", on(where, state, **of_pod))
    return Worker(worker.pod, said(where, *state.split("+"), reason=reason, extra=extra))


def at(where: str) -> str:
    """The name of a machine's worker."""
    return on(where).pod.metadata.name


@pytest.mark.parametrize(
    ("worker", "steps"),
    [
        (idle(0), ["drain n-0"]),
        (busy(0), ["drain n-0"]),
        (draining(0, reason=OTHER_MODE), ["wait for n-0"]),
        # It drains already, for another reason: from now on this one counts.
        (draining(0), ["drain n-0"]),
        (drained(0, reason=OTHER_MODE), ["remove n-0 if drained"]),
        (drained(0), ["remove n-0 if drained"]),
        (starting(0), ["remove n-0 if drained"]),
        (unplaced(0), [f"make {at('m')}", "remove n-0"]),
        (ended(0), ["remove n-0"]),
    ],
)
def test_who_was_counted_leaves_when_workers_follow_machines(worker: Worker, steps: list[str]) -> None:
    """Though its machine is meant for a worker: that one comes when this one is gone, for it has the machine."""
    assert told(plan(spread(["m"], counted(worker)))) == steps


@pytest.mark.parametrize(
    ("worker", "steps"),
    [
        (placed("a"), ["drain a"]),
        (placed("a", "MIXED"), ["drain a"]),
        (placed("a", "MIXED+DRAIN", reason=OTHER_MODE, extra=MARK), [f"wait for {at('a')}"]),
        (placed("a", "IDLE+DRAIN", reason=OTHER_MODE, extra=MARK), [f"remove {at('a')} if drained"]),
    ],
)
def test_who_followed_a_machine_leaves_when_workers_are_counted(worker: Worker, steps: list[str]) -> None:
    """Though one worker is wanted, and one is there."""
    assert told(plan(given(1, worker))) == steps


@pytest.mark.parametrize(
    ("now", "steps"),
    [
        # Whoever is of the mode already stays, and none of them is taken for one too many.
        (given(1, counted(idle(0)), placed("a")), ["drain a"]),
        (given(1, counted(busy(0)), placed("a", "IDLE")), ["drain a"]),
        (spread(["a", "m"], counted(idle(0)), placed("a")), ["drain n-0"]),
        (spread(["a"], counted(idle(0)), placed("a", "MIXED")), ["drain n-0"]),
        # Machines that have nobody get their worker meanwhile.
        (spread(["a", "m"], counted(busy(0))), ["drain n-0", f"make {at('a')}"]),
        # One that says nothing of its mode is of the one that is.
        (given(1, idle(0)), []),
        (spread(["a"], on("a")), []),
        # Of two reasons to go the mode is the one that is told.
        (given(0, placed("a")), ["drain a"]),
        (spread([], counted(idle(0))), ["drain n-0"]),
    ],
)
def test_only_those_of_the_other_mode_leave(now: Snapshot, steps: list[str]) -> None:
    decided = plan(now)
    assert told(decided) == steps
    assert {one.why for one in decided.drain} <= {OTHER_MODE}


def test_while_slurm_is_away_nobody_leaves_for_a_mode() -> None:
    now = replace(spread(["m"], counted(drained(0))), slurm=None)
    assert told(plan(now)) == ["wait for n-0 (unknown)"]
    now = replace(given(1, placed("a", "IDLE+DRAIN", reason=OTHER_MODE, extra=MARK)), slurm=None)
    assert told(plan(now)) == [f"wait for {at('a')} (unknown)"]


def test_a_mode_that_is_taken_back_gives_nodes_back() -> None:
    assert told(plan(given(1, counted(draining(0, reason=OTHER_MODE))))) == ["give back n-0"]
    back = placed("a", "MIXED+DRAIN", reason=OTHER_MODE, extra=MARK)
    assert told(plan(spread(["a"], back))) == ["give back a"]


def renamed(*workers: Worker) -> Snapshot:
    """Machine `a`, that somebody annotated to have its Slurm node called gpu7."""
    return replace(spread(["a"], *workers), takers=(machine("a", annotations={HOSTNAME_OVERRIDE: "gpu7"}),))


@pytest.mark.parametrize(
    ("worker", "steps"),
    [
        (on("a"), ["drain a"]),
        (on("a", "MIXED"), ["drain a"]),
        (placed("a", "MIXED+DRAIN", reason=OTHER_MACHINE, extra=MARK), [f"wait for {at('a')}"]),
        (placed("a", "IDLE+DRAIN", reason=OTHER_MACHINE, extra=MARK), [f"remove {at('a')} if drained"]),
        # It is called so already, or says nothing of its name.
        (Worker(pod(at("a"), machine="a", node="gpu7"), said("gpu7", "IDLE")), []),
        (Worker(pod(at("a"), machine="a"), said(at("a"), "IDLE")), []),
    ],
)
def test_who_has_the_old_name_of_its_machine_leaves(worker: Worker, steps: list[str]) -> None:
    """Nobody takes its place before it is gone: a machine has one worker."""
    assert told(plan(renamed(worker))) == steps


def test_a_renamed_machine_says_so_and_gets_a_worker_of_the_new_name() -> None:
    [one] = plan(renamed(on("a"))).leaving
    assert (one.cause, one.why) == (Cause.MACHINE, 'the Slurm node of machine "a" is called gpu7 now')
    assert [(one.seat.pod_name, one.seat.slurm_node) for one in plan(renamed()).create] == [(at("a"), "gpu7")]


def test_a_name_that_is_taken_back_gives_the_node_back() -> None:
    drains = placed("a", "MIXED+DRAIN", reason=OTHER_MACHINE, extra=MARK)
    assert told(plan(spread(["a"], drains))) == ["give back a"]


def test_the_name_of_a_cordoned_machine_is_minded_when_it_takes_workers_again() -> None:
    """Until then nobody would come who is called so."""
    assert told(plan(replace(renamed(on("a")), takers=()))) == []


def called(name: str, state: str = "IDLE", **of_pod: Any) -> Worker:
    """A worker of machine `a` under a name of its own, by which Slurm knows it: another operator made it."""
    return Worker(pod(name, machine="a", **of_pod), said(name, *state.split("+")) if state else None)


def written(**annotations: str) -> dict[str, Any]:
    return {
        "annotations": {{"cost": DELETION_COST, "deadline": DEADLINE}[key]: text for key, text in annotations.items()}
    }


@pytest.mark.parametrize(
    ("stays", "others"),
    [
        (called("n-w"), [called("n-x", "", ready=False)]),
        (called("n-w", "MIXED"), [called("n-x")]),
        (called("n-w", "MIXED"), [called("n-x"), called("n-y", "", ready=False), called("n-z", "IDLE+DRAIN")]),
        (called("n-w", **written(cost="1")), [called("n-x")]),
        (called("n-w", **written(cost="1")), [called("n-x", "MIXED")]),
        (called("n-w", "MIXED"), [called("n-x", "MIXED", **written(deadline="2026-11-16T08:00:00Z"))]),
        (called("n-w"), [called("n-x", labels={HASH: "old"})]),
        # All else being equal the last by name.
        (called("n-z"), [called("n-x"), called("n-y")]),
    ],
)
def test_of_several_workers_of_a_machine_the_dearest_stays(stays: Worker, others: list[Worker]) -> None:
    """The order is that of scale-in, whichever was made first."""
    for workers in ([stays, *others], [*others, stays]):
        now = spread(["a"], *workers)
        decided = plan(now)
        assert {one.pod.metadata.name for one in decided.leaving} == {one.pod.metadata.name for one in others}
        assert {(one.cause, one.why) for one in decided.leaving} == {(Cause.MACHINE, 'machine "a" has another worker')}
        assert max(now.pods, key=lambda one: cost(now, one)) == stays.pod
        assert not decided.create


def test_who_is_one_too_many_on_its_machine_is_drained_and_its_jobs_are_waited_for() -> None:
    dear = called("n-w", "MIXED", **written(cost="1"))
    assert told(plan(spread(["a"], dear, called("n-x", "MIXED")))) == ["drain n-x"]
    drains = Worker(called("n-x").pod, said("n-x", "MIXED", "DRAIN", reason=OTHER_MACHINE, extra=MARK))
    assert told(plan(spread(["a"], dear, drains))) == ["wait for n-x"]
    empty = Worker(called("n-x").pod, said("n-x", "IDLE", "DRAIN", reason=OTHER_MACHINE, extra=MARK))
    assert told(plan(spread(["a"], dear, empty))) == ["remove n-x if drained"]


@pytest.mark.parametrize("state", ["IDLE+DRAIN", "MIXED+DRAIN"])
def test_a_node_that_drains_for_one_of_its_workers_is_not_given_back_for_the_other(state: str) -> None:
    """Both have the machine's name, and Slurm has one node of it."""
    report = said("a", *state.split("+"), reason=OTHER_MACHINE, extra=MARK)
    now = spread(["a"], Worker(on("a", name="n-w").pod, report), Worker(on("a", name="n-x").pod, report))
    assert plan(now).undrain == []


def test_workers_of_different_machines_are_not_compared() -> None:
    assert told(plan(spread(["a", "b"], on("a"), on("b", "MIXED")))) == []


def test_a_cordoned_machine_keeps_one_of_its_workers() -> None:
    now = spread([], called("n-w", "MIXED"), called("n-x"), keepers=["a"])
    assert [one.pod.metadata.name for one in plan(now).leaving] == ["n-x"]
