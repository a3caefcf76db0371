"""What is done about a NodeSet, case by case (NS-2, NS-3). The properties are in `test_plan_properties.py`."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.rendering.builders import node_set

from penstock.operator.nodeset import plan as planning
from penstock.operator.nodeset.drains import MARK, SCALE_IN
from penstock.operator.nodeset.plan import plan
from penstock.operator.nodeset.revision import HASH
from penstock.operator.nodeset.snapshot import HOSTNAME_OVERRIDE, Snapshot
from penstock.render import labels

from .workers import (
    PERSON,
    Worker,
    busy,
    drained,
    draining,
    ended,
    given,
    going,
    idle,
    leaving,
    machine,
    on,
    pod,
    puzzling,
    said,
    spread,
    starting,
    stranger,
    told,
    unplaced,
)

COST = "nodeset.slinky.slurm.net/pod-deletion-cost"


def cost(amount: str) -> dict[str, dict[str, str]]:
    return {"annotations": {COST: amount}}


@pytest.mark.parametrize(
    ("now", "steps"),
    [
        (given(2, idle(0), busy(1)), []),
        (given(0), []),
        (given(2), ["make n-0", "make n-1"]),
        (given(3, idle(0), idle(2)), ["make n-1"]),
        (given(2, idle(5)), ["make n-0"]),
        (given(2, ordinalPadding=3), ["make n-000", "make n-001"]),
        (given(2, slurm=False), ["make n-0", "make n-1"]),
    ],
)
def test_missing_workers_are_made_lowest_seat_first(now: Snapshot, steps: list[str]) -> None:
    """NS-2; whether Slurm answers does not matter."""
    assert told(plan(now)) == steps


@pytest.mark.parametrize(
    ("now", "steps"),
    [
        (given(1, idle(0), idle(1)), ["drain n-1"]),
        (given(1, busy(0), busy(1)), ["drain n-1"]),
        (given(1, idle(0), draining(1)), ["wait for n-1"]),
        (given(1, idle(0), drained(1)), ["remove n-1 if drained"]),
        (given(1, idle(0), drained(1, reason=PERSON, extra="")), ["remove n-1 if drained"]),
        (given(1, idle(0), draining(1, reason=PERSON, extra="")), ["drain n-0"]),
        (given(0, busy(0), busy(1)), ["drain n-1", "drain n-0"]),
    ],
)
def test_a_worker_leaves_when_it_is_drained_and_not_before(now: Snapshot, steps: list[str]) -> None:
    """NS-3: choose, drain, wait, delete."""
    assert told(plan(now)) == steps


@pytest.mark.parametrize(
    ("now", "steps"),
    [
        (given(0, drained(0), slurm=False), ["wait for n-0 (unknown)"]),
        (given(0, starting(0), slurm=False), ["wait for n-0 (unknown)"]),
        (given(0, puzzling(0)), ["wait for n-0 (unknown)"]),
        (given(0, puzzling(0, "HIBERNATED+DRAIN")), ["wait for n-0 (unknown)"]),
        (given(0, puzzling(0, "UNKNOWN+DRAIN")), ["wait for n-0 (unknown)"]),
        (given(0, puzzling(0, "DRAIN")), ["wait for n-0 (unknown)"]),
        (given(0, puzzling(0, "IDLE+COMPLETING+DRAIN")), ["wait for n-0"]),
        (given(0, puzzling(0, "IDLE+DRAIN+SLEEPWALKING")), ["remove n-0 if drained"]),
        (given(0, stranger(0)), ["wait for n-0 (unknown)"]),
        (given(0, starting(0)), ["remove n-0 if drained"]),
        (given(0, unplaced(0), slurm=False), ["remove n-0"]),
        (given(0, ended(0), slurm=False), ["remove n-0"]),
    ],
)
def test_what_slurm_does_not_say_is_waited_for(now: Snapshot, steps: list[str]) -> None:
    """NS-3: an unknown state never deletes a pod in which something may run."""
    assert told(plan(now)) == steps


def test_a_wait_says_what_for() -> None:
    assert plan(given(0, drained(0), slurm=False)).wait[0].why == (
        "Slurm does not say whether it is idle: connection refused"
    )
    assert plan(given(0, puzzling(0, "NAPPING+DRAIN"))).wait[0].why == (
        "Slurm does not say what its node does (NAPPING+DRAIN)"
    )
    assert plan(given(0, draining(0))).wait[0].why == "jobs still run on it"
    assert "look at slurmd's log" in plan(given(0, stranger(0))).wait[0].why


@pytest.mark.parametrize(
    ("workers", "first"),
    [
        ([ended(0), unplaced(1), drained(2)], "n-0"),
        ([unplaced(0), starting(1), drained(2)], "n-0"),
        ([draining(0), starting(1), idle(2)], "n-0"),
        ([draining(0, reason="slurm-operator: scale-in", extra=""), idle(1)], "n-0"),
        ([starting(0), idle(1)], "n-0"),
        ([idle(0, **cost("-1")), idle(1)], "n-0"),
        ([busy(0, **cost("-1")), idle(1)], "n-0"),
        ([idle(0, **cost("1")), idle(1, **cost("lots"))], "n-1"),
        ([idle(0), busy(1)], "n-0"),
        ([idle(0), stranger(1)], "n-0"),
        ([draining(0, reason=PERSON, extra=""), busy(1)], "n-0"),
        ([idle(9), idle(10)], "n-10"),
        ([Worker(pod("n-1")), Worker(pod("n-01"))], "n-01"),
    ],
)
def test_the_cheapest_worker_leaves_first(workers: list[Worker], first: str) -> None:
    """NS-3: ended, unplaced, already draining for us, not ready, deletion cost, idle, drained, highest ordinal."""
    for order in (workers, workers[::-1]):
        decided = plan(given(len(workers) - 1, *order))
        assert [one.metadata.name for one in going(decided)] == [first]


def test_an_ended_worker_is_replaced() -> None:
    """Its pod goes first, for the new one has its name."""
    now = given(2, idle(0), ended(1))
    assert told(plan(now)) == ["remove n-1"]
    assert told(plan(given(2, idle(0)))) == ["make n-1"]
    assert told(plan(given(1, drained(0, phase="Failed")))) == ["remove n-0"], "what Slurm had of it stays as it is"


@pytest.mark.parametrize(
    ("now", "steps"),
    [
        (given(2, idle(0), ended(1, phase="Succeeded")), ["remove n-1"]),
        (given(1, busy(0, ready=False, phase="Succeeded")), ["remove n-0"]),
        (given(1, ended(0, phase="Succeeded"), slurm=False), ["remove n-0"]),
        (given(1, idle(0), ended(1, phase="Succeeded")), ["remove n-1"]),
        (given(1, leaving(ended(0, phase="Succeeded"))), []),
        (spread(["a"], on("a", phase="Succeeded", ready=False)), [f"remove {on('a').pod.metadata.name}"]),
        (spread(["a"], on("a", "MIXED", phase="Succeeded", ready=False)), [f"remove {on('a').pod.metadata.name}"]),
        (spread([], on("a", phase="Succeeded", ready=False), keepers=["a"]), [f"remove {on('a').pod.metadata.name}"]),
        (spread([], on("a", phase="Succeeded", ready=False)), [f"remove {on('a').pod.metadata.name}"]),
        (spread(["a"], on("a", phase="Succeeded", ready=False, going=True)), []),
    ],
)
def test_a_worker_that_ended_well_has_ended_all_the_same(now: Snapshot, steps: list[str]) -> None:
    """Nothing runs in it, in either scaling mode, whatever Slurm still says of its node: it is not drained first."""
    assert told(plan(now)) == steps


def test_a_worker_that_ends_at_once_is_not_made_anew_as_fast_as_we_can() -> None:
    """For want of room, say: remove and make would go round as fast as the API server lets them."""
    now = given(1, ended(0))
    assert told(plan(replace(now, young={pod.metadata.uid for pod in now.pods}))) == []
    assert told(plan(now)) == ["remove n-0"]


def test_an_ended_worker_is_the_one_too_many() -> None:
    """Two go only if two are too many: a draining worker is given back when an ended one makes room."""
    assert told(plan(given(2, idle(0), drained(1), ended(2)))) == ["give back n-1", "remove n-2"]
    assert told(plan(given(1, starting(0), ended(1, **cost("7"))))) == ["remove n-1"]


@pytest.mark.parametrize(
    ("worker", "given_back"),
    [
        (drained(0), True),
        (draining(0), True),
        (drained(0, reason="slurm-operator: the worker's pod ends"), True),
        (drained(0, reason=PERSON), False),
        (drained(0, reason=""), False),
        (drained(0, extra=""), False),
        (drained(0, extra="note of a person"), False),
        (drained(0, ready=False), False),
        (puzzling(0, "IDLE+DRAIN+UNDRAIN", reason=SCALE_IN, extra=MARK), False),
        (puzzling(0, "IDLE", reason=SCALE_IN, extra=MARK), False),
    ],
)
def test_a_worker_that_stays_is_given_back_if_the_drain_is_ours(worker: Worker, given_back: bool) -> None:
    """NS-4: drains set by people are never undone by us. Only a worker that is there can take jobs."""
    assert told(plan(given(1, worker))) == (["give back n-0"] if given_back else [])


def test_nothing_is_given_back_while_slurm_is_away() -> None:
    assert told(plan(given(1, drained(0), slurm=False))) == []


@pytest.mark.parametrize(
    ("now", "steps"),
    [
        # The seat of a leaving worker is taken until it is gone: two of one name cannot be.
        (given(2, idle(0), leaving(idle(1))), []),
        (given(3, idle(0), leaving(idle(1))), ["make n-2"]),
        # One that leaves a seat which nobody wants any more does not stand in for anybody.
        (given(2, idle(0), leaving(idle(5))), ["make n-1"]),
        (given(1, idle(0), leaving(idle(1))), []),
        (given(2, expected=["n-0"]), ["make n-1"]),
        (given(2, idle(0), expected=["n-0"]), ["make n-1"]),
        (given(2, expected=["n-0", "n-1"]), []),
    ],
)
def test_no_name_is_given_twice(now: Snapshot, steps: list[str]) -> None:
    assert told(plan(now)) == steps


def test_many_workers_are_made_in_batches() -> None:
    first = plan(given(1200))
    assert (len(first.create), first.more) == (planning.BATCH, True)
    exact = plan(given(planning.BATCH))
    assert (len(exact.create), exact.more) == (planning.BATCH, False)


@pytest.mark.parametrize(
    ("now", "steps"),
    [
        (spread(["a", "b"], on("a")), [f"make {on('b').pod.metadata.name}"]),
        (spread(["a"], on("a")), []),
        # A worker that another operator made under a name of its own is the worker of its machine all the same.
        (spread(["a"], on("a", name="n-x7f2q")), []),
        (spread(["a"], on("a", going=True)), []),
        (spread(["a"], on("a", name="n-x7f2q", going=True)), []),
        # Cordoned: no new worker, and the old one stays.
        (spread([], on("a"), keepers=["a"]), []),
        (spread([], keepers=["a"]), []),
        (spread([], on("a", machine=""), keepers=["a"]), [f"remove {on('a').pod.metadata.name}"]),
        # Not meant for workers any more, or gone.
        (spread([], on("a")), ["drain a"]),
        (spread([], on("a", "MIXED+DRAIN")), [f"wait for {on('a').pod.metadata.name}"]),
        (spread([], on("a", "IDLE+DRAIN")), [f"remove {on('a').pod.metadata.name} if drained"]),
        (spread(["a"], on("a", phase="Failed", ready=False)), [f"remove {on('a').pod.metadata.name}"]),
        (spread(["a"], on("a", machine="", ready=False)), []),
    ],
)
def test_in_daemon_set_mode_each_machine_has_one_worker(now: Snapshot, steps: list[str]) -> None:
    """NS-2; a cordoned machine keeps its worker."""
    assert told(plan(now)) == steps


def test_in_daemon_set_mode_workers_stay_when_slurm_is_away() -> None:
    now = replace(spread([], on("a", "IDLE+DRAIN")), slurm=None)
    assert told(plan(now)) == [f"wait for {on('a').pod.metadata.name} (unknown)"]


def test_a_machine_may_name_its_slurm_node() -> None:
    """The annotation counts, else the machine's short name."""
    now = replace(spread(["rack1.example.com"]), slurm={})
    assert plan(now).create[0].seat.slurm_node == "rack1"
    named = machine("rack1", annotations={HOSTNAME_OVERRIDE: "gpu7"})
    assert plan(replace(now, takers=(named,))).create[0].seat.slurm_node == "gpu7"


