"""What holds for every plan, whatever pods there are and whatever Slurm says (NS-3)."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations, product

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.rendering.builders import node_set

from penstock.api.nodeset import NodeSet
from penstock.operator.nodeset.drains import MARK, OURS, SCALE_IN, is_our_drain
from penstock.operator.nodeset.plan import plan
from penstock.operator.nodeset.snapshot import Snapshot, seat_at, slurm_node
from penstock.operator.nodeset.steps import Plan
from penstock.operator.resources import Pod
from penstock.slurm.nodestate import parse
from penstock.slurm.rest.messages import NodeReport

from .workers import EVERYWHERE, PERSON, going, machine, pod, said

NODE_SETS = [node_set("n", replicas=count) for count in range(6)]
SEATS = range(7)
MACHINES = [f"m{number}" for number in SEATS]
WORDS = ["IDLE", "ALLOCATED", "MIXED", "DOWN", "UNKNOWN", "DRAIN", "UNDRAIN", "COMPLETING", "NOT_RESPONDING", "SNORING"]

REASONS = ["", PERSON, SCALE_IN, "slurm-operator: node pressure", "penstock:not quite"]
COSTS: list[dict[str, str]] = [{}, *({"nodeset.slinky.slurm.net/pod-deletion-cost": text} for text in ("-5", "dear"))]
REPORTS = [
    said("", *words, reason=reason, extra=extra)
    for count in range(4)
    for words in combinations(WORDS, count)
    for reason in REASONS
    for extra in ("", MARK, "a person's note")
]
PODS = [
    pod("", machine=where, ready=ready, phase=phase, going=going, annotations=cost)
    for where, ready, phase, going, cost in product(
        ("m", "m", ""), (False, True), ("Pending", "Running", "Failed", "Unknown"), (False, False, True), COSTS
    )
]


def named(body: Pod, name: str, node: str = "") -> Pod:
    """The pod under a name, on a machine of its own if it is on one."""
    where = msgspec.structs.replace(body.spec, node_name=node if body.spec.node_name else "", hostname=node)
    about = msgspec.structs.replace(body.metadata, name=name, uid=name)
    return msgspec.structs.replace(body, metadata=about, spec=where)


def answers(nodes: list[str]) -> st.SearchStrategy[dict[str, NodeReport] | None]:
    """Whatever Slurm may say about nodes, or nothing at all."""
    some = st.dictionaries(st.sampled_from(nodes), st.sampled_from(REPORTS))
    whole = some.map(lambda found: {name: msgspec.structs.replace(one, name=name) for name, one in found.items()})
    return st.none() | whole


def numbered(
    owner: NodeSet, found: dict[int, Pod], expected: set[str], slurm: dict[str, NodeReport] | None
) -> Snapshot:
    """A state of a NodeSet in StatefulSet mode."""
    pods = [named(body, f"n-{seat}", f"n-{seat}") for seat, body in found.items()]
    return Snapshot(node_set=owner, pods=pods, expected=expected, slurm=slurm)


def placed(
    found: dict[str, Pod],
    keepers: set[str],
    cordoned: set[str],
    foreign: set[str],
    slurm: dict[str, NodeReport] | None,
) -> Snapshot:
    """A state of a NodeSet in DaemonSet mode; some workers were made by another operator, with names of its own."""
    seats = {where: str(seat_at(EVERYWHERE, machine(where)).pod_name) for where in MACHINES}
    return Snapshot(
        node_set=EVERYWHERE,
        pods=[named(body, f"n-{where}" if where in foreign else seats[where], where) for where, body in found.items()],
        slurm=slurm,
        takers=tuple(machine(one) for one in sorted(keepers - cordoned)),
        keepers=keepers,
    )


some_machines = st.sets(st.sampled_from(MACHINES))
by_number = st.builds(
    numbered,
    st.sampled_from(NODE_SETS),
    st.dictionaries(st.sampled_from(SEATS), st.sampled_from(PODS)),
    st.sets(st.sampled_from([f"n-{seat}" for seat in SEATS]), max_size=3),
    answers([f"n-{seat}" for seat in SEATS]),
)
by_machine = st.builds(
    placed,
    st.dictionaries(st.sampled_from(MACHINES), st.sampled_from(PODS)),
    some_machines,
    some_machines,
    some_machines,
    answers(MACHINES),
)


def names(pods: list[Pod]) -> set[str]:
    return {one.metadata.name for one in pods}


def removed(decided: Plan) -> list[Pod]:
    return [one.pod for one in decided.remove]


def holds_for_all(now: Snapshot) -> Plan:
    """What is true in both modes; a plan for other tests to look at."""
    decided = plan(now)
    for one in decided.remove:
        report = now.report(one.pod)
        nothing_runs = one.pod.ended or not one.pod.spec.node_name
        is_drained = report is not None and parse(report.state).drained
        is_unknown = now.slurm is not None and report is None and one.pod.ready_since is None
        assert (is_drained or is_unknown) if one.drained else nothing_runs
        assert one.drained or nothing_runs
    if now.slurm is None:
        assert all(one.ended or not one.spec.node_name for one in removed(decided))
        assert not decided.drain
        assert not decided.undrain
    for drain in decided.drain:
        report = (now.slurm or {})[drain.node]
        assert not parse(report.state).drain or (is_our_drain(report) and report.reason != drain.why)
    nodes = [*(slurm_node(now.node_set, one) for one in going(decided)), *decided.undrain]
    assert len({*nodes}) == len(nodes), "one step for each worker"
    for node in decided.undrain:
        report = (now.slurm or {})[node]
        assert report.extra == MARK or (not report.extra and report.reason.startswith("slurm-operator: "))
        assert report.reason.startswith(OURS)
    there = names([one for one in now.pods if not one.leaving])
    assert names(going(decided)) <= there
    made = [one.seat.pod_name for one in decided.create]
    assert len(set(made)) == len(made)
    assert not {*made} & (names([*now.pods]) | now.expected)
    return decided


@given(by_number)
@settings(max_examples=100, deadline=None)
def test_a_number_of_workers(now: Snapshot) -> None:
    """Nothing goes that may be at work, and never more than are too many; nothing is made twice, or in vain."""
    decided = holds_for_all(now)
    desired, there = now.desired, [one for one in now.pods if not one.leaving]
    alive = [one for one in there if not one.ended]
    leaves = names(going(decided))
    staying = [one for one in alive if one.metadata.name not in leaves]
    assert len(staying) >= min(desired, len(alive)), "no good worker goes unless it is one too many"
    assert len(staying) <= desired, "and all that are too many are on their way"
    coming = len(there) + len(now.expected - names([*now.pods]))
    assert len(decided.create) <= max(desired - coming, 0), "as many are made as are missing, at most"


@given(by_machine)
@settings(max_examples=100, deadline=None)
def test_a_worker_on_every_machine(now: Snapshot) -> None:
    """A machine that takes workers has one or gets one; one that may keep its worker does."""
    decided = holds_for_all(now)
    made = {one.seat.machine for one in decided.create}
    occupied = {one.spec.node_name for one in now.pods if one.spec.node_name}
    assert made <= {one.metadata.name for one in now.takers} - occupied
    leaves = names(going(decided))
    for one in now.pods:
        if one.spec.node_name in now.keepers and not one.ended:
            assert one.metadata.name not in leaves
        elif one.spec.node_name and not one.leaving:
            assert one.metadata.name in leaves
    waiting = {seat_at(EVERYWHERE, one).pod_name: one.metadata.name for one in now.takers}
    served = occupied | made | {waiting.get(one.metadata.name, "") for one in now.pods}
    assert {one.metadata.name for one in now.takers} <= served


@given(st.one_of(by_number, by_machine), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_the_order_in_which_pods_are_found_changes_nothing(now: Snapshot, chance: random.Random) -> None:
    pods = [*now.pods]
    chance.shuffle(pods)
    first, second = plan(now), plan(replace(now, pods=pods))
    assert (first.create, first.more) == (second.create, second.more)
    for field in ("drain", "undrain", "remove", "wait"):
        assert {*map(str, getattr(first, field))} == {*map(str, getattr(second, field))}