def test_on_the_machines_network_the_machine_names_the_slurm_node() -> None:
    """By its short name, as slurmd calls itself: a wrong name would make a busy worker look unknown to Slurm."""
    made = node_set("n", replicas=0, template={"spec": {"hostNetwork": True}})
    there = pod("n-0", machine="rack1.example.com", host_network=True, ready=False)
    working = Worker(there, said("rack1", "ALLOCATED"))
    assert told(plan(given(0, working, of=made))) == ["drain rack1"]


@pytest.mark.parametrize("onto", [True, False])
def test_workers_keep_their_slurm_nodes_when_the_template_moves_to_another_network(onto: bool) -> None:
    """The pod tells, not the template: else they would wait for ever, or go by what Slurm says of somebody else."""
    made = node_set("n", replicas=1, template={"spec": {"hostNetwork": onto}})
    name = "n-0" if onto else "rack1"
    node = "n-0" if onto else ""
    old = pod("n-0", machine="rack1.example.com", node=node, host_network=not onto, labels={HASH: "old"})
    other = said("rack1" if onto else "n-0", "IDLE", "DRAIN", reason="somebody else's")
    now = given(1, Worker(old, said(name, "ALLOCATED")), of=made)
    decided = plan(replace(now, slurm={**(now.slurm or {}), other.name: other}))
    assert told(decided) == [f"drain {name}"]


def test_machines_of_one_name_get_one_worker_of_a_set() -> None:
    """Slurm would take the slurmd of one for the other's: the second machine waits, and the set says how to mend it."""
    now = replace(spread(["rack1.a", "rack1.b"]), slurm={})
    decided = plan(now)
    assert [one.seat.machine for one in decided.create] == ["rack1.a"]
    assert [(one.seat.machine, one.reason) for one in decided.blocked] == [("rack1.b", "NamesInTheWay")]
    assert HOSTNAME_OVERRIDE in decided.blocked[0].why


def test_a_machine_that_has_a_worker_keeps_its_name() -> None:
    """Though another one of that name comes first in the alphabet."""
    there = pod("n-x", machine="rack1.b", node="rack1", labels={labels.SCALING_MODE: "DaemonSet"})
    now = replace(spread(["rack1.a", "rack1.b"]), pods=(there,), slurm={"rack1": said("rack1", "IDLE")})
    assert [one.seat.machine for one in plan(now).blocked] == ["rack1.a"]


@pytest.mark.parametrize(("left", "outcome"), [(12.0, ["wait for n-0"]), (None, ["remove n-0 if drained"])])
def test_a_worker_that_has_just_begun_is_waited_for_until_it_can_be_drained(
    left: float | None, outcome: list[str]
) -> None:
    """It registers at any moment, and may get a job in the very moment in which it would be deleted (NS-3)."""
    young = Worker(pod("n-0", ready=False), None)
    now = given(0, young)
    decided = plan(replace(now, beginning={} if left is None else {"uid-n-0": left}))
    assert told(decided) == outcome
    assert decided.again == left


def test_a_node_is_drained_by_the_name_that_slurm_has_for_it() -> None:
    worker = Worker(pod("n-0", node="gpu-0"), said("gpu-0", "IDLE"))
    assert told(plan(given(0, worker))) == ["drain gpu-0"]


def test_a_worker_that_lost_its_cluster_is_told_again() -> None:
    """By that label the cluster's Service finds it."""
    lost = Worker(pod("n-0", labels={labels.CLUSTER: ""}), said("n-0", "IDLE"))
    assert told(plan(given(1, lost))) == ["label n-0"]
    assert told(plan(given(0, lost))) == ["drain n-0"]
